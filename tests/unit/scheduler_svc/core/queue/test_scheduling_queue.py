from collections.abc import Iterable

import pytest

from scheduler_svc.core.errors import InvariantError
from scheduler_svc.core.framework.cluster_events import (
    ASSIGNED_POD_DELETE,
    EVERY_EVENT,
    FORCE_ACTIVATE,
    UNSCHEDULED_POD_UPDATE,
    EventRegistration,
)
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import (
    ActionType,
    ClusterEvent,
    EventResource,
    Gate,
    Place,
    QueuedPodInfo,
    QueueingHint,
    QueueStatistics,
    SchedulingQueue,
)
from tests.unit.scheduler_svc.core.queue.builders import (
    PROFILE,
    at,
    make_pod,
    make_queue,
    registration,
)

POD, NODE = EventResource.POD, EventResource.NODE
NODE_ADD = ClusterEvent(NODE, ActionType.ADD)
GATES_ELIMINATED = ClusterEvent(
    EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
)
REGISTRATIONS = {
    "Fit": [registration(NODE, ActionType.ADD)],
    "Ports": [registration(POD, ActionType.DELETE, QueueingHint.SKIP)],
    "Claims": [registration(EventResource.RESOURCE_CLAIM, ActionType.UPDATE)],
    "SchedulingGates": [registration(POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)],
}
CLAIM_UPDATE = ClusterEvent(EventResource.RESOURCE_CLAIM, ActionType.UPDATE)


def pop(queue: SchedulingQueue, seconds: float = 0) -> QueuedPodInfo:
    queued = queue.pop(at(seconds))
    assert queued is not None
    return queued


def popped_names(queue: SchedulingQueue, seconds: float) -> list[str]:
    names = []
    while (queued := queue.pop(at(seconds))) is not None:
        names.append(queued.pod.name)
    return names


def queue_with(
    *pods: PodInfo, rejected_by: Iterable[str] = (), seconds: float = 0
) -> SchedulingQueue:
    """Build a queue with Pods that were tried once at `seconds` and rejected by the plugins."""
    queue = make_queue(REGISTRATIONS)
    for pod in pods:
        queue.add(pod, at(seconds))
        queue.put_back(pop(queue, seconds), at(seconds), unschedulable_plugins=rejected_by)
    queue.drain_incoming()
    return queue


def test_pods_are_popped_by_priority_then_time_then_arrival() -> None:
    queue = make_queue()
    queue.add(make_pod("low", priority=-1), at(0))
    queue.add(make_pod("first"), at(1))
    queue.add(make_pod("second"), at(1))
    queue.add(make_pod("high", priority=1000), at(2))
    assert popped_names(queue, 3) == ["high", "first", "second", "low"]


def test_a_popped_pod_is_in_flight_until_it_is_done() -> None:
    queue = make_queue()
    queue.add(make_pod("a"), at(5))
    assert queue.place_of("uid-a") is Place.ACTIVE
    queued = pop(queue, 6)
    assert (queued.attempts, queued.timestamp_seconds) == (1, 5)
    assert queued.initial_attempt_timestamp_seconds == 5
    assert queue.place_of("uid-a") is Place.IN_FLIGHT
    assert queue.pop(at(6)) is None
    queue.done("uid-a")
    assert queue.place_of("uid-a") is None
    queue.validate()


def test_a_pod_added_twice_is_there_once_in_its_newest_version() -> None:
    queue = make_queue()
    queue.add(make_pod("a", version=1), at(0))
    newest = make_pod("a", version=2)
    queue.add(newest, at(1))
    assert pop(queue).pod is newest
    assert queue.pop(at(1)) is None


def test_gated_pods_are_never_popped_and_their_time_does_not_count() -> None:
    queue = make_queue(REGISTRATIONS)
    gated = make_pod("a", gates=["g"])
    queue.add(gated, at(0))
    assert queue.place_of("uid-a") is Place.GATED
    assert queue.pop(at(50)) is None
    lifted = make_pod("a", version=2)
    queue.update(gated, lifted, at(100), events=[GATES_ELIMINATED])
    queued = pop(queue, 100)
    assert queued.pod is lifted
    assert not queued.is_gated
    assert queued.initial_attempt_timestamp_seconds == 100
    assert queue.drain_incoming() == {
        ("unschedulable", "UnschedulablePodAdd"): 1,
        ("active", "UnschedulablePodUpdatePodSchedulingGatesEliminated"): 1,
    }


