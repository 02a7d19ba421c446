"""Events that wait to be written: bounded, in order, one for each Pod and reason.

An Event that comes while its like still waits is folded into it: the newest note, how
often, and the place in the queue of the first.
"""

from collections import OrderedDict
from enum import Enum, auto
from typing import Final

import msgspec

from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import RecordEvent
from scheduler_svc.shell.writes.event_series import EventKey, event_key

QUEUE_LIMIT: Final = 20_000


class PendingEvent(msgspec.Struct):
    """An Event that waits; `effect` is the newest of the `count` that it stands for."""

    effect: RecordEvent
    count: int
    first: Now
    last: Now


class Enqueued(Enum):
    """What became of an Event that was put in."""

    ADDED = auto()
    FOLDED = auto()
    REFUSED = auto()


class EventQueue:
    """A queue that refuses what is beyond its limit."""

    def __init__(self, *, limit: int = QUEUE_LIMIT) -> None:
        self._limit = limit
        self._pending: OrderedDict[EventKey, PendingEvent] = OrderedDict()

    def __len__(self) -> int:
        return len(self._pending)

    def put(self, effect: RecordEvent, now: Now) -> Enqueued:
        """Add an Event. O(1)."""
        key = event_key(effect)
        pending = self._pending.get(key)
        if pending is not None:
            pending.effect = effect
            pending.count += 1
            pending.last = now
            return Enqueued.FOLDED
        if len(self._pending) >= self._limit:
            return Enqueued.REFUSED
        self._pending[key] = PendingEvent(effect, 1, now, now)
        return Enqueued.ADDED

    def take(self) -> PendingEvent:
        """Give the Event that has waited longest."""
        return self._pending.popitem(last=False)[1]

    def oldest_age_seconds(self, now: Now) -> float:
        """Give how long the first has waited; 0 if there is none."""
        for pending in self._pending.values():
            return now.monotonic_seconds - pending.first.monotonic_seconds
        return 0.0
