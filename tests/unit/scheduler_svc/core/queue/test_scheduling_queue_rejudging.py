"""Pods in the queue whose profile changes, and the hints of that profile."""

from collections.abc import Mapping, Sequence

from scheduler_svc.core.framework.cluster_events import (
    ASSIGNED_POD_DELETE,
    EventRegistration,
)
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import Gate, Place, SchedulingQueue
from tests.builders import SCHEDULER, at, make_pod_info

POD_GONE = [EventRegistration(ASSIGNED_POD_DELETE)]


class Gates:
    """Holds back the Pods in `names`."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __call__(self, pod: PodInfo) -> Gate | None:
        return Gate("G") if pod.name in self.names else None


def queue_with(
    gates: Gates, registered: Mapping[str, Sequence[EventRegistration]]
) -> SchedulingQueue:
    return SchedulingQueue(
        sort_key=lambda _, seconds: (seconds,),
        pre_enqueue=gates,
        registrations={SCHEDULER: registered},
    )


def rejected(queue: SchedulingQueue, name: str, *plugins: str, seconds: float = 0) -> None:
    """Have a Pod tried and rejected; without a plugin, fail."""
    queue.add(make_pod_info(name), at(seconds))
    queued = queue.pop(at(seconds))
    assert queued is not None
    assert queued.pod.name == name
    queue.put_back(queued, at(seconds), unschedulable_plugins=plugins)


def places(queue: SchedulingQueue, names: str) -> list[Place | None]:
    queue.validate()
    return [queue.place_of(f"uid-{name}") for name in names]


def test_wherever_pods_wait_they_are_tried_again_at_once() -> None:
    gates = Gates()
    queue = queue_with(gates, {"P": []})
    rejected(queue, "a", "P")
    rejected(queue, "b")
    gates.names = {"c"}
    queue.add(make_pod_info("c"), at(0))
    queue.add(make_pod_info("d"), at(0))
    before = [Place.UNSCHEDULABLE, Place.BACKOFF, Place.GATED, Place.ACTIVE]
    assert places(queue, "abcd") == before
    gates.names = set()
    queue.rejudge(["uid-a", "uid-b", "uid-c", "uid-d", "uid-unheard-of"], at(0))
    assert places(queue, "abcd") == [Place.ACTIVE] * 4
    assert dict(queue.statistics().rejected_counts).get((SCHEDULER, "P"), 0) == 0
    assert queue.drain_incoming()["active", "SchedulerProfileChange"] == 4
    popped = queue.pop(at(0))
    assert popped is not None
    assert (popped.pod.name, popped.attempts) == ("a", 2)


def test_whoever_holds_pods_back_now_holds_back_those_that_were_active() -> None:
    gates = Gates()
    queue = queue_with(gates, {"P": []})
    queue.add(make_pod_info("a"), at(0))
    rejected(queue, "b", "P", seconds=-1)
    gates.names = {"a", "b"}
    queue.rejudge(["uid-a", "uid-b"], at(0))
    assert places(queue, "ab") == [Place.GATED, Place.GATED]
    counts = queue.statistics().rejected_counts
    assert counts[SCHEDULER, "G"] == 2
    assert counts.get((SCHEDULER, "P"), 0) == 0


def test_a_pod_in_flight_waits_for_no_event_when_it_comes_back() -> None:
    queue = queue_with(Gates(), {"P": []})
    queue.add(make_pod_info("a"), at(0))
    queued = queue.pop(at(0))
    assert queued is not None
    queue.rejudge(["uid-a"], at(0))
    assert queue.put_back(queued, at(0), unschedulable_plugins=["P"]) is Place.BACKOFF
    queue.validate()


def test_events_call_by_the_registrations_of_the_profile_as_it_is_now() -> None:
    queue = queue_with(Gates(), {"P": []})
    rejected(queue, "a", "P")
    assert queue.move_on_event(ASSIGNED_POD_DELETE, None, None, at(0)) == 0
    queue.hints.register(SCHEDULER, {"P": POD_GONE})
    assert queue.move_on_event(ASSIGNED_POD_DELETE, None, None, at(0)) == 1
    assert queue.pop(at(20)) is not None
    rejected(queue, "b", "P", seconds=20)
    queue.hints.unregister(SCHEDULER)
    queue.hints.unregister("unheard-of")
    assert queue.move_on_event(ASSIGNED_POD_DELETE, None, None, at(20)) == 0