def test_a_gated_pod_is_asked_again_only_at_events_of_its_gating_plugin() -> None:
    asked: list[str] = []

    def count_asks(pod: PodInfo) -> Gate:
        asked.append(pod.name)
        return Gate("SchedulingGates")

    queue = make_queue(REGISTRATIONS, pre_enqueue=count_asks)
    pod = make_pod("a")
    queue.add(pod, at(0))
    assert queue.move_on_event(NODE_ADD, None, "node", at(1)) == 0
    assert queue.move_on_event(FORCE_ACTIVATE, None, None, at(1)) == 0
    assert asked == ["a"]
    queue.update(pod, make_pod("a", version=2), at(2), events=[GATES_ELIMINATED])
    assert asked == ["a", "a"]
    assert queue.place_of("uid-a") is Place.GATED
    queue.validate()


def test_a_rejected_pod_waits_for_an_event_that_its_rejector_registered() -> None:
    queue = queue_with(make_pod("a"), rejected_by=["Fit"])
    assert queue.place_of("uid-a") is Place.UNSCHEDULABLE
    assert queue.move_on_event(ASSIGNED_POD_DELETE, "pod", None, at(20)) == 0
    assert queue.move_on_event(CLAIM_UPDATE, "claim", "claim", at(20)) == 0
    assert queue.place_of("uid-a") is Place.UNSCHEDULABLE
    assert queue.move_on_event(NODE_ADD, None, "node", at(20)) == 1
    assert queue.place_of("uid-a") is Place.ACTIVE
    assert queue.drain_incoming() == {("active", "NodeAdd"): 1}


def test_a_hint_that_skips_keeps_the_pod_waiting() -> None:
    queue = queue_with(make_pod("a"), rejected_by=["Ports"])
    assert queue.move_on_event(ASSIGNED_POD_DELETE, "pod", None, at(20)) == 0
    assert queue.place_of("uid-a") is Place.UNSCHEDULABLE
    assert queue.hints.drain_results() == {("Ports", "AssignedPodDelete", "QueueSkip"): 1}


def test_a_pod_called_during_its_backoff_goes_to_backoff() -> None:
    queue = queue_with(make_pod("a"), rejected_by=["Fit"], seconds=10.5)
    assert queue.move_on_event(NODE_ADD, None, "node", at(11)) == 1
    assert queue.place_of("uid-a") is Place.BACKOFF
    assert queue.next_deadline() == 12
    queue.flush(at(11.9))
    assert queue.place_of("uid-a") is Place.BACKOFF
    queue.flush(at(12))
    assert queue.place_of("uid-a") is Place.ACTIVE
    assert queue.drain_incoming() == {("backoff", "NodeAdd"): 1, ("active", "BackoffComplete"): 1}


def test_a_pending_plugin_calls_a_pod_back_without_backoff() -> None:
    queue = make_queue(REGISTRATIONS)
    queue.add(make_pod("a"), at(0))
    queue.put_back(pop(queue), at(0), unschedulable_plugins=["Fit"], pending_plugins=["Claims"])
    assert queue.move_on_event(CLAIM_UPDATE, "claim", "claim", at(0)) == 1
    assert queue.place_of("uid-a") is Place.ACTIVE


def test_an_event_may_be_restricted_to_some_of_the_pods() -> None:
    queue = queue_with(
        make_pod("low", priority=1), make_pod("high", priority=9), rejected_by=["Fit"]
    )
    moved = queue.move_on_event(NODE_ADD, None, None, at(20), eligible=lambda p: p.priority <= 5)
    assert moved == 1
    assert queue.place_of("uid-low") is Place.ACTIVE
    assert queue.place_of("uid-high") is Place.UNSCHEDULABLE


def test_a_wildcard_event_calls_every_pod() -> None:
    queue = queue_with(make_pod("a"), make_pod("b"), rejected_by=["Ports"])
    assert queue.move_on_event(FORCE_ACTIVATE, None, None, at(20)) == 2


