"""``berthmaster explain`` as it is typed: its flags and its help."""

from typing import Final

import click
from click.shell_completion import CompletionItem

from berthmaster.cli.completing import complete_namespaces, complete_pods
from berthmaster.cli.daemon_flags import FILE
from berthmaster.cli.grouped import GroupedCommand, GroupedOption
from scheduler_svc.shell.explain.question import (
    DEFAULT_BEST,
    DEFAULT_LEASE,
    DEFAULT_PORT,
    SUBJECTS,
)

SOURCE: Final = "What is asked about"
ANSWER: Final = "The answer"
ACCESS: Final = "The cluster"
SCHEDULER: Final = "The running scheduler"
SAVED_KINDS: Final = (
    "nodes,pods,namespaces,services,rc,rs,sts,pdb,priorityclasses,pv,pvc,storageclasses,csinodes,"
    "csidrivers,csistoragecapacities"
)
"""What kubectl is to save of a cluster for `--snapshot`."""


class Subject(click.Argument):
    """What is asked about, as words."""

    group = SOURCE

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Say which words there are."""
        del ctx
        return "pod NAME", "A Pod that exists; what is remembered of it, and how it stands now."

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the first word, and after `pod` the name of one in the cluster."""
        typed = ctx.params.get("words") or ()
        if typed == ("pod",) and not ctx.params.get("snapshot"):
            return complete_pods(ctx, self, incomplete)
        words = () if typed else SUBJECTS
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]


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
        shell_complete=complete_namespaces,
        help="The namespace of the Pod (else default), or of the pending Pods (else all).",
    ),
    GroupedOption(
        ("-A", "--all-namespaces"),
        group=SOURCE,
        is_flag=True,
        help="Ask about the pending Pods of all namespaces; so it is without -n.",
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
        default=DEFAULT_BEST,
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
        help="The Lease that its leader holds; of the chart's schedulers NAMESPACE/RELEASE, "
        "berthmaster/berthmaster if it was installed as its documents say.",
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

command: Final = GroupedCommand(
    "explain",
    params=list(OPTIONS),
    runs="berthmaster.cli.explain",
    help=f"""Tell why Pods get the Nodes they get, or none.

    The running scheduler answers from what it knows at this moment, unless a saved cluster is
    given or the cluster is to be listed. Nothing is changed, whoever answers.

    \b
    Examples:
      # every pending Pod of a saved cluster, as kube-scheduler would decide
      kubectl get -A -o yaml {SAVED_KINDS} > cluster.yaml
      berthmaster explain --snapshot cluster.yaml
      # under your configuration, with what preemption would do, for scripts
      berthmaster explain --snapshot cluster.yaml --config scheduler.yaml --preempt -o json
      # with a plugin of your own
      berthmaster explain --snapshot cluster.yaml --plugin ./one_a_team.py:OneATeam
      # where would this Pod go now?
      berthmaster explain --from-cluster --pod web.yaml
      # what the running scheduler thinks of a Pod, and why it decided as it did
      berthmaster explain pod web -n shop
      berthmaster explain pod web -n shop --lease berthmaster/berthmaster
      berthmaster explain decision 5d1f02ab-1c
      berthmaster explain --all-pending --server https://127.0.0.1:10259

    \b
    Exit codes: 0 answered, also where a Pod fits nowhere; 1 failed; 2 bad flags or input.
    """,
)
