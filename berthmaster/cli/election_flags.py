"""Flags of the leader election, as kube-scheduler has them, and what they say."""

from typing import Any, Final

import click

from berthmaster.cli.grouped import Duration, GroupedOption
from scheduler_svc.shell.shared_options import LeaderElectionOptions

ELECTION: Final = "Leader election"


def election_options(
    *, default_name: str, default: str = "Default: true."
) -> tuple[click.Option, ...]:
    """Give the options.

    Parameters
    ----------
    default_name
        What is said of the Lease's name where none is given.
    default
        What is said of whether there is an election where nothing is.
    """
    return (
        GroupedOption(
            ("--leader-elect",),
            group=ELECTION,
            is_flag=False,
            flag_value="true",
            type=bool,
            metavar="[=BOOL]",
            help=f"Elect a leader among replicas. {default}",
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
            help=f"The Lease. {default_name}",
        ),
        GroupedOption(
            ("--leader-elect-resource-namespace",),
            group=ELECTION,
            metavar="NAME",
            help="Its namespace. Default: kube-system.",
        ),
    )


def read_election(flags: dict[str, Any]) -> LeaderElectionOptions:
    """Give what the flags say. Raises `click.UsageError` where they exclude each other."""
    leader_elect = flags["leader_elect"]
    if flags["no_leader_elect"]:
        if leader_elect:
            raise click.UsageError("--leader-elect and --no-leader-elect exclude each other")
        leader_elect = False
    return LeaderElectionOptions(
        leader_elect=leader_elect,
        lease_duration_seconds=flags["leader_elect_lease_duration"],
        renew_deadline_seconds=flags["leader_elect_renew_deadline"],
        retry_period_seconds=flags["leader_elect_retry_period"],
        resource_name=flags["leader_elect_resource_name"],
        resource_namespace=flags["leader_elect_resource_namespace"],
    )
