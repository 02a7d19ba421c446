"""The flags of ``berthmaster diagnose``."""

from typing import Final

import click

from berthmaster.cli import explain_flags
from berthmaster.cli.daemon_flags import login_options
from berthmaster.cli.grouped import GroupedOption

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
