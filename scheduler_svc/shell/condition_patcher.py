"""Sets Pods' PodScheduled condition (skeleton)."""

from collections.abc import Awaitable
from types import TracebackType
from typing import Self

import msgspec

from kubeio.writes import WritePool
from scheduler_svc.core.effects import PatchPodCondition
from scheduler_svc.shell.binding_activity import BindingActivity


class PatcherStatistics(msgspec.Struct, frozen=True):
    """Counts since the start, but for the first, which is of now."""

    queued_count: int
    written_count: int
    dropped_counts: dict[str, int]


class ConditionPatcher:
    """Carries out `PatchPodCondition`, the newest of each Pod."""

    def __init__(
        self, pool: WritePool, *, activity: BindingActivity, dry_run: bool = False
    ) -> None: ...

    async def __aenter__(self) -> Self:
        raise NotImplementedError

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def submit(self, effect: PatchPodCondition) -> None:
        """Queue, in place of an older one of the same Pod."""

    def withdraw(self, uid: str) -> Awaitable[None] | None:
        """Drop what is queued for a Pod; gives what to wait for if a patch is on the wire."""

    async def drain(self, timeout_seconds: float) -> None:
        """Write what is queued, for so long; drop the rest."""

    def statistics(self) -> PatcherStatistics:
        """Count."""
        raise NotImplementedError
