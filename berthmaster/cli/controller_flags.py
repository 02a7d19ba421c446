"""``berthmaster controller`` as it is typed: its flags and its help."""

from typing import Final

import click

from berthmaster.cli.daemon_flags import FILE, LOGGING_OPTIONS, login_options, serving_options
from berthmaster.cli.election_flags import election_options
from berthmaster.cli.grouped import GroupedCommand, GroupedOption
from scheduler_svc.controller.defaults import DEFAULT_PORT, LEASE_NAME
from scheduler_svc.shell.defaults import DEFAULT_SCHEDULER_NAME

CLUSTER: Final = "Cluster"
PROFILES: Final = "What SchedulerProfiles are judged beside: as the schedulers are given it"

OPTIONS: Final[tuple[click.Option, ...]] = (
    *login_options(CLUSTER),
    GroupedOption(
        (
            "--config",
            "config_path",
        ),
        group=PROFILES,
        type=FILE,
        metavar="FILE",
        default="",
        help="The schedulers' KubeSchedulerConfiguration v1 file.",
    ),
    GroupedOption(
        ("--scheduler-name",),
        group=PROFILES,
        metavar="NAME",
        default=DEFAULT_SCHEDULER_NAME,
        show_default=True,
        help="The spec.schedulerName that they serve beside those of SchedulerProfiles.",
    ),
    GroupedOption(
        ("--plugin", "plugins"),
        group=PROFILES,
        multiple=True,
        metavar="MODULE:CLASS",
        help="A plugin in Python that they run; again for more.",
    ),
    *election_options(default_name=f"Default: {LEASE_NAME}."),
    *serving_options(DEFAULT_PORT, "/metrics and /configz"),
    *LOGGING_OPTIONS,
)

command: Final = GroupedCommand(
    "controller",
    params=list(OPTIONS),
    runs="berthmaster.cli.controller",
    help="""Tell in their status what becomes of PodGroups and SchedulerProfiles.

    The controller writes to nothing else, and schedules nothing: without it groups start
    together all the same, and their status says nothing.

    \b
    Examples:
      # with what kubectl uses
      berthmaster controller
      # one replica, each write in the log
      berthmaster controller --leader-elect=false -v 3
      # beside schedulers with a configuration file and a plugin of their own
      berthmaster controller --config scheduler.yaml --plugin my_package.filters:OneATeam

    \b
    Exit codes: 0 stopped in good order; 1 failed, or lost the Lease; 2 bad flags or files.
    """,
)
