"""The phases between steps, for histograms, and the segments that a timeline is drawn of.

A phase is two steps; it has a duration once both are known. The estimate lies between the
middles of the two marks, so that rounding to whole seconds shifts no average; its error is
half of both resolutions. Clocks are not corrected: where an estimate is negative, it is
counted, told why it can be, and enters the histogram as 0.
"""

from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise
from typing import Final

import msgspec

from node_agent.core.journey.marks import Mark, MarkKind, Step, best_marks


class Phase(msgspec.Struct, frozen=True, gc=False):
    """What a Pod waits for between two steps.

    `begins` are alternatives, best first; the first whose step is known counts, if none of
    `without` is known, which stand for a finer phase that replaces this one.
    """

    name: str
    begins: tuple[Step, ...]
    end: Step
    without: tuple[Step, ...] = ()


WATCH_LAG: Final = "agent_watch_lag"
"""From the kubelet's sight to the agent's: negative where the agent was first, which is well."""

_BEFORE_CONTAINERS: Final = (Step.INITIALIZED, Step.SANDBOX_READY)

PHASES: Final = (
    Phase("before_queue", (Step.CREATED,), Step.QUEUED),
    Phase("queue", (Step.QUEUED,), Step.DECIDED),
    Phase("scheduling", (Step.CREATED,), Step.BOUND),
    Phase("binding", (Step.DECIDED,), Step.BOUND),
    Phase("bound_to_kubelet_seen", (Step.BOUND,), Step.KUBELET_SEEN),
    Phase("decided_to_kubelet_seen", (Step.DECIDED,), Step.KUBELET_SEEN),
    Phase(WATCH_LAG, (Step.KUBELET_SEEN,), Step.AGENT_SEEN),
    Phase("sync_start", (Step.KUBELET_SEEN,), Step.SYNC_STARTED),
    Phase("volumes", (Step.SYNC_STARTED,), Step.VOLUMES_MOUNTED),
    Phase("sandbox", (Step.VOLUMES_MOUNTED,), Step.SANDBOX_READY),
    Phase(
        "volumes_and_sandbox",
        (Step.SYNC_STARTED,),
        Step.SANDBOX_READY,
        without=(Step.VOLUMES_MOUNTED,),
    ),
    Phase("init", (Step.SANDBOX_READY,), Step.INITIALIZED),
    Phase("images", _BEFORE_CONTAINERS, Step.IMAGES_PULLED),
    Phase("containers", (Step.IMAGES_PULLED,), Step.CONTAINERS_STARTED),
    Phase(
        "images_and_containers",
        _BEFORE_CONTAINERS,
        Step.CONTAINERS_STARTED,
        without=(Step.IMAGES_PULLED,),
    ),
    Phase("readiness", (Step.CONTAINERS_STARTED,), Step.READY),
    Phase("created_to_ready", (Step.CREATED,), Step.READY),
    Phase("bound_to_ready", (Step.BOUND,), Step.READY),
    Phase("kubelet_seen_to_ready", (Step.KUBELET_SEEN,), Step.READY),
    Phase("stopping", (Step.DELETED,), Step.FINISHED),
    Phase("removal", (Step.DELETED,), Step.GONE),
)


class NegativeCause(StrEnum):
    """Why a duration can be negative: rounding explains it, or only the clocks do.

    `EVIDENCE`: both marks are of one clock and finer than the difference, so what was told
    contradicts itself.
    """

    RESOLUTION = "resolution"
    CLOCKS = "clocks"
    EVIDENCE = "evidence"


class Span(msgspec.Struct, frozen=True, gc=False):
    """The time between two marks; `nanoseconds` as estimated, perhaps negative.

    It is right to within `error_nanoseconds` on each side, where the clocks agree.
    """

    begin: Mark
    end: Mark

    @property
    def nanoseconds(self) -> int:
        """Between the middles of both marks."""
        return self.end.middle_nanoseconds - self.begin.middle_nanoseconds

    @property
    def error_nanoseconds(self) -> int:
        """Half of both resolutions."""
        begin, end = self.begin.kind.value, self.end.kind.value
        return (begin.resolution_nanoseconds + end.resolution_nanoseconds) // 2

    @property
    def source(self) -> str:
        """Who told: one name, or two with a slash between."""
        begin, end = self.begin.kind.value.source, self.end.kind.value.source
        return begin.value if begin is end else f"{begin}/{end}"

    @property
    def negative_cause(self) -> NegativeCause | None:
        """Why the estimate is negative; None where it is not."""
        if self.nanoseconds >= 0:
            return None
        if self.nanoseconds + self.error_nanoseconds >= 0:
            return NegativeCause.RESOLUTION
        if self.begin.kind.value.clock is not self.end.kind.value.clock:
            return NegativeCause.CLOCKS
        return NegativeCause.EVIDENCE


def phase_span(phase: Phase, best: dict[Step, Mark]) -> Span | None:
    """Give a phase's duration; None where a step of it is not known, or a finer phase is.

    Parameters
    ----------
    best
        From `best_marks`.
    """
    end = best.get(phase.end)
    if end is None or any(step in best for step in phase.without):
        return None
    for step in phase.begins:
        begin = best.get(step)
        if begin is not None:
            return Span(begin, end)
    return None


def segments(marks: dict[MarkKind, int]) -> Iterator[Span]:
    """Give the spans between neighbouring known steps, which together are the whole way.

    The agent's own receipt stands beside the way: nothing waits for it.
    """
    known = [mark for mark in best_marks(marks).values() if mark.step is not Step.AGENT_SEEN]
    for begin, end in pairwise(known):
        yield Span(begin, end)
