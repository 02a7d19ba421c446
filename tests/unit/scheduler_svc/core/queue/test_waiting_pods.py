import pytest

from scheduler_svc.core.errors import InvariantError
from scheduler_svc.core.queue.active_queue import ActiveQueue
from scheduler_svc.core.queue.backoff_queue import BackoffQueue
from scheduler_svc.core.queue.hints import QueueingHints, QueueingStrategy
from scheduler_svc.core.queue.queued_pod import Place, QueuedPodInfo
from scheduler_svc.core.queue.unschedulable_pods import UnschedulablePods
from scheduler_svc.core.queue.waiting_pods import WaitingPods
from tests.unit.scheduler_svc.core.queue.builders import (
    PROFILE,
    make_pod,
    priority_sort,
    queued_pod,
    scheduling_gates,
)

AFTER_BACKOFF, IMMEDIATELY = QueueingStrategy.AFTER_BACKOFF, QueueingStrategy.IMMEDIATELY


def make_waiting() -> WaitingPods:
    return WaitingPods(
        ActiveQueue(priority_sort),
        BackoffQueue(priority_sort, initial_seconds=1, max_seconds=10),
        UnschedulablePods(max_seconds=300),
        pre_enqueue=scheduling_gates,
        hints=QueueingHints({PROFILE: {}}),
    )


def backing_off(waiting: WaitingPods, name: str = "a") -> QueuedPodInfo:
    queued = queued_pod(name, unschedulable_count=1)
    queued.backoff_expiration_seconds = waiting.backoff.expiration_seconds(queued)
    waiting.set_rejectors(queued, unschedulable_plugins=["Fit"])
    return queued


@pytest.mark.parametrize(
    ("strategy", "now_seconds", "place"),
    [
        (QueueingStrategy.SKIP, 0.0, Place.UNSCHEDULABLE),
        (AFTER_BACKOFF, 1.9, Place.BACKOFF),
        (AFTER_BACKOFF, 2.0, Place.ACTIVE),
        (IMMEDIATELY, 0.0, Place.ACTIVE),
    ],
)
def test_requeue_puts_a_pod_where_the_strategy_says(
    strategy: QueueingStrategy, now_seconds: float, place: Place
) -> None:
    waiting = make_waiting()
    queued = backing_off(waiting)
    assert waiting.requeue(queued, strategy, "NodeAdd", now_seconds) is place
    assert waiting.place_of("uid-a") is place
    assert waiting.get("uid-a") is queued
    assert waiting.drain_incoming() == {(place, "NodeAdd"): 1}
    assert waiting.drain_incoming() == {}
    waiting.validate()


@pytest.mark.parametrize("strategy", [AFTER_BACKOFF, IMMEDIATELY])
def test_requeue_gates_a_pod_that_pre_enqueue_refuses(strategy: QueueingStrategy) -> None:
    waiting = make_waiting()
    queued = backing_off(waiting)
    queued.pod = make_pod("a", gates=["wait"])
    assert waiting.requeue(queued, strategy, "NodeAdd", 0) is Place.GATED
    assert waiting.place_of("uid-a") is Place.GATED
    assert queued.gating_plugin == "SchedulingGates"
    assert queued.unschedulable_plugins == {"Fit", "SchedulingGates"}
    assert waiting.rejected == {(PROFILE, "Fit"): 1, (PROFILE, "SchedulingGates"): 1}
    assert waiting.drain_incoming() == {("unschedulable", "NodeAdd"): 1}
    waiting.validate()


def test_an_unknown_pod_is_nowhere() -> None:
    waiting = make_waiting()
    waiting.remove("uid-a")
    assert waiting.place_of("uid-a") is None
    assert waiting.get("uid-a") is None
    assert not waiting.replace(make_pod("a"))
    assert not waiting.activate("uid-a", "ForceActivate", 0)
    assert waiting.pop() is None
    assert waiting.next_deadline() is None


@pytest.mark.parametrize("place", [Place.ACTIVE, Place.BACKOFF, Place.UNSCHEDULABLE])
def test_a_pod_is_replaced_and_removed_wherever_it_is(place: Place) -> None:
    waiting = make_waiting()
    queued = backing_off(waiting)
    strategy = {
        Place.ACTIVE: IMMEDIATELY,
        Place.BACKOFF: AFTER_BACKOFF,
        Place.UNSCHEDULABLE: QueueingStrategy.SKIP,
    }[place]
    waiting.requeue(queued, strategy, "NodeAdd", 0)
    newest = make_pod("a", version=2)
    assert waiting.replace(newest)
    assert queued.pod is newest
    assert waiting.place_of("uid-a") is place
    waiting.validate()
    waiting.remove("uid-a")
    assert waiting.place_of("uid-a") is None
    assert waiting.rejected == {(PROFILE, "Fit"): 0}
    waiting.validate()


def test_a_fault_of_the_pool_is_raised() -> None:
    waiting = make_waiting()
    waiting.requeue(backing_off(waiting), QueueingStrategy.SKIP, "NodeAdd", 0)
    waiting.pool.gated_count = 1
    with pytest.raises(InvariantError, match="gated_count is 1"):
        waiting.validate()


def test_a_gated_pod_in_active_is_a_fault() -> None:
    waiting = make_waiting()
    queued = queued_pod("a")
    waiting.requeue(queued, IMMEDIATELY, "NodeAdd", 0)
    queued.gating_plugin = "SchedulingGates"
    with pytest.raises(InvariantError, match="default/a is gated, yet may be popped"):
        waiting.validate()


def test_a_changed_backoff_is_a_fault() -> None:
    waiting = make_waiting()
    queued = backing_off(waiting)
    waiting.requeue(queued, AFTER_BACKOFF, "NodeAdd", 0)
    queued.unschedulable_count = 2
    with pytest.raises(InvariantError, match="the backoff of default/a is not what it should be"):
        waiting.validate()


def test_a_wrong_count_of_rejected_pods_is_a_fault() -> None:
    waiting = make_waiting()
    waiting.rejected[PROFILE, "Fit"] += 1
    with pytest.raises(InvariantError, match="are counted as rejected"):
        waiting.validate()
