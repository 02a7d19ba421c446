"""Flags of the leader election, as kube-scheduler has them."""

from typing import Final

import click

from berthmaster.cli.grouped import Duration, GroupedOption

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
