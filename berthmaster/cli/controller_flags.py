"""The flags of ``berthmaster controller``: the scheduler's names where they mean the same."""

from typing import Final

import click

from berthmaster.cli.daemon_flags import FILE, LOGGING_OPTIONS, login_options, serving_options
from berthmaster.cli.election_flags import election_options
from berthmaster.cli.grouped import GroupedOption
from scheduler_svc.controller.options import DEFAULT_PORT, LEASE_NAME
from scheduler_svc.shell.shared_options import DEFAULT_SCHEDULER_NAME

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