def test_an_event_visits_only_pods_that_its_registrants_rejected() -> None:
    asked: list[str] = []

    def hint(pod: PodInfo, _old: object, _new: object) -> QueueingHint:
        asked.append(pod.name)
        return QueueingHint.SKIP

    queue = make_queue(
        {"Fit": [EventRegistration(NODE_ADD, hint)], "Other": [EventRegistration(NODE_ADD, hint)]}
    )
    for number in range(50):
        queue.add(make_pod(f"pod-{number}"), at(0))
        rejector = "Other" if number == 7 else "Fit"
        queue.put_back(pop(queue), at(0), unschedulable_plugins=[rejector, "Volumes"])
    queue.move_on_event(NODE_ADD, None, None, at(9))
    assert len(asked) == 50
    asked.clear()
    queue.move_on_event(ClusterEvent(NODE, ActionType.DELETE), None, None, at(9))
    assert asked == []


@pytest.mark.parametrize("is_error", [True, False])
def test_a_failed_pod_without_rejectors_is_tried_again_after_its_backoff(is_error: bool) -> None:
    queue = make_queue(REGISTRATIONS)
    queue.add(make_pod("a"), at(0))
    rejectors = ["Fit"] if is_error else []
    durations = []
    seconds = 0.0
    for _ in range(6):
        queued = pop(queue, seconds)
        place = queue.put_back(
            queued, at(seconds), unschedulable_plugins=rejectors, is_error=is_error
        )
        assert place is Place.BACKOFF
        assert queue.pop(at(seconds)) is None  # errors are never popped early
        deadline = queue.next_deadline()
        assert deadline is not None
        durations.append(deadline - seconds)
        seconds = deadline
    # 1, 2, 4, 8, 10, 10 seconds, and the rest of the second of the expiration.
    assert durations == [2, 3, 5, 9, 11, 11]
    queued = pop(queue, seconds)
    assert (queued.attempts, queued.consecutive_errors_count) == (7, 6)
    assert queued.rejectors == frozenset()


def test_a_rejection_ends_a_row_of_errors() -> None:
    queue = make_queue(REGISTRATIONS)
    queue.add(make_pod("a"), at(0))
    queue.put_back(pop(queue), at(0), is_error=True)
    queue.put_back(pop(queue, 10), at(10), unschedulable_plugins=["Fit"])
    queued = queue.get("uid-a")
    assert queued is not None
    assert (queued.unschedulable_count, queued.consecutive_errors_count) == (1, 0)
    assert queued.timestamp_seconds == 10
    assert queued.backoff_expiration_seconds == 11


def test_rejected_pods_in_backoff_are_tried_when_nothing_else_is_to_be_done() -> None:
    queue = queue_with(make_pod("a"), make_pod("b", priority=3), rejected_by=["Fit"])
    queue.move_on_event(NODE_ADD, None, "node", at(0))
    queue.add(make_pod("c"), at(0))
    assert popped_names(queue, 0) == ["c", "b", "a"]
    assert queue.drain_incoming()["active", "PopFromBackoffQ"] == 2


def test_completed_backoff_goes_before_lower_priority_without_a_flush() -> None:
    queue = queue_with(make_pod("urgent", priority=9), rejected_by=["Fit"])
    queue.move_on_event(NODE_ADD, None, "node", at(0))
    queue.add(make_pod("low"), at(1))
    assert popped_names(queue, 2) == ["urgent", "low"]


def test_repeatedly_failing_pods_go_behind_their_equals() -> None:
    queue = make_queue(REGISTRATIONS, max_backoff_seconds=0)
    queue.add(make_pod("fails"), at(0))
    queue.add(make_pod("next"), at(0))
    queued = pop(queue)
    assert queued.pod.name == "fails"
    assert queue.put_back(queued, at(0), is_error=True) is Place.ACTIVE
    assert popped_names(queue, 0) == ["next", "fails"]


