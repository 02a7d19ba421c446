"""The startup figures that sig-scalability and the kubelet define, without the kubelet's faults.

All three end when the agent has heard that each container has started at least once; one that
has ended since counts as started, so short Jobs are not lost. The SLI begins at creation and
leaves out image pulls and all init containers; it is told only where both are known, of Pods
that hold no state and were scheduled at the first attempt.

Source: pkg/kubelet/util/pod_startup_latency_tracker.go, pkg/kubelet/metrics/metrics.go,
v1.36.3; sig-scalability ``slos/pod_startup_latency.md``. The kubelet's figures differ: of
several init containers it leaves none out, it drops Pods whose containers never run at the
same time, takes the back-off after a failed pull for pulling, and cannot see that a Pod was
unschedulable before.
"""

from enum import StrEnum

import msgspec

from node_agent.core.journey.journey import Journey
from node_agent.core.journey.marks import MarkKind


class SkipReason(StrEnum):
    """Why a Pod is missing from a figure."""

    AGENT_RESTART = "agent_restart"
    CLOCK_SET = "clock_set"
    STATEFUL = "stateful"
    SCHEDULED_LATE = "scheduled_late"
    PULLS_UNKNOWN = "pulls_unknown"
    INIT_UNKNOWN = "init_unknown"


class Startup(msgspec.Struct, frozen=True, gc=False):
    """A Pod's figures, in nanoseconds; perhaps negative, where clocks differ.

    Attributes
    ----------
    total_nanoseconds
        From ``creationTimestamp`` (whole seconds, rounded down).
    sli_nanoseconds
        The same without pulls and init containers; None for `sli_skipped`.
    seen_nanoseconds
        From the kubelet's first sight; None where the kubelet was not asked.
    """

    total_nanoseconds: int
    sli_nanoseconds: int | None
    seen_nanoseconds: int | None
    sli_skipped: SkipReason | None


def startup_of(journey: Journey) -> Startup | None:
    """Give the figures of a Pod; None while it has not started, or where that was not seen."""
    started = journey.marks.get(MarkKind.STARTED_WATCH)
    created = journey.marks.get(MarkKind.CREATED_API)
    if started is None or created is None:
        return None
    seen = journey.marks.get(MarkKind.KUBELET_SEEN)
    total = started - created
    skipped = _why_no_sli(journey)
    left_out = (journey.pull_nanoseconds or 0) + (journey.init_nanoseconds or 0)
    return Startup(
        total_nanoseconds=total,
        sli_nanoseconds=None if skipped else total - left_out,
        seen_nanoseconds=None if seen is None else started - seen,
        sli_skipped=skipped,
    )


def _why_no_sli(journey: Journey) -> SkipReason | None:
    if journey.identity.is_stateful:
        return SkipReason.STATEFUL
    if (journey.attempt or 1) > 1:
        return SkipReason.SCHEDULED_LATE
    if journey.pull_nanoseconds is None:
        return SkipReason.PULLS_UNKNOWN
    return SkipReason.INIT_UNKNOWN if journey.init_nanoseconds is None else None
