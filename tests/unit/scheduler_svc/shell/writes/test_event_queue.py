"""Events that wait: folded, in order, bounded."""

from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import EventType, PodReference, RecordEvent
from scheduler_svc.shell.writes.event_queue import Enqueued, EventQueue


def event(uid: str, note: str = "n", reason: str = "FailedScheduling") -> RecordEvent:
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


def test_in_order() -> None:
    queue = EventQueue()
    for number in range(3):
        assert queue.put(event(f"uid-{number}"), at(number)) is Enqueued.ADDED
    assert [queue.take().effect.pod.uid for _ in range(3)] == ["uid-0", "uid-1", "uid-2"]
    assert len(queue) == 0


def test_the_same_again_is_folded_and_keeps_its_place() -> None:
    queue = EventQueue()
    queue.put(event("uid-1", "old"), at(0))
    queue.put(event("uid-2"), at(1))
    assert queue.put(event("uid-1", "new"), at(2)) is Enqueued.FOLDED
    assert len(queue) == 2
    assert queue.oldest_age_seconds(at(5)) == 5
    pending = queue.take()
    assert (pending.effect.note, pending.count) == ("new", 2)
    assert (pending.first, pending.last) == (at(0), at(2))
    assert queue.oldest_age_seconds(at(5)) == 4


def test_another_reason_is_another_event() -> None:
    queue = EventQueue()
    queue.put(event("uid-1"), at(0))
    assert queue.put(event("uid-1", reason="Scheduled"), at(0)) is Enqueued.ADDED


def test_beyond_the_limit_is_refused_but_folding_goes_on() -> None:
    queue = EventQueue(limit=2)
    queue.put(event("uid-1"), at(0))
    queue.put(event("uid-2"), at(0))
    assert queue.put(event("uid-3"), at(0)) is Enqueued.REFUSED
    assert queue.put(event("uid-2"), at(0)) is Enqueued.FOLDED
    assert len(queue) == 2


def test_age_of_nothing() -> None:
    assert EventQueue().oldest_age_seconds(at(5)) == 0
