"""Binds Pods (skeleton)."""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self

import msgspec

from kubeio.client import KubeClient
from kubeio.writes import WritePool
from scheduler_svc.core.effects import BindPod
from scheduler_svc.core.events import BindFailed, BindSucceeded
from scheduler_svc.shell.binding_activity import BindingActivity
from scheduler_svc.shell.concurrency import AdaptiveLimit

BIND_TIMEOUT_SECONDS: Final = 30.0


class BinderStatistics(msgspec.Struct, frozen=True):
    """Counts since the start, but for the first three, which are of now."""

    queued_count: int
    in_flight_count: int
    concurrency_limit: int
    succeeded_count: int
    failed_counts: dict[str, int]


class Binder:
    """Carries out `BindPod`; each ends in one `BindSucceeded` or `BindFailed`.

    Parameters
    ----------
    may_bind
        Whether our Lease is valid now; asked before each POST.
    node_exists
        Whether the cache knows the Node; asked before each POST.
    report
        Gets the outcome; must not block or raise.
    activity
        Told of what is under way.
    withdraw_condition
        `ConditionPatcher.withdraw`.
    """

    def __init__(
        self,
        pool: WritePool,
        client: KubeClient,
        *,
        may_bind: Callable[[], bool],
        node_exists: Callable[[str], bool],
        report: Callable[[BindSucceeded | BindFailed], None],
        activity: BindingActivity,
        limit: AdaptiveLimit | None = None,
        withdraw_condition: Callable[[str], Awaitable[None] | None] = lambda _: None,
        bind_timeout_seconds: float = BIND_TIMEOUT_SECONDS,
        dry_run: bool = False,
    ) -> None: ...

    async def __aenter__(self) -> Self:
        raise NotImplementedError

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def submit(self, effect: BindPod) -> None:
        """Begin, or queue if as many as the limit allows are under way."""

    async def drain(self, timeout_seconds: float) -> None:
        """Send nothing more; wait for what is under way; report the rest as `NOT_LEADER`."""

    def statistics(self) -> BinderStatistics:
        """Count."""
        raise NotImplementedError
