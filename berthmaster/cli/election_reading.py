"""What the flags of the leader election say."""

from typing import Any

import click

from scheduler_svc.shell.shared_options import LeaderElectionOptions


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
