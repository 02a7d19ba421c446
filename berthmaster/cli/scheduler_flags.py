"""The flags of ``berthmaster scheduler``: upstream's names where upstream has them."""

from typing import Final

import click

from berthmaster.cli.grouped import Duration, GroupedOption, IpAddress, Verbosity
from kubeio.logs import MAX_VERBOSITY, LogFormat
from scheduler_svc.shell.options import DEFAULT_SCHEDULER_NAME

CONFIGURATION: Final = "Configuration"
ELECTION: Final = "Leader election"
BINDING: Final = "Binding"
SERVING: Final = "Serving"
LOGGING: Final = "Logging"
FILE: Final = click.Path(allow_dash=True)
"""A path as it was typed, which shells complete; whoever reads the file says what is wrong."""

OPTIONS: Final[tuple[click.Option, ...]] = (
    GroupedOption(
        (
            "--config",
            "config_path",
        ),
        group=CONFIGURATION,
        type=FILE,
        metavar="FILE",
        default="",
        help="A KubeSchedulerConfiguration v1 file, as kube-scheduler reads it.",
    ),
    GroupedOption(
        ("--kubeconfig",),
        group=CONFIGURATION,
        type=FILE,
        metavar="FILE",
        help="Where the API server is and as whom to log in. Without it: KUBECONFIG, "
        "~/.kube/config, the Pod's ServiceAccount.",
    ),
    GroupedOption(
        ("--context",), group=CONFIGURATION, metavar="NAME", help="The kubeconfig's context to use."
    ),
    GroupedOption(
        ("--scheduler-name",),
        group=CONFIGURATION,
        metavar="NAME",
        default=DEFAULT_SCHEDULER_NAME,
        show_default=True,
        help="The spec.schedulerName to serve; a file's profile default-scheduler gets this name.",
    ),
    GroupedOption(
        ("--write-config-to",),
        group=CONFIGURATION,
        type=FILE,
        metavar="FILE",
        help="Write the configuration in effect, with all defaults, and end; - for stdout.",
    ),
    GroupedOption(
        ("--leader-elect",),
        group=ELECTION,
        is_flag=False,
        flag_value="true",
        type=bool,
        metavar="[=BOOL]",
        help="Elect a leader among replicas. Default: as the file says, else true.",
    ),
    GroupedOption(
        ("--no-leader-elect",),
        group=ELECTION,
        is_flag=True,
        help="The same as --leader-elect=false.",
    ),
    GroupedOption(
        ("--leader-elect-lease-duration",),
        group=ELECTION,
        type=Duration(),
        help="How long a standby waits after the last renewal it saw. Default: 15s.",
    ),
    GroupedOption(
        ("--leader-elect-renew-deadline",),
        group=ELECTION,
        type=Duration(),
        help="How long a leader goes on without a renewal. Default: 10s.",
    ),
    GroupedOption(
        ("--leader-elect-retry-period",),
        group=ELECTION,
        type=Duration(),
        help="The pause between two tries. Default: 2s.",
    ),
    GroupedOption(
        ("--leader-elect-resource-name",),
        group=ELECTION,
        metavar="NAME",
        help="The Lease. Default: berthmaster; for another --scheduler-name, berthmaster-NAME.",
    ),
    GroupedOption(
        ("--leader-elect-resource-namespace",),
        group=ELECTION,
        metavar="NAME",
        help="Its namespace. Default: kube-system.",
    ),
    GroupedOption(
        ("--dry-run",),
        group=BINDING,
        is_flag=True,
        help="Decide and log, and write nothing to the cluster; there is no election.",
    ),
    GroupedOption(
        ("--bind-timeout",),
        group=BINDING,
        type=Duration(),
        default="30s",
        show_default=True,
        help="For the request of one Binding.",
    ),
    GroupedOption(
        ("--bind-concurrency",),
        group=BINDING,
        type=click.IntRange(1, 256),
        default=32,
        show_default=True,
        help="How many Bindings at once to begin with; it adapts to the API server.",
    ),
    GroupedOption(
        ("--bind-address",),
        group=SERVING,
        type=IpAddress(),
        metavar="IP",
        default="0.0.0.0",  # noqa: S104 - as kube-scheduler; probes come from the Node
        show_default=True,
        help="The address to serve HTTPS on.",
    ),
    GroupedOption(
        ("--secure-port",),
        group=SERVING,
        type=click.IntRange(0, 65535),
        default=10259,
        show_default=True,
        help="The port to serve HTTPS on; 0: any free one, which the log tells.",
    ),
    GroupedOption(
        ("--tls-cert-file",),
        group=SERVING,
        type=FILE,
        metavar="FILE",
        help="Certificate (PEM) to serve with, read again when it changes. Default: self-signed.",
    ),
    GroupedOption(
        ("--tls-private-key-file",), group=SERVING, type=FILE, metavar="FILE", help="Its key (PEM)."
    ),
    GroupedOption(
        ("--authorization",),
        group=SERVING,
        type=click.Choice(["rbac", "none"]),
        default="rbac",
        show_default=True,
        help="Whether the API server is asked who may read /metrics and /configz.",
    ),
    GroupedOption(
        (
            "-v",
            "--v",
            "verbosity",
        ),
        group=LOGGING,
        type=Verbosity(0, MAX_VERBOSITY, clamp=True),
        default=0,
        show_default=True,
        help="How much to log: 2 tells what becomes of Pods, 3 each step.",
    ),
    GroupedOption(
        ("--log-format",),
        group=LOGGING,
        type=click.Choice([format_.value for format_ in LogFormat]),
        default=LogFormat.TEXT.value,
        show_default=True,
        help="Lines for people, or JSON.",
    ),
)
