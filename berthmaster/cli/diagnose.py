"""``berthmaster diagnose``: what is wrong with scheduling in a cluster, and what to type next."""

import asyncio
import os
import sys
from typing import Any, Final, NoReturn

import click
import msgspec
from rich.console import Console

from berthmaster import __version__
from berthmaster.cli.diagnose_flags import OPTIONS
from berthmaster.cli.diagnosis.facts import Facts, Scope
from berthmaster.cli.diagnosis.finding import Finding
from berthmaster.cli.diagnosis.gathering import Request, gather
from berthmaster.cli.diagnosis.judgement import is_wrong, judge
from berthmaster.cli.diagnosis.report import render, report_of
from berthmaster.cli.grouped import GroupedCommand
from berthmaster.cli.timeline_drawing import printable
from kubeio.errors import KubeError
from kubeio.login import KubeConfigError

_WRONG: Final = 1
_CANNOT_TELL: Final = 2
_PIPE_WIDTH: Final = 150


@click.command(cls=GroupedCommand, params=list(OPTIONS))
def command(**flags: Any) -> None:
    """Look a cluster over: what is wrong with scheduling, why it matters, what to type next.

    Pending Pods and why, Pods with a schedulerName that nobody serves, Pods that have a Node and
    do not run, schedulers and their Lease, Nodes and the room left, agents, our Events. The
    running scheduler and agents are asked where they can be; what you may not read is named, and
    left out. Nothing is changed.

    \b
    Examples:
      berthmaster diagnose
      # one team's Pods
      berthmaster diagnose -n shop
      # a scheduler of another name, outside the cluster
      berthmaster diagnose --scheduler-name gpu --server https://127.0.0.1:10259
      # for scripts
      berthmaster diagnose -o json | jq '.findings[] | select(.severity == "problem")'

    \b
    Exit codes: 0 nothing is wrong (notes do not count); 1 there is a warning or a problem;
    2 bad flags, or the API server cannot be reached.
    """
    request = _request(flags)
    try:
        facts = asyncio.run(gather(request, version=__version__))
    except (KubeConfigError, KubeError) as error:
        _fail(error, _CANNOT_TELL)
    findings = judge(facts)
    try:
        _show(facts, findings, flags["output"])
    except BrokenPipeError:
        raise  # of which click makes a quiet end
    except OSError as error:
        _give_output_up()
        _fail(f"cannot write to standard output: {error.strerror}", _CANNOT_TELL)
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
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_PIPE_WIDTH)
    with console.capture() as capture:
        console.print(render(facts, findings))
    click.echo("\n".join(line.rstrip() for line in capture.get().split("\n")), nl=False)


def _give_output_up() -> None:
    """Let what could not be written be forgotten: else the interpreter tries at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _fail(error: Exception | str, code: int) -> NoReturn:
    click.echo(f"Error: {printable(str(error))}", err=True)
    raise SystemExit(code)
