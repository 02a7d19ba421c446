"""``berthmaster diagnose`` as it is typed: its flags and its help."""

from typing import Final

import click

from berthmaster.cli import explain_flags
from berthmaster.cli.completing import complete_namespaces
from berthmaster.cli.daemon_flags import login_options
from berthmaster.cli.grouped import GroupedCommand, GroupedOption

JUDGED: Final = "What is judged"
TOLD: Final = "What is told"
ASKED: Final = "Who is asked"
CLUSTER: Final = "The cluster"
_OF_SCHEDULER: Final = ("server", "server_ca", "token_file")

OPTIONS: Final[tuple[click.Parameter, ...]] = (
    GroupedOption(
        ("-n", "--namespace"),
        group=JUDGED,
        metavar="NAME",
        shell_complete=complete_namespaces,
        help="Judge the Pods of this namespace alone.",
    ),
    GroupedOption(
        ("-A", "--all-namespaces"),
        group=JUDGED,
        is_flag=True,
        help="Judge the Pods of all namespaces; so it is without -n.",
    ),
    GroupedOption(
        ("--scheduler-name",),
        group=JUDGED,
        metavar="NAME",
        default="",
        help="Judge the Pods with this schedulerName alone, and who serves it.",
    ),
    GroupedOption(
        ("--lease",),
        group=JUDGED,
        metavar="NAMESPACE/NAME",
        default="",
        help="The Lease of the schedulers that are judged. Default: those of all schedulers of "
        "ours that run here, else kube-system/berthmaster.",
    ),
    GroupedOption(
        ("-o", "--output"),
        group=TOLD,
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="For people, or one JSON object.",
    ),
    GroupedOption(
        ("--no-ask",),
        group=ASKED,
        is_flag=True,
        help="Use the API server alone: neither the scheduler nor agents are asked.",
    ),
    *(
        option
        for option in explain_flags.OPTIONS
        if option.name in _OF_SCHEDULER and isinstance(option, click.Option)
    ),
    *login_options(CLUSTER),
)

command: Final = GroupedCommand(
    "diagnose",
    params=list(OPTIONS),
    runs="berthmaster.cli.diagnose",
    help="""Look a cluster over: what is wrong with scheduling, why it matters, what to type next.

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
    """,
)
