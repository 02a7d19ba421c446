"""``berthmaster scheduler`` as it is typed: its flags and its help."""

from typing import Final

import click

from berthmaster.cli.daemon_flags import (
    FILE,
    LOGGING_OPTIONS,
    login_options,
    serving_options,
)
from berthmaster.cli.election_flags import election_options
from berthmaster.cli.grouped import Duration, GroupedCommand, GroupedOption
from scheduler_svc.shell.defaults import DEFAULT_SCHEDULER_NAME

CONFIGURATION: Final = "Configuration"
BINDING: Final = "Binding"
POD_GROUPS: Final = "Groups of Pods"

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
    *login_options(CONFIGURATION),
    GroupedOption(
        ("--scheduler-name",),
        group=CONFIGURATION,
        metavar="NAME",
        default=DEFAULT_SCHEDULER_NAME,
        show_default=True,
        help="The spec.schedulerName to serve; a file's profile default-scheduler gets this name.",
    ),
    GroupedOption(
        ("--plugin", "plugins"),
        group=CONFIGURATION,
        multiple=True,
        metavar="MODULE:CLASS",
        help="A plugin in Python, package.module:Class or path/to/file.py:Class; again for more.",
    ),
    GroupedOption(
        ("--scheduler-profiles/--no-scheduler-profiles",),
        group=CONFIGURATION,
        default=True,
        show_default=True,
        help="Serve SchedulerProfiles besides, as they change, where the cluster has them.",
    ),
    GroupedOption(
        ("--pod-groups/--no-pod-groups",),
        group=POD_GROUPS,
        default=True,
        show_default=True,
        help="Start the Pods of a PodGroup together or not at all (docs/pod-groups.md).",
    ),
    GroupedOption(
        ("--pod-group-patience",),
        group=POD_GROUPS,
        type=Duration(),
        default="60s",
        show_default=True,
        help="Keep room for the first group in line when it has been that for so long.",
    ),
    GroupedOption(
        ("--pod-group-hold",),
        group=POD_GROUPS,
        type=Duration(),
        default="60s",
        show_default=True,
        help="Keep it for so long at most, unless the group's scheduleTimeoutSeconds says else.",
    ),
    GroupedOption(
        ("--write-config-to",),
        group=CONFIGURATION,
        type=FILE,
        metavar="FILE",
        help="Write the configuration in effect, with all defaults, and end; - for stdout.",
    ),
    *election_options(
        default_name="Default: berthmaster; for another --scheduler-name, berthmaster-NAME.",
        default="Default: as the file says, else true.",
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
    *serving_options(10259, "/metrics and /configz"),
    *LOGGING_OPTIONS,
)

command: Final = GroupedCommand(
    "scheduler",
    params=list(OPTIONS),
    runs="berthmaster.cli.scheduler",
    help="""Schedule the Pods that name this scheduler in spec.schedulerName.

    \b
    Examples:
      # beside kube-scheduler, with what kubectl uses
      berthmaster scheduler
      # one replica, another name, each step of each Pod in the log
      berthmaster scheduler --scheduler-name gpu --leader-elect=false -v 3
      # with a plugin of your own (docs/plugins.md)
      berthmaster scheduler --plugin my_package.filters:OneATeam
      # see what it would do, and change nothing
      berthmaster scheduler --dry-run -v 2
      # check a configuration file, and see all its defaults
      berthmaster scheduler --config scheduler.yaml --write-config-to -

    \b
    Exit codes: 0 stopped in good order; 1 failed, or lost the Lease; 2 bad flags or files.
    """,
)
