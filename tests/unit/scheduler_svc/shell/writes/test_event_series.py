"""Which Events are written, and which are counted."""

from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import EventType, PodReference, RecordEvent
from scheduler_svc.shell.writes.event_series import (
    FINISH_SECONDS,
    REFRESH_SECONDS,
    EventSeries,
    EventWrite,
)


def event(note: str = "n", uid: str = "uid-1", reason: str = "FailedScheduling") -> RecordEvent:
    return RecordEvent(
        pod=PodReference("shop", "web-1", uid),
        scheduler_name="berthmaster",
        type=EventType.WARNING,
        reason=reason,
        action="Scheduling",
        note=note,
    )


def at(seconds: float) -> Now:
    return Now(seconds, 1_000 + seconds)


def observe(
    series: EventSeries, effect: RecordEvent, seconds: float, count: int = 1
) -> list[EventWrite]:
    return series.observe(effect, count, first=at(seconds), last=at(seconds))


def shape(writes: list[EventWrite]) -> list[tuple[bool, str, int]]:
    return [(write.is_new, write.effect.note, write.count) for write in writes]


def test_first_is_new_second_begins_a_series_third_is_counted() -> None:
    series = EventSeries()
    (first,) = observe(series, event(), 0)
    assert (first.is_new, first.count) == (True, 1)
    (second,) = observe(series, event(), 5)
    assert (second.is_new, second.count, second.name) == (False, 2, first.name)
    assert (second.event_time_seconds, second.last_observed_seconds) == (1000, 1005)
    assert observe(series, event(), 7) == []


def test_what_was_folded_before_it_was_written_is_a_series_at_once() -> None:
    series = EventSeries()
    (first,) = series.observe(event(), 3, first=at(0), last=at(4))
    assert (first.is_new, first.count, first.last_observed_seconds) == (True, 3, 1004)
    assert observe(series, event(), 5) == []


def test_another_note_ends_the_series_and_begins_another() -> None:
    series = EventSeries()
    for second in range(4):
        observe(series, event("a"), second)
    assert shape(observe(series, event("b"), 4)) == [(False, "a", 4), (True, "b", 1)]
    assert shape(observe(series, event("a"), 5)) == [(True, "a", 1)]


def test_pods_reasons_and_schedulers_are_kept_apart() -> None:
    series = EventSeries()
    observe(series, event(), 0)
    assert shape(observe(series, event(uid="uid-2"), 0)) == [(True, "n", 1)]
    assert shape(observe(series, event(reason="Preempted"), 0)) == [(True, "n", 1)]
    assert len(series) == 3


def test_scheduled_is_not_remembered() -> None:
    series = EventSeries()
    assert shape(observe(series, event(reason="Scheduled"), 0)) == [(True, "n", 1)]
    assert len(series) == 0


def test_ends_after_six_minutes_of_rest() -> None:
    series = EventSeries()
    for second in range(3):
        observe(series, event(), second)
    assert series.due(at(2 + FINISH_SECONDS - 0.1)) == []
    assert shape(series.due(at(2 + FINISH_SECONDS))) == [(False, "n", 3)]
    assert len(series) == 0
    assert shape(observe(series, event(), 500)) == [(True, "n", 1)]


def test_the_end_of_what_has_been_written_is_silent() -> None:
    series = EventSeries()
    observe(series, event(), 0)
    observe(series, event(), 1)
    assert series.due(at(1 + FINISH_SECONDS)) == []
    assert len(series) == 0


def test_refreshed_every_half_an_hour_while_it_grows() -> None:
    series = EventSeries()
    writes = [shape(observe(series, event(), 60 * minute)) for minute in range(32)]
    assert writes[0] == [(True, "n", 1)]
    assert writes[1] == [(False, "n", 2)]
    assert all(write == [] for write in writes[2:])
    assert series.due(at(60 + REFRESH_SECONDS - 1)) == []
    assert shape(series.due(at(60 + REFRESH_SECONDS))) == [(False, "n", 32)]
    assert series.due(at(60 + REFRESH_SECONDS)) == []


def test_the_one_seen_longest_ago_makes_room() -> None:
    series = EventSeries(series_limit=2)
    for second in range(3):
        observe(series, event(uid="uid-1"), second)
    observe(series, event(uid="uid-2"), 3)
    assert shape(observe(series, event(uid="uid-3"), 4)) == [(True, "n", 1), (False, "n", 3)]
    assert len(series) == 2


def test_all_end_at_once() -> None:
    series = EventSeries()
    for second in range(3):
        observe(series, event(uid="uid-1"), second)
    observe(series, event(uid="uid-2"), 3)
    assert shape(series.end_all(at(4))) == [(False, "n", 3)]
    assert len(series) == 0
