"""The flags of ``berthmaster explain``."""

from typing import Final

import click

from berthmaster.cli.daemon_flags import FILE
from berthmaster.cli.grouped import GroupedOption
from scheduler_svc.shell.explain.question import DEFAULT_LEASE, DEFAULT_PORT

SOURCE: Final = "What is asked about"
ANSWER: Final = "The answer"
ACCESS: Final = "The cluster"
SCHEDULER: Final = "The running scheduler"


class Subject(click.Argument):
    """What is asked about, as words."""

    group = SOURCE

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Say which words there are."""
        del ctx
        return "pod NAME", "A Pod that exists; what is remembered of it, and how it stands now."


OPTIONS: Final[tuple[click.Parameter, ...]] = (
    Subject(("words",), nargs=-1, metavar="[pod NAME | decision ID]"),
    GroupedOption(
        ("--snapshot",),
        group=SOURCE,
        type=FILE,
        multiple=True,
        metavar="FILE…",
        help="A saved cluster: YAML or JSON files, folders of them, or - for standard input.",
    ),
    GroupedOption(
        ("--from-cluster",),
        group=SOURCE,
        is_flag=True,
        help="List the cluster now, and decide here: no scheduler of ours need run.",
    ),
    GroupedOption(
        ("--pod", "pod_path"),
        group=SOURCE,
        type=FILE,
        metavar="FILE",
        help="A Pod that does not exist yet: its manifest, or - for standard input.",
    ),
    GroupedOption(
        ("--all-pending",), group=SOURCE, is_flag=True, help="All Pods that wait for a Node."
    ),
    GroupedOption(
        ("-n", "--namespace"),
        group=SOURCE,
        metavar="NAME",
        default="default",
        show_default=True,
        help="The namespace of the Pod.",
    ),
    GroupedOption(
        ("--config", "config_path"),
        group=SOURCE,
        type=FILE,
        metavar="FILE",
        default="",
        help="Decide as this KubeSchedulerConfiguration says. Default: kube-scheduler's own "
        "profile, for every Pod.",
    ),
    GroupedOption(
        ("--plugin", "plugins"),
        group=SOURCE,
        multiple=True,
        metavar="MODULE:CLASS",
        help="A plugin in Python, package.module:Class or path/to/file.py:Class; again for more.",
    ),
    GroupedOption(
        ("--preempt",),
        group=ANSWER,
        is_flag=True,
        help="For Pods that fit nowhere: say whose eviction would make room.",
    ),
    GroupedOption(
        ("-o", "--output"),
        group=ANSWER,
        type=click.Choice(["table", "json"]),
        default="table",
        show_default=True,
        help="For people, or one JSON object a line.",
    ),
    GroupedOption(
        ("--best",),
        group=ANSWER,
        type=click.IntRange(1, 50),
        default=5,
        show_default=True,
        metavar="COUNT",
        help="How many of the best Nodes the table shows.",
    ),
    GroupedOption(
        ("--kubeconfig",),
        group=ACCESS,
        type=FILE,
        metavar="FILE",
        help="Where the API server is. Without it: as kubectl finds it.",
    ),
    GroupedOption(
        ("--context",), group=ACCESS, metavar="NAME", help="The kubeconfig's context to use."
    ),
    GroupedOption(
        ("--server",),
        group=SCHEDULER,
        metavar="URL",
        default="",
        help="Where the scheduler serves: https://HOST:PORT. Default: its leader's Pod, through "
        "the API server.",
    ),
    GroupedOption(
        ("--server-ca",),
        group=SCHEDULER,
        type=FILE,
        metavar="FILE",
        default="",
        help="The CA of its certificate (PEM). Without it, a certificate of this host is not "
        "checked, and any other by the system's CAs.",
    ),
    GroupedOption(
        ("--token-file",),
        group=SCHEDULER,
        type=FILE,
        metavar="FILE",
        default="",
        help="A bearer token to show it. Default: the kubeconfig's.",
    ),
    GroupedOption(
        ("--lease",),
        group=SCHEDULER,
        metavar="NAMESPACE/NAME",
        default=DEFAULT_LEASE,
        show_default=True,
        help="The Lease that its leader holds.",
    ),
    GroupedOption(
        ("--secure-port", "port"),
        group=SCHEDULER,
        type=click.IntRange(1, 65535),
        default=DEFAULT_PORT,
        show_default=True,
        help="The port that its Pod serves HTTPS on.",
    ),
)