def test_an_event_during_an_attempt_is_not_missed() -> None:
    queue = make_queue(REGISTRATIONS)
    for name in ("early", "late"):
        queue.add(make_pod(name), at(0))
    early = pop(queue)
    queue.move_on_event(NODE_ADD, None, "node", at(0))
    late = pop(queue)
    assert queue.put_back(early, at(0), unschedulable_plugins=["Fit"]) is Place.BACKOFF
    assert queue.put_back(late, at(0), unschedulable_plugins=["Fit"]) is Place.UNSCHEDULABLE
    assert queue.drain_incoming()["backoff", "ScheduleAttemptFailure"] == 1
    queue.validate()


def test_a_missed_event_of_a_pending_plugin_skips_the_backoff() -> None:
    queue = make_queue(REGISTRATIONS)
    queue.add(make_pod("a"), at(0))
    queued = pop(queue)
    queue.move_on_event(CLAIM_UPDATE, "claim", "claim", at(0))
    assert queue.put_back(queued, at(0), pending_plugins=["Claims"]) is Place.ACTIVE


def test_in_flight_events_are_counted_until_nobody_needs_them() -> None:
    queue = make_queue(REGISTRATIONS)
    queue.move_on_event(NODE_ADD, None, "node", at(0))
    queue.add(make_pod("a"), at(0))
    pop(queue)
    queue.move_on_event(NODE_ADD, None, "node", at(0))
    queue.move_on_event(ClusterEvent(NODE, ActionType.DELETE), "node", None, at(0))
    statistics = queue.statistics()
    assert (statistics.in_flight_count, statistics.in_flight_events) == (1, {"NodeAdd": 1})
    queue.done("uid-a")
    assert queue.statistics().in_flight_events == {"NodeAdd": 0}


def test_a_pod_comes_back_in_its_newest_version_and_to_its_own_updates() -> None:
    queue = make_queue(REGISTRATIONS)
    old, new = make_pod("a", version=1), make_pod("a", version=2)
    other = make_pod("b")
    queue.add(old, at(0))
    queue.add(other, at(0))
    queued, queued_other = pop(queue), pop(queue)
    queue.update(old, new, at(1), events=[GATES_ELIMINATED])
    assert queued.pod is old
    rejected_by = ["SchedulingGates"]
    assert queue.put_back(queued, at(1), unschedulable_plugins=rejected_by) is Place.BACKOFF
    assert queued.pod is new
    # The update of the one says nothing about the other.
    place = queue.put_back(queued_other, at(1), unschedulable_plugins=rejected_by)
    assert place is Place.UNSCHEDULABLE


def test_a_pod_deleted_during_its_attempt_does_not_come_back() -> None:
    queue = make_queue(REGISTRATIONS)
    queue.add(make_pod("a"), at(0))
    queued = pop(queue)
    queue.delete("uid-a")
    assert queue.place_of("uid-a") is Place.IN_FLIGHT
    assert queue.put_back(queued, at(1), is_error=True) is None
    assert queue.place_of("uid-a") is None
    queue.validate()


def test_a_pod_that_fails_to_bind_after_done_is_tried_again_after_its_backoff() -> None:
    queue = make_queue(REGISTRATIONS)
    queue.add(make_pod("a"), at(0))
    queued = pop(queue)
    queue.done("uid-a")
    assert queue.put_back(queued, at(3), unschedulable_plugins=["Fit"]) is Place.BACKOFF


@pytest.mark.parametrize("is_done", [True, False])
def test_a_pod_comes_back_in_the_version_that_the_caller_gives(is_done: bool) -> None:
    queue = make_queue(REGISTRATIONS)
    queue.add(make_pod("a", version=1), at(0))
    queued = pop(queue)
    if is_done:
        queue.done("uid-a")
    newest = make_pod("a", version=2)
    queue.put_back(queued, at(3), is_error=True, newest=newest)
    waiting = queue.get("uid-a")
    assert waiting is queued
    assert queued.pod is newest


def test_a_pod_that_is_waiting_already_is_not_put_back_again() -> None:
    queue = make_queue(REGISTRATIONS)
    queue.add(make_pod("a"), at(0))
    queued = pop(queue)
    queue.done("uid-a")
    queue.add(make_pod("a", version=2), at(1))
    assert queue.put_back(queued, at(2), is_error=True) is Place.ACTIVE
    assert queued.consecutive_errors_count == 0
    queue.validate()


