"""Drives the leader election (skeleton)."""

from collections.abc import Callable

from kubeio.client import KubeClient
from scheduler_svc.core.clock import Now
from scheduler_svc.core.leaderelection import ElectionState, LeaderElection
from scheduler_svc.shell.clock import read_now


class LeaseElection:
    """One candidate for one Lease.

    Attributes
    ----------
    namespace, name
        Of the Lease; `name` is the label of ``leader_election_master_status``.
    """

    def __init__(
        self,
        client: KubeClient,
        machine: LeaderElection,
        *,
        namespace: str,
        name: str,
        on_leading: Callable[[], None],
        on_lost: Callable[[], None],
        clock: Callable[[], Now] = read_now,
    ) -> None: ...

    async def run(self) -> ElectionState:
        """Compete until leadership is lost or released; give which of the two."""
        raise NotImplementedError

    def may_bind(self) -> bool:
        """Whether our Lease is valid now: the fence, to be asked before each Binding."""
        raise NotImplementedError

    @property
    def is_leader(self) -> bool:
        """The same, for gauges."""
        raise NotImplementedError

    @property
    def renewal_age_seconds(self) -> float | None:
        """Seconds since the last renewal was sent while we lead; None on a standby."""
        raise NotImplementedError

    async def release(self) -> None:
        """Stop leading at once, give the Lease back and wait until that is done or given up."""
