"""Writes Kubernetes events (skeleton)."""

from types import TracebackType
from typing import Self

import msgspec

from kubeio.writes import WritePool
from scheduler_svc.core.effects import RecordEvent
from scheduler_svc.shell.binding_activity import BindingActivity


class RecorderStatistics(msgspec.Struct, frozen=True):
    """Counts since the start, but for the first two, which are of now.

    `written_counts` is by what was written (``created``, ``series``).
    """

    queued_count: int
    oldest_seconds: float
    written_counts: dict[str, int]
    folded_count: int
    dropped_counts: dict[str, int]


class EventRecorder:
    """Carries out `RecordEvent`; `hostname` becomes part of reportingInstance."""

    def __init__(
        self, pool: WritePool, *, hostname: str, activity: BindingActivity, dry_run: bool = False
    ) -> None: ...

    async def __aenter__(self) -> Self:
        raise NotImplementedError

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def submit(self, effect: RecordEvent) -> None:
        """Queue; never blocks."""

    async def drain(self, timeout_seconds: float) -> None:
        """Write what is queued at full speed, for so long; drop the rest."""

    def statistics(self) -> RecorderStatistics:
        """Count."""
        raise NotImplementedError