@pytest.mark.parametrize(
    ("events", "place"),
    [
        ([UNSCHEDULED_POD_UPDATE], Place.UNSCHEDULABLE),
        ([ClusterEvent("UnschedulablePod", ActionType.UPDATE_POD_LABEL)], Place.ACTIVE),
        (
            [UNSCHEDULED_POD_UPDATE, ClusterEvent("UnschedulablePod", ActionType.UPDATE_POD_LABEL)],
            Place.ACTIVE,
        ),
        (
            [
                ClusterEvent("UnschedulablePod", ActionType.UPDATE_POD_LABEL),
                ClusterEvent("UnschedulablePod", ActionType.UPDATE_POD_TOLERATION),
            ],
            Place.ACTIVE,
        ),
        ([], Place.UNSCHEDULABLE),
    ],
)
def test_a_waiting_pods_own_update_may_call_it(events: list[ClusterEvent], place: Place) -> None:
    queue = make_queue({"Spread": [registration(POD, ActionType.UPDATE_POD_LABEL)]})
    old, new = make_pod("a", version=1), make_pod("a", version=2)
    queue.add(old, at(0))
    queue.put_back(pop(queue), at(0), unschedulable_plugins=["Spread"])
    queue.update(old, new, at(20), events=events)
    assert queue.place_of("uid-a") is place
    queued = queue.get("uid-a")
    assert queued is not None
    assert queued.pod is new
    queue.validate()


def test_an_update_in_active_or_backoff_replaces_the_pod_in_place() -> None:
    queue = queue_with(make_pod("waits"), rejected_by=["Fit"])
    queue.move_on_event(NODE_ADD, None, "node", at(0))
    queue.add(make_pod("ready"), at(0))
    for name, place in (("ready", Place.ACTIVE), ("waits", Place.BACKOFF)):
        newest = make_pod(name, version=2)
        queue.update(make_pod(name), newest, at(1), events=[UNSCHEDULED_POD_UPDATE])
        assert queue.place_of(newest.uid) is place
        queued = queue.get(newest.uid)
        assert queued is not None
        assert queued.pod is newest


def test_an_update_without_a_new_resource_version_is_ignored() -> None:
    queue = make_queue()
    pod = make_pod("a")
    queue.update(pod, make_pod("a"), at(0), events=[UNSCHEDULED_POD_UPDATE])
    assert queue.place_of("uid-a") is None


def test_an_update_of_an_unknown_pod_takes_it_in() -> None:
    queue = make_queue()
    queue.update(make_pod("a"), make_pod("a", version=2), at(4), events=[UNSCHEDULED_POD_UPDATE])
    queued = queue.get("uid-a")
    assert queued is not None
    assert queued.timestamp_seconds == 4
    assert queue.drain_incoming() == {("active", "UnschedulablePodUpdate"): 1}


@pytest.mark.parametrize("rejected_by", [["Fit"], []])
def test_a_deleted_pod_is_gone(rejected_by: list[str]) -> None:
    queue = queue_with(make_pod("a"), rejected_by=rejected_by)
    queue.delete("uid-a")
    queue.delete("uid-a")
    assert queue.place_of("uid-a") is None
    assert popped_names(queue, 1000) == []
    assert set(queue.statistics().rejected_counts.values()) <= {0}
    queue.validate()


def test_activate_moves_pods_at_once() -> None:
    queue = queue_with(make_pod("pool"), make_pod("backoff"), rejected_by=["Fit"])
    queue.move_on_event(NODE_ADD, None, None, at(0), eligible=lambda pod: pod.name == "backoff")
    queue.drain_incoming()
    queue.activate(["uid-pool", "uid-backoff", "uid-unknown"], at(0))
    assert queue.place_of("uid-pool") is Place.ACTIVE
    assert queue.place_of("uid-backoff") is Place.ACTIVE
    assert queue.drain_incoming() == {("active", "ForceActivate"): 2}


def test_activate_asks_gated_pods_again() -> None:
    queue = make_queue(REGISTRATIONS)
    queue.add(make_pod("a", gates=["g"]), at(0))
    queue.activate(["uid-a"], at(1))
    assert queue.place_of("uid-a") is Place.GATED


