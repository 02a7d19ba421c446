"""Which Events are the same one again: written once, then counted.

Equal but for the note is the same Event to upstream, whose key holds the Pod's
resourceVersion: once a new text has been written to the Pod's condition, its Events
begin anew. So here a series ends when its note changes. While it lasts it is written
when it becomes one (count 2), every half an hour if it has grown, and after six minutes
without another, when it ends.

Source: client-go tools/events/event_broadcaster.go, v0.36.3. Differences: what has not
changed is not written again; at most `SERIES_LIMIT` series are remembered, those seen
last; an Event that happens once in a Pod's life (Scheduled) is not.
"""

from collections import OrderedDict
from typing import Final

import msgspec

from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import RecordEvent
from scheduler_svc.shell.writes.event_request import EventNames

FINISH_SECONDS: Final = 6 * 60.0
REFRESH_SECONDS: Final = 30 * 60.0
SERIES_LIMIT: Final = 20_000
_ONCE_IN_A_LIFE: Final = frozenset({"Scheduled"})

EventKey = tuple[str, str, str, str, str]


def event_key(effect: RecordEvent) -> EventKey:
    """Give all that must be equal, but for the note; the host is ours."""
    return (effect.pod.uid, effect.reason, effect.type, effect.action, effect.scheduler_name)


class EventWrite(msgspec.Struct, frozen=True):
    """What to write now: an Event of its own, or how often a known one was seen.

    Times are Unix seconds.
    """

    effect: RecordEvent
    name: str
    event_time_seconds: float
    count: int
    last_observed_seconds: float
    is_new: bool


class _Series(msgspec.Struct):
    effect: RecordEvent
    name: str
    first: Now
    last: Now
    count: int
    written_count: int
    written_seconds: float

    def write(self, now: Now, *, is_new: bool = False) -> EventWrite:
        self.written_count = self.count
        self.written_seconds = now.monotonic_seconds
        return EventWrite(
            self.effect,
            self.name,
            event_time_seconds=self.first.wall_seconds,
            count=self.count,
            last_observed_seconds=self.last.wall_seconds,
            is_new=is_new,
        )


class EventSeries:
    """Decides for each Event whether it is written, and as what."""

    def __init__(self, *, series_limit: int = SERIES_LIMIT) -> None:
        self._limit = series_limit
        self._names = EventNames()
        # The one seen longest ago first.
        self._series: OrderedDict[EventKey, _Series] = OrderedDict()

    def __len__(self) -> int:
        return len(self._series)

    def observe(
        self, effect: RecordEvent, count: int, *, first: Now, last: Now
    ) -> list[EventWrite]:
        """Take note of an Event that was seen `count` times, and give what to write.

        O(1); the end of another series may be among it.
        """
        key = event_key(effect)
        known = self._series.get(key)
        if known is not None and known.effect.note == effect.note:
            known.count += count
            known.last = last
            self._series.move_to_end(key)
            return [known.write(last)] if known.written_count == 1 else []
        writes = [] if known is None else self._end(key, last)
        name = self._names.next_name(effect.pod.name, first.wall_seconds)
        series = _Series(effect, name, first, last, count, 0, 0.0)
        writes.append(series.write(last, is_new=True))
        if effect.reason not in _ONCE_IN_A_LIFE:
            self._series[key] = series
            if len(self._series) > self._limit:
                writes += self._end(next(iter(self._series)), last)
        return writes

    def due(self, now: Now) -> list[EventWrite]:
        """End what has not been seen for long, and refresh what has grown. O(series)."""
        seconds = now.monotonic_seconds
        writes: list[EventWrite] = []
        for key, series in list(self._series.items()):
            if seconds - series.last.monotonic_seconds >= FINISH_SECONDS:
                writes += self._end(key, now)
            elif (
                series.count > series.written_count
                and seconds - series.written_seconds >= REFRESH_SECONDS
            ):
                writes.append(series.write(now))
        return writes

    def end_all(self, now: Now) -> list[EventWrite]:
        """End every series; gives what has not been written of them."""
        return [write for key in list(self._series) for write in self._end(key, now)]

    def _end(self, key: EventKey, now: Now) -> list[EventWrite]:
        series = self._series.pop(key)
        return [series.write(now)] if series.count > series.written_count else []
