"""``berthmaster diagnose``: what is wrong with scheduling in a cluster, and what to type next."""

import asyncio
from typing import Any, Final

import click
import msgspec

from berthmaster import __version__
from berthmaster.cli.diagnosis.facts import Facts, Scope
from berthmaster.cli.diagnosis.finding import Finding
from berthmaster.cli.diagnosis.gathering import Request, gather
from berthmaster.cli.diagnosis.judgement import is_wrong, judge
from berthmaster.cli.diagnosis.report import render, report_of
from berthmaster.cli.failing import fail
from berthmaster.cli.printing import make_console, print_rendered, printable, writing
from kubeio.errors import KubeError
from kubeio.login import KubeConfigError

_WRONG: Final = 1
_CANNOT_TELL: Final = 2


def run(**flags: Any) -> None:
    """Do it; see the command's help."""
    request = _request(flags)
    try:
        facts = asyncio.run(gather(request, version=__version__))
    except (KubeConfigError, KubeError) as error:
        fail(printable(str(error)), _CANNOT_TELL)
    findings = judge(facts)
    with writing(_CANNOT_TELL):
        _show(facts, findings, flags["output"])
    if is_wrong(findings):
        raise SystemExit(_WRONG)


def _request(flags: dict[str, Any]) -> Request:
    namespace, lease = flags["namespace"], flags["lease"]
    if namespace is not None and flags["all_namespaces"]:
        raise click.UsageError("-n and --all-namespaces exclude each other")
    if namespace is not None and (not namespace or "/" in namespace):
        raise click.UsageError(f"-n: {namespace!r} is no namespace's name")
    if lease and not all(lease.partition("/")):
        raise click.UsageError(f"--lease: {lease!r} is not NAMESPACE/NAME")
    for flag in ("server", "server_ca", "token_file"):
        if flags[flag] and flags["no_ask"]:
            raise click.UsageError(f"--no-ask and --{flag.replace('_', '-')} exclude each other")
    for flag in ("server_ca", "token_file"):
        if flags[flag] and not flags["server"]:
            raise click.UsageError(f"--{flag.replace('_', '-')} needs --server URL")
    return Request(
        scope=Scope(namespace=namespace, scheduler_name=flags["scheduler_name"], lease=lease),
        kubeconfig=flags["kubeconfig"],
        context=flags["context"],
        server=flags["server"],
        server_ca=flags["server_ca"],
        token_file=flags["token_file"],
        ask=not flags["no_ask"],
    )


def _show(facts: Facts, findings: list[Finding], output: str) -> None:
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(report_of(facts, findings)), indent=2))
        return
    console = make_console()
    print_rendered(console, render(facts, findings))