def test_a_pod_activated_in_flight_does_not_wait_for_an_event() -> None:
    queue = make_queue(REGISTRATIONS)
    for name in ("a", "b"):
        queue.add(make_pod(name), at(0))
    first, second = pop(queue), pop(queue)
    queue.activate(["uid-a"], at(0))
    assert queue.put_back(first, at(0), unschedulable_plugins=["Fit"]) is Place.BACKOFF
    assert queue.put_back(second, at(0), unschedulable_plugins=["Fit"]) is Place.UNSCHEDULABLE


def test_after_five_minutes_a_pod_is_tried_again_and_marked() -> None:
    queue = queue_with(make_pod("a"), rejected_by=["Fit"], seconds=15)
    assert queue.next_deadline() == 330
    queue.flush(at(329))
    assert queue.place_of("uid-a") is Place.UNSCHEDULABLE
    queue.flush(at(330))
    assert queue.drain_incoming() == {("active", "UnschedulableTimeout"): 1}
    queued = pop(queue, 330)
    assert queued.flushed
    queue.put_back(queued, at(331), unschedulable_plugins=["Fit"])
    assert not queued.flushed


def test_after_five_minutes_gated_pods_are_asked_again() -> None:
    gates = {"a", "b"}

    def gate_some(pod: PodInfo) -> Gate | None:
        return Gate("SchedulingGates") if pod.name in gates else None

    queue = make_queue(REGISTRATIONS, pre_enqueue=gate_some)
    for name in ("a", "b"):
        queue.add(make_pod(name), at(0))
    gates.remove("b")
    queue.flush(at(330))
    assert queue.place_of("uid-a") is Place.GATED
    assert queue.place_of("uid-b") is Place.ACTIVE
    queued = queue.get("uid-a")
    assert queued is not None
    assert not queued.flushed
    assert queue.next_deadline() == 660


def test_a_pod_rejected_by_an_unregistered_plugin_wants_every_event() -> None:
    queue = queue_with(make_pod("a"), rejected_by=["Extender"])
    assert queue.move_on_event(ClusterEvent(NODE, ActionType.DELETE), "node", None, at(20)) == 1


def test_a_gating_plugin_may_register_every_event() -> None:
    open_gate = False

    def gate(_pod: PodInfo) -> Gate | None:
        return None if open_gate else Gate("Gang")

    queue = make_queue({"Gang": [EventRegistration(EVERY_EVENT)]}, pre_enqueue=gate)
    queue.add(make_pod("a"), at(0))
    assert queue.move_on_event(NODE_ADD, None, "node", at(1)) == 0
    open_gate = True
    assert queue.move_on_event(FORCE_ACTIVATE, None, None, at(2)) == 1
    assert queue.place_of("uid-a") is Place.ACTIVE


def test_statistics_count_every_pod_once() -> None:
    queue = queue_with(make_pod("pool"), make_pod("backoff"), rejected_by=["Fit"])
    queue.move_on_event(NODE_ADD, None, None, at(0), eligible=lambda pod: pod.name == "backoff")
    queue.add(make_pod("flying", priority=5), at(0))
    queue.add(make_pod("active"), at(0))
    queue.add(make_pod("gated", gates=["g"]), at(0))
    pop(queue)
    assert queue.statistics() == QueueStatistics(
        active_count=1,
        backoff_count=1,
        unschedulable_count=1,
        gated_count=1,
        in_flight_count=1,
        in_flight_events={},
        rejected_counts={(PROFILE, "Fit"): 2, (PROFILE, "SchedulingGates"): 1},
    )
    queue.validate()


def test_a_pod_in_two_places_is_a_fault() -> None:
    queue = make_queue()
    queue.add(make_pod("a"), at(0))
    queue._in_flight.start(make_pod("a"))
    with pytest.raises(InvariantError, match="default/a is in two places"):
        queue.validate()


def test_a_fault_of_the_log_is_raised() -> None:
    queue = make_queue(REGISTRATIONS)
    queue.add(make_pod("a"), at(0))
    pop(queue)
    queue.move_on_event(NODE_ADD, None, "node", at(0))
    queue._in_flight._counts.clear()
    with pytest.raises(InvariantError, match="1 events are logged"):
        queue.validate()
