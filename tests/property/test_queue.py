"""The scheduling queue under any sequence of events, attempts and delays."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scheduler_svc.core.clock import Now
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    Place,
    QueuedPodInfo,
    QueueingHint,
)
from tests.unit.scheduler_svc.core.queue.builders import at, make_pod, make_queue, registration

NODE, POD = EventResource.NODE, EventResource.POD
NODE_ADD = ClusterEvent(NODE, ActionType.ADD)
NODE_LABEL = ClusterEvent(NODE, ActionType.UPDATE_NODE_LABEL)
POD_DELETE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
CLAIM_UPDATE = ClusterEvent(EventResource.RESOURCE_CLAIM, ActionType.UPDATE)
GATES_ELIMINATED = ClusterEvent(
    EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
)
EVENTS = [NODE_ADD, NODE_LABEL, POD_DELETE, CLAIM_UPDATE]


def only_even(pod: PodInfo, _old: Any, _new: Any) -> QueueingHint:
    return QueueingHint.QUEUE if int(pod.name) % 2 == 0 else QueueingHint.SKIP


REGISTRATIONS = {
    "SchedulingGates": [registration(POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)],
    "Fit": [registration(NODE, ActionType.ADD), registration(POD, ActionType.DELETE)],
    "Affinity": [EventRegistration(ClusterEvent(NODE, ActionType.UPDATE), only_even)],
    "Claims": [registration(EventResource.RESOURCE_CLAIM, ActionType.ALL)],
    "NodeName": [],
}
REJECTORS = st.frozensets(st.sampled_from(["Fit", "Affinity", "NodeName"]), max_size=3)
PENDING = st.sampled_from([frozenset[str](), frozenset({"Claims"})])


def backoff_seconds(count: int) -> int:
    return [0, 1, 2, 4, 8, 10][min(count, 5)]


class QueueMachine(RuleBasedStateMachine):
    """Drives the queue beside what is known of each Pod from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = make_queue(REGISTRATIONS)
        self.seconds = 0.0
        self.created = 0
        self.pods: dict[str, PodInfo] = {}
        self.attempts: list[QueuedPodInfo] = []
        self.deleted_in_flight: set[str] = set()
        # Not before this may a Pod be in active, unless it was called back at once.
        self.earliest_seconds: dict[str, float] = {}

    @property
    def now(self) -> Now:
        return at(self.seconds)

    @rule(priority=st.integers(0, 3), is_gated=st.booleans())
    def add(self, priority: int, is_gated: bool) -> None:
        name = str(self.created)
        self.created += 1
        pod = make_pod(name, priority=priority, gates=["g"] if is_gated else [])
        self.pods[pod.uid] = pod
        self.queue.add(pod, self.now)

    @rule(data=st.data(), lifts_gates=st.booleans())
    @precondition(lambda self: self.pods)
    def update(self, data: st.DataObject, lifts_gates: bool) -> None:
        old = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        gates = () if lifts_gates else old.scheduling_gates
        version = int(old.resource_version) + 1
        new = make_pod(old.name, priority=old.priority, version=version, gates=gates)
        eliminated = bool(old.scheduling_gates) and not new.scheduling_gates
        event = GATES_ELIMINATED if eliminated else NODE_LABEL
        self.pods[new.uid] = new
        self.queue.update(old, new, self.now, events=[event])

    @rule(data=st.data())
    @precondition(lambda self: self.pods)
    def delete(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.pods)))
        del self.pods[uid]
        if any(queued.pod.uid == uid for queued in self.attempts):
            self.deleted_in_flight.add(uid)
        self.queue.delete(uid)

    @rule()
    def pop(self) -> None:
        self.queue.flush(self.now)
        waiting = [q for uid in self.pods if (q := self.queue.get(uid)) is not None]
        active = [q for q in waiting if self.queue.place_of(q.pod.uid) is Place.ACTIVE]
        queued = self.queue.pop(self.now)
        if queued is None:
            assert not active
            return
        assert not self.pods[queued.pod.uid].scheduling_gates
        assert queued.pod is self.pods[queued.pod.uid]
        if active:
            order = [(-q.pod.priority, q.timestamp_seconds, q.sequence) for q in active]
            assert queued.sequence == min(order)[2]
        else:
            assert queued.rejectors
        self.attempts.append(queued)

    @rule(data=st.data(), plugins=REJECTORS, pending=PENDING, is_error=st.booleans())
    @precondition(lambda self: self.attempts)
    def put_back(
        self, data: st.DataObject, plugins: frozenset[str], pending: frozenset[str], is_error: bool
    ) -> None:
        queued = self.attempts.pop(data.draw(st.integers(0, len(self.attempts) - 1)))
        uid = queued.pod.uid
        place = self.queue.put_back(
            queued,
            self.now,
            unschedulable_plugins=plugins,
            pending_plugins=pending,
            is_error=is_error,
        )
        if uid in self.deleted_in_flight:
            self.deleted_in_flight.remove(uid)
            assert place is None
            return
        assert place is self.queue.place_of(uid)
        if is_error or not (plugins or pending):
            assert place is Place.BACKOFF
            count = queued.consecutive_errors_count
        else:
            count = queued.unschedulable_count
        self.earliest_seconds[uid] = self.seconds + backoff_seconds(count)
        if place is Place.ACTIVE:
            assert pending
            del self.earliest_seconds[uid]

    @rule(data=st.data())
    @precondition(lambda self: self.attempts)
    def bind(self, data: st.DataObject) -> None:
        queued = self.attempts.pop(data.draw(st.integers(0, len(self.attempts) - 1)))
        uid = queued.pod.uid
        self.queue.done(uid)
        self.pods.pop(uid, None)
        self.deleted_in_flight.discard(uid)

    @rule(event=st.sampled_from(EVENTS))
    def event(self, event: ClusterEvent) -> None:
        if event == CLAIM_UPDATE:
            for uid in self.pods:
                queued = self.queue.get(uid)
                if queued is not None and queued.pending_plugins:
                    self.earliest_seconds.pop(uid, None)
        self.queue.move_on_event(event, None, None, self.now)

    @rule(data=st.data())
    @precondition(lambda self: self.pods)
    def activate(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.pods)))
        if self.queue.place_of(uid) is not Place.IN_FLIGHT:
            self.earliest_seconds.pop(uid, None)
        self.queue.activate([uid], self.now)

    @rule(seconds=st.floats(0.01, 20) | st.floats(100, 400))
    def wait(self, seconds: float) -> None:
        deadline = self.queue.next_deadline()
        self.seconds += seconds
        self.queue.drain_incoming()
        self.queue.flush(self.now)
        has_moved = bool(self.queue.drain_incoming())
        assert has_moved == (deadline is not None and deadline <= self.seconds)

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        self.queue.validate()
        assert all(self.queue.place_of(uid) is not None for uid in self.pods)
        statistics = self.queue.statistics()
        total = (
            statistics.active_count
            + statistics.backoff_count
            + statistics.unschedulable_count
            + statistics.gated_count
            + statistics.in_flight_count
        )
        assert total == len(self.pods) + len(self.deleted_in_flight)
        assert statistics.in_flight_count == len(self.attempts)

    @invariant()
    def gated_pods_are_gated(self) -> None:
        for uid, pod in self.pods.items():
            if pod.scheduling_gates:
                assert self.queue.place_of(uid) is Place.GATED

    @invariant()
    def backoff_is_never_shorter_than_its_formula(self) -> None:
        for uid, earliest in self.earliest_seconds.items():
            if self.queue.place_of(uid) is Place.ACTIVE:
                assert self.seconds >= earliest

    @invariant()
    def events_are_kept_only_for_pods_in_flight(self) -> None:
        if not self.attempts:
            assert sum(self.queue.statistics().in_flight_events.values()) == 0

    def teardown(self) -> None:
        """Whatever happened, every Pod that is not gated is tried again in the end."""
        for queued in self.attempts:
            self.queue.put_back(queued, self.now, unschedulable_plugins=["NodeName"])
        self.seconds += 400
        self.queue.flush(self.now)
        popped = set()
        while (queued_pod := self.queue.pop(self.now)) is not None:
            popped.add(queued_pod.pod.uid)
        assert popped == {uid for uid, pod in self.pods.items() if not pod.scheduling_gates}


TestQueue = QueueMachine.TestCase


@given(
    events=st.lists(st.sampled_from(EVENTS), max_size=6),
    plugins=REJECTORS,
    pending=PENDING,
    name=st.sampled_from(["1", "2"]),
)
def test_an_event_during_the_attempt_counts_as_one_after_it(
    events: list[ClusterEvent], plugins: frozenset[str], pending: frozenset[str], name: str
) -> None:
    places = []
    for is_missed in (True, False):
        queue = make_queue(REGISTRATIONS)
        queue.add(make_pod(name), at(0))
        queued = queue.pop(at(0))
        assert queued is not None
        rejectors: dict[str, Any] = {"unschedulable_plugins": plugins, "pending_plugins": pending}
        if not is_missed:
            queue.put_back(queued, at(0), **rejectors)
        for event in events:
            queue.move_on_event(event, None, None, at(0))
        if is_missed:
            queue.put_back(queued, at(0), **rejectors)
        places.append(queue.place_of(f"uid-{name}"))
    missed, seen = places
    assert (missed is Place.UNSCHEDULABLE) == (seen is Place.UNSCHEDULABLE)
    # A Pod that waits can be called only once; one in flight is shown all, and the best counts.
    if len(events) <= 1 or not pending:
        assert missed is seen
