"""``berthmaster timeline`` as it is typed: its flags and its help."""

from typing import Final

import click
from click.shell_completion import CompletionItem

from berthmaster.cli.completing import complete_namespaces, complete_pods
from berthmaster.cli.grouped import GroupedCommand, GroupedOption

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

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete it from the cluster, which is not asked where an agent alone is to be."""
        return [] if ctx.params.get("agent_url") else complete_pods(ctx, self, incomplete)


_OPTIONS: Final[tuple[click.Parameter, ...]] = (
    PodName(("pod",), metavar="POD"),
    GroupedOption(
        ("-n", "--namespace"),
        group=_POD,
        metavar="NAME",
        default="default",
        show_default=True,
        shell_complete=complete_namespaces,
        help="The Pod's namespace.",
    ),
    GroupedOption(
        ("-o", "--output"),
        group=_POD,
        type=click.Choice(["bars", "json"]),
        default="bars",
        show_default=True,
        help="For people, or one JSON object as the agent serves it, with attempts that failed.",
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

command: Final = GroupedCommand(
    "timeline",
    params=list(_OPTIONS),
    runs="berthmaster.cli.timeline",
    help="""Draw where a Pod's time went: creation, queue, kubelet, images, ready.

    Every step is shown with who told of it; what nobody told of is left out, never guessed.
    Where scheduling had to be tried again, the Pod's Events and condition say why.

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
    """,
)
