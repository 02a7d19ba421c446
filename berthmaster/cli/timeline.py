"""``berthmaster timeline``: where the time of one Pod went."""

import asyncio
import os
import sys
from typing import Any, Final, NoReturn

import click
import msgspec
from rich.console import Console

from berthmaster.cli.grouped import GroupedCommand, GroupedOption
from berthmaster.cli.timeline_drawing import printable, render
from berthmaster.cli.timeline_source import (
    TimelineError,
    TimelineRequest,
    Told,
    read_timeline,
)
from kubeio.login import KubeConfigError

_FAILED: Final = 1
_BAD_USAGE: Final = 2
_PIPE_WIDTH: Final = 150

_POD: Final = "The Pod"
_AGENT: Final = "Who is asked"
_CLUSTER: Final = "The cluster"
_FILE: Final = click.Path(dir_okay=False)


class PodName(click.Argument):
    """The Pod's name, which the help lists with the options."""

    group = _POD

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Say what it is."""
        del ctx
        return "POD", "Its name; pod/NAME is read too, as kubectl prints it."


_OPTIONS: Final[tuple[click.Parameter, ...]] = (
    PodName(("pod",), metavar="POD"),
    GroupedOption(
        ("-n", "--namespace"),
        group=_POD,
        metavar="NAME",
        default="default",
        show_default=True,
        help="The Pod's namespace.",
    ),
    GroupedOption(
        ("-o", "--output"),
        group=_POD,
        type=click.Choice(["bars", "json"]),
        default="bars",
        show_default=True,
        help="For people, or one JSON object as the agent serves it.",
    ),
    GroupedOption(
        ("--agent", "agent_url"),
        group=_AGENT,
        metavar="URL",
        help="Ask the agent there, and nobody else. Without it: the agent on the Pod's node "
        "through the API server, else API objects and Events.",
    ),
    GroupedOption(
        ("--agent-token-file",),
        group=_AGENT,
        type=_FILE,
        metavar="FILE",
        help="Bearer token to show to --agent.",
    ),
    GroupedOption(
        ("--agent-ca-file",),
        group=_AGENT,
        type=_FILE,
        metavar="FILE",
        help="PEM of what signed the certificate of --agent. Default: the system's.",
    ),
    GroupedOption(
        ("--agent-insecure",),
        group=_AGENT,
        is_flag=True,
        help="Take any certificate from --agent; whoever answers gets the token.",
    ),
    GroupedOption(
        ("--no-agent",), group=_AGENT, is_flag=True, help="Use API objects and Events alone."
    ),
    GroupedOption(
        ("--ask-kubelet",),
        group=_AGENT,
        is_flag=True,
        help="Without an agent: ask the kubelet, through the API server, when it saw the Pod. "
        "Needs get on nodes/proxy.",
    ),
    GroupedOption(
        ("--kubeconfig",),
        group=_CLUSTER,
        type=_FILE,
        metavar="FILE",
        help="Where the API server is. Without it: as kubectl finds it.",
    ),
    GroupedOption(
        ("--context",), group=_CLUSTER, metavar="NAME", help="The kubeconfig's context to use."
    ),
)


@click.command(cls=GroupedCommand, params=list(_OPTIONS))
def command(pod: str, output: str, **flags: Any) -> None:
    """Draw where a Pod's time went: creation, queue, kubelet, images, ready.

    Every step is shown with who told of it; what nobody told of is left out, never guessed.

    \b
    Examples:
      # why did it take 40 seconds?
      berthmaster timeline web-5d9c7 -n shop
      # no agent in the cluster: what API objects and Events tell
      berthmaster timeline web-5d9c7 -n shop --no-agent
      # from an agent, also of a Pod that is gone
      kubectl -n berthmaster port-forward berthmaster-agent-x2x9f 10260 &
      berthmaster timeline web-5d9c7 -n shop --agent https://localhost:10260 \\
        --agent-insecure --agent-token-file token
      # the longest phase, for scripts
      berthmaster timeline web-5d9c7 -o json | jq '.segments | max_by(.seconds)'

    \b
    Exit codes: 0 shown; 1 no such Pod, or nobody answered; 2 bad flags or files.
    """
    request = _request(pod, flags)
    try:
        told = asyncio.run(read_timeline(request))
    except KubeConfigError as error:
        _fail(error, _BAD_USAGE)
    except TimelineError as error:
        _fail(error, _FAILED)
    try:
        _show(told, output)
    except BrokenPipeError:
        raise  # of which click makes a quiet end
    except OSError as error:
        _give_output_up()
        _fail(f"cannot write to standard output: {error.strerror}", _FAILED)


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
    use_agent = not flags.pop("no_agent")
    return TimelineRequest(name=name, use_agent=use_agent, **flags)


def _show(told: Told, output: str) -> None:
    for note in told.notes:
        click.echo(f"Note: {printable(note)}", err=True)
    if output == "json":
        click.echo(msgspec.json.encode(told.timeline))
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_PIPE_WIDTH)
    with console.capture() as capture:
        console.print(render(told.timeline, told.teller, console))
    click.echo("\n".join(line.rstrip() for line in capture.get().split("\n")), nl=False)


def _give_output_up() -> None:
    """Let what could not be written be forgotten: else the interpreter tries at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _fail(error: Exception | str, code: int) -> NoReturn:
    click.echo(f"Error: {printable(str(error))}", err=True)
    raise SystemExit(code)
