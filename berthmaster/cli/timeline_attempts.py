"""The attempts to schedule a Pod that failed: how many there were, and what was said of them.

Three tell of them, none of them all: the scheduler's annotation has the number of the attempt that
succeeded, counted by the process that made it; Events have texts, and are forgotten after an hour
by default; the condition of a Pod that still waits has the last text alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from node_agent.core.journey.timeline import View
from node_agent.core.timestamps import unix_nanoseconds

FAILED_SCHEDULING: Final = "FailedScheduling"
"""The reason of the Events, kube-scheduler's as well as ours."""
_FAILURES: Final = frozenset(("Unschedulable", "SchedulerError"))
"""Reasons of the condition after an attempt; SchedulingGated is before any."""


class CountSource(StrEnum):
    """Who tells how many attempts failed; only the first counts them all."""

    SCHEDULER = "scheduler"
    EVENTS = "events"
    CONDITION = "condition"


class FailedEvent(View, frozen=True):
    """What a scheduler wrote of attempts that failed with one text.

    `times` is what its Events tell: one that is repeated is brought up to date now and then, so
    there may have been more. `first` and `last` are as the API server has them.
    """

    message: str
    times: int
    reporter: str = ""
    first: str | None = None
    last: str | None = None


class FailedAttempts(View, frozen=True):
    """How many attempts failed, at least, and why.

    `exact` is whether the scheduler has counted them, `events` what was said, from old to
    new, `unread` why Events that may say more are not known.
    """

    count: int
    exact: bool
    told_by: str
    events: tuple[FailedEvent, ...] = ()
    unread: str | None = None


@dataclass(frozen=True, slots=True)
class Scheduling:
    """What is known of a Pod's scheduling beside its timeline.

    Attributes
    ----------
    failed
        None where no attempt is known to have failed.
    is_told_by_condition
        Whether the detail of the timeline's cause is that of the condition PodScheduled.
    waited_seconds
        How long a Pod without a Node has been there, by the API server's clock.
    """

    failed: FailedAttempts | None = None
    is_told_by_condition: bool = False
    waited_seconds: float | None = None


NOTHING_KNOWN: Final = Scheduling()


def failed_attempts(
    attempt: int | None,
    events: Iterable[FailedEvent] = (),
    *,
    condition_reason: str = "",
    unread: str | None = None,
) -> FailedAttempts | None:
    """Put together what is known of attempts that failed; None where none has, as far as is known.

    Parameters
    ----------
    attempt
        The number of the one that succeeded, as its scheduler wrote it.
    condition_reason
        Of a PodScheduled condition that is not True.
    unread
        Why the Events are not known.
    """
    told = merged(events)
    by_events = sum(event.times for event in told)
    counts = {
        CountSource.SCHEDULER: max(attempt or 1, 1) - 1,
        CountSource.EVENTS: by_events,
        CountSource.CONDITION: int(condition_reason in _FAILURES),
    }
    source = max(counts, key=lambda each: counts[each])
    if not counts[source]:
        return None
    return FailedAttempts(
        count=counts[source],
        exact=source is CountSource.SCHEDULER,
        told_by=source.value,
        events=told,
        unread=unread,
    )


def merged(events: Iterable[FailedEvent]) -> tuple[FailedEvent, ...]:
    """Make one of all Events with a writer's same text, and put them in order of time."""
    known: dict[tuple[str, str], FailedEvent] = {}
    for event in events:
        key = (event.reporter, event.message)
        other = known.get(key)
        known[key] = event if other is None else _joined(other, event)
    return tuple(sorted(known.values(), key=lambda event: _time(event.last)))


def _joined(one: FailedEvent, other: FailedEvent) -> FailedEvent:
    firsts = [text for text in (one.first, other.first) if text]
    lasts = [text for text in (one.last, other.last) if text]
    return FailedEvent(
        message=one.message,
        times=one.times + other.times,
        reporter=one.reporter,
        first=min(firsts, key=_time, default=None),
        last=max(lasts, key=_time, default=None),
    )


def _time(text: str | None) -> int:
    return unix_nanoseconds(text) or 0
