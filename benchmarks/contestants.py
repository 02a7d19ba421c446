"""Who is measured beside whom, and in which order."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from benchmarks.berthmaster_process import Berthmaster
from benchmarks.kube_scheduler import KubeScheduler
from benchmarks.scheduler_process import Contestant

T = TypeVar("T")

RAW: Final = "raw bind run"
KUBE_SCHEDULER: Final = KubeScheduler.name
BERTHMASTER: Final = Berthmaster.name
CONTESTANTS: Final[tuple[Contestant | None, ...]] = (None, KubeScheduler(), Berthmaster())
"""In the order of the first round; None is the raw bind run."""


def name_of(contestant: Contestant | None) -> str:
    """Give what a contestant is called in tables."""
    return contestant.name if contestant else RAW


def scheduler_name_of(contestant: Contestant | None) -> str:
    """Give the `schedulerName` of Pods that a contestant is to bind."""
    return contestant.scheduler_name if contestant else "nobody"


def with_extender(contestant: Contestant, entry: Mapping[str, Any]) -> Contestant:
    """Give a scheduler that asks an extender; `entry` is that of its configuration."""
    if isinstance(contestant, KubeScheduler):
        return KubeScheduler(extenders=(entry,))
    return Berthmaster(extenders=(entry,))


def rotated(contestants: Sequence[T], turns: int) -> tuple[T, ...]:
    """Let another one begin."""
    turns %= len(contestants)
    return (*contestants[turns:], *contestants[:turns])
