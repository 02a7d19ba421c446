"""``berthmaster timeline``: where the time of one Pod went."""

import asyncio
from typing import Any, Final

import click
import msgspec

from berthmaster.cli.failing import fail
from berthmaster.cli.printing import make_console, print_rendered, printable, writing
from berthmaster.cli.timeline_drawing import render
from berthmaster.cli.timeline_source import (
    TimelineError,
    TimelineRequest,
    Told,
    read_timeline,
)
from kubeio.login import KubeConfigError

_FAILED: Final = 1
_BAD_USAGE: Final = 2


def run(pod: str, output: str, **flags: Any) -> None:
    """Do it; see the command's help."""
    request = _request(pod, flags)
    try:
        told = asyncio.run(read_timeline(request))
    except KubeConfigError as error:
        fail(printable(str(error)), _BAD_USAGE)
    except TimelineError as error:
        fail(printable(str(error)), _FAILED)
    with writing(_FAILED):
        _show(told, output)


def _request(pod: str, flags: dict[str, Any]) -> TimelineRequest:
    name = pod.removeprefix("pod/").removeprefix("pods/")
    if not name or "/" in name:
        raise click.UsageError(f"{pod!r} is no Pod's name; its namespace is given with -n")
    if not flags["namespace"] or "/" in flags["namespace"]:
        raise click.UsageError(f"-n: {flags['namespace']!r} is no namespace's name")
    is_direct = flags["agent_url"] is not None
    for flag in ("agent_token_file", "agent_ca_file", "agent_insecure"):
        if flags[flag] and not is_direct:
            raise click.UsageError(f"--{flag.replace('_', '-')} needs --agent URL")
    for flag in ("no_agent", "ask_kubelet"):
        if flags[flag] and is_direct:
            raise click.UsageError(f"--agent and --{flag.replace('_', '-')} exclude each other")
    for flag in ("kubeconfig", "context"):
        if flags[flag] and is_direct:
            raise click.UsageError(f"--{flag}: with --agent the API server is not asked")
    if flags["agent_insecure"] and flags["agent_ca_file"]:
        raise click.UsageError("--agent-insecure and --agent-ca-file exclude each other")
    use_agent = not flags.pop("no_agent")
    return TimelineRequest(name=name, use_agent=use_agent, **flags)


def _show(told: Told, output: str) -> None:
    for note in told.notes:
        click.echo(f"Note: {printable(note)}", err=True)
    if output == "json":
        click.echo(msgspec.json.encode(_view(told)))
        return
    console = make_console()
    print_rendered(console, render(told.timeline, told.teller, console, told.scheduling))


def _view(told: Told) -> dict[str, Any]:
    """Give what an agent serves, with what it does not know: attempts that failed, and why."""
    view: dict[str, Any] = msgspec.to_builtins(told.timeline)
    failed = told.scheduling.failed
    return view if failed is None else {**view, "failedScheduling": msgspec.to_builtins(failed)}
