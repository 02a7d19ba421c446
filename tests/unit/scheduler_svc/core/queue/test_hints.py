from typing import Any

import pytest

from scheduler_svc.core.framework.cluster_events import (
    ASSIGNED_POD_DELETE,
    EVERY_EVENT,
    UNSCHEDULABLE_TIMEOUT,
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    Occurrence,
    QueueingHint,
)
from scheduler_svc.core.framework.stopwatch import PointStopwatch
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue.hints import (
    HintError,
    QueueingHints,
    QueueingStrategy,
)
from scheduler_svc.core.queue.queued_pod import QueuedPodInfo
from tests.unit.scheduler_svc.core.queue.builders import PROFILE, queued_pod, registration

NODE = EventResource.NODE
NODE_ADD = ClusterEvent(NODE, ActionType.ADD)
NODE_TAINT = ClusterEvent(NODE, ActionType.UPDATE_NODE_TAINT)
QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP


def make_hints(**registrations: list[EventRegistration]) -> QueueingHints:
    return QueueingHints({PROFILE: registrations})


def rejected(*plugins: str, pending: tuple[str, ...] = ()) -> QueuedPodInfo:
    return queued_pod(unschedulable_plugins=frozenset(plugins), pending_plugins=frozenset(pending))


def node_add(answer: QueueingHint | None = None) -> list[EventRegistration]:
    return [registration(NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, answer)]


@pytest.mark.parametrize(
    ("queued", "strategy"),
    [
        (rejected("Skips"), QueueingStrategy.SKIP),
        (rejected("Queues"), QueueingStrategy.AFTER_BACKOFF),
        (rejected("HasNoHint"), QueueingStrategy.AFTER_BACKOFF),
        (rejected("WantsNothing"), QueueingStrategy.SKIP),
        (rejected("Skips", "Queues"), QueueingStrategy.AFTER_BACKOFF),
        (rejected(pending=("Queues",)), QueueingStrategy.IMMEDIATELY),
        (rejected(pending=("Skips",)), QueueingStrategy.SKIP),
        (rejected("Queues", pending=("Skips",)), QueueingStrategy.AFTER_BACKOFF),
        (rejected("Skips", pending=("Queues",)), QueueingStrategy.IMMEDIATELY),
        (rejected("HasNoHint", "Queues", pending=("Last",)), QueueingStrategy.IMMEDIATELY),
        (rejected(), QueueingStrategy.AFTER_BACKOFF),
    ],
)
def test_strategy(queued: QueuedPodInfo, strategy: QueueingStrategy) -> None:
    hints = make_hints(
        Skips=node_add(SKIP),
        HasNoHint=node_add(),
        Queues=node_add(QUEUE),
        WantsNothing=[],
        Last=node_add(QUEUE),
    )
    assert hints.strategy(queued, Occurrence(NODE_ADD)) is strategy


def test_a_wildcard_bypasses_the_hints() -> None:
    hints = make_hints(Skips=[EventRegistration(EVERY_EVENT, lambda _p, _o, _n: SKIP)])
    occurrence = Occurrence(UNSCHEDULABLE_TIMEOUT)
    assert hints.strategy(rejected("Skips"), occurrence) is QueueingStrategy.AFTER_BACKOFF
    assert hints.drain_results() == {}


def test_a_hint_is_told_the_pod_and_the_objects() -> None:
    told: list[tuple[PodInfo, Any, Any]] = []

    def hint(pod: PodInfo, old: Any, new: Any) -> QueueingHint:
        told.append((pod, old, new))
        return SKIP

    hints = make_hints(Asks=[EventRegistration(NODE_TAINT, hint)])
    queued = rejected("Asks")
    hints.strategy(queued, Occurrence(NODE_TAINT, "before", "after"))
    assert told == [(queued.pod, "before", "after")]


def test_only_the_rejectors_are_asked() -> None:
    hints = make_hints(Other=node_add(QUEUE), Skips=node_add(SKIP))
    hints.strategy(rejected("Skips"), Occurrence(NODE_ADD))
    assert hints.drain_results() == {("Skips", "NodeAdd", "QueueSkip"): 1}


@pytest.mark.parametrize(
    ("answers", "concerned"),
    [((SKIP,), False), ((QUEUE,), True), ((SKIP, QUEUE), True), ((SKIP, SKIP), False)],
)
def test_hints_that_look_at_the_shape_alone_speak_for_all_pods_alike(
    answers: tuple[QueueingHint, ...], concerned: bool
) -> None:
    def by_shape(answer: QueueingHint) -> EventRegistration:
        return EventRegistration(NODE_TAINT, lambda _p, _o, _n: answer, is_by_shape=True)

    hints = make_hints(Fit=[by_shape(answer) for answer in answers])
    concerns = hints.concerns(Occurrence(NODE_TAINT), (PROFILE, "Fit"), rejected("Fit"))
    assert concerns is concerned


def test_where_one_hint_looks_closer_each_pod_is_to_be_asked() -> None:
    skips = EventRegistration(NODE_TAINT, lambda _p, _o, _n: SKIP, is_by_shape=True)
    hints = make_hints(Fit=[skips, *node_add(SKIP)])
    assert hints.concerns(Occurrence(NODE_TAINT), (PROFILE, "Fit"), rejected("Fit"))
    assert hints.drain_results() == {}


def test_a_hint_by_shape_that_raises_strands_nobody() -> None:
    def faulty(_pod: PodInfo, _old: Any, _new: Any) -> QueueingHint:
        raise ZeroDivisionError

    hints = make_hints(Faulty=[EventRegistration(NODE_TAINT, faulty, is_by_shape=True)])
    assert hints.concerns(Occurrence(NODE_TAINT), (PROFILE, "Faulty"), rejected("Faulty"))


def test_a_pod_of_an_unknown_profile_is_asked_about_by_nobody() -> None:
    hints = QueueingHints({})
    assert hints.strategy(rejected("Fit"), Occurrence(NODE_ADD)) is QueueingStrategy.SKIP


def test_a_hint_that_raises_counts_as_queue_and_is_reported() -> None:
    def faulty(_pod: PodInfo, _old: Any, _new: Any) -> QueueingHint:
        raise ZeroDivisionError("division by zero")

    hints = make_hints(Faulty=[EventRegistration(NODE_TAINT, faulty)])
    for _ in range(120):
        strategy = hints.strategy(rejected("Faulty"), Occurrence(NODE_TAINT))
        assert strategy is QueueingStrategy.AFTER_BACKOFF
    assert hints.drain_results() == {("Faulty", "NodeUpdateNodeTaint", "Error"): 120}
    error = HintError(
        "Faulty", "NodeUpdateNodeTaint", "default/a", "ZeroDivisionError('division by zero')"
    )
    assert hints.drain_errors() == [error] * 100
    assert hints.drain_errors() == []


class Measured:
    """A clock that is half a second later whenever it is read."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.notes: list[tuple[str, str, str, float]] = []

    def begin(self, profile: str) -> PointStopwatch:
        raise AssertionError(profile)

    def read(self) -> float:
        self.seconds += 0.5
        return self.seconds

    def note_hint(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        self.notes.append((plugin, event, hint, seconds))


def test_hints_are_timed_if_somebody_wants_to_know() -> None:
    measured = Measured()
    registrations = {PROFILE: {"Queues": node_add(QUEUE), "Skips": node_add(SKIP)}}
    hints = QueueingHints(registrations, measuring=measured)
    for plugin in ("Queues", "Skips"):
        hints.strategy(rejected(plugin), Occurrence(NODE_ADD))
    assert measured.notes == [
        ("Queues", "NodeAdd", "Queue", 0.5),
        ("Skips", "NodeAdd", "QueueSkip", 0.5),
    ]


def test_results_are_counted_by_upstreams_words_and_drained() -> None:
    hints = make_hints(Queues=node_add(QUEUE), Skips=node_add(SKIP))
    for plugin in ("Queues", "Skips", "Skips"):
        hints.strategy(rejected(plugin), Occurrence(NODE_ADD))
    assert hints.drain_results() == {
        ("Queues", "NodeAdd", "Queue"): 1,
        ("Skips", "NodeAdd", "QueueSkip"): 2,
    }
    assert hints.drain_results() == {}


def test_interest_names_each_registrant_once() -> None:
    hints = make_hints(
        Fit=[registration(NODE, ActionType.ALL), registration(NODE, ActionType.ADD)],
        Ports=[registration(EventResource.POD, ActionType.DELETE)],
    )
    assert hints.interest(NODE_ADD).keys == ((PROFILE, "Fit"),)
    assert len(hints.interest(NODE_ADD).hints[PROFILE]) == 2
    assert hints.interest(ASSIGNED_POD_DELETE).keys == ((PROFILE, "Ports"),)
    assert hints.interest(ClusterEvent(EventResource.CSI_NODE, ActionType.ADD)).keys == ()


@pytest.mark.parametrize(
    ("action", "wants_taint_update"),
    [
        (ActionType.ADD, True),
        (ActionType.ADD | ActionType.UPDATE_NODE_LABEL, True),
        (ActionType.UPDATE_NODE_LABEL, False),
    ],
)
def test_who_waits_for_new_nodes_also_sees_them_untainted(
    action: ActionType, wants_taint_update: bool
) -> None:
    hints = make_hints(Fit=[registration(NODE, action, SKIP)])
    expected = QueueingStrategy.AFTER_BACKOFF if wants_taint_update else QueueingStrategy.SKIP
    assert hints.strategy(rejected("Fit"), Occurrence(NODE_TAINT)) is expected


def test_who_registered_taint_updates_is_asked_by_its_own_hint() -> None:
    hints = make_hints(Taints=node_add(SKIP))
    assert hints.strategy(rejected("Taints"), Occurrence(NODE_TAINT)) is QueueingStrategy.SKIP


def test_a_plugin_that_registered_nothing_wants_every_event() -> None:
    hints = make_hints(Fit=[])
    assert hints.interest(NODE_ADD).keys == ()
    queued = rejected("Extender", "Fit")
    hints.know_rejectors(queued)
    assert hints.interest(NODE_ADD).keys == ((PROFILE, "Extender"),)
    assert hints.strategy(queued, Occurrence(NODE_ADD)) is QueueingStrategy.AFTER_BACKOFF


def test_replay_gives_the_best_answer() -> None:
    hints = make_hints(
        Fit=[
            registration(NODE, ActionType.ADD, QUEUE),
            registration(NODE, ActionType.DELETE, SKIP),
        ],
        Claims=[registration(EventResource.RESOURCE_CLAIM, ActionType.ADD, QUEUE)],
    )
    add = Occurrence(NODE_ADD)
    delete = Occurrence(ClusterEvent(NODE, ActionType.DELETE))
    claim = Occurrence(ClusterEvent(EventResource.RESOURCE_CLAIM, ActionType.ADD))
    fit, both = rejected("Fit"), rejected("Fit", pending=("Claims",))
    assert hints.replay(fit, []) is QueueingStrategy.SKIP
    assert hints.replay(fit, [delete, delete]) is QueueingStrategy.SKIP
    assert hints.replay(fit, [delete, add, delete]) is QueueingStrategy.AFTER_BACKOFF
    assert hints.replay(both, [add, delete]) is QueueingStrategy.AFTER_BACKOFF
    assert hints.replay(both, [add, claim, delete]) is QueueingStrategy.IMMEDIATELY
    assert hints.replay(rejected(), []) is QueueingStrategy.AFTER_BACKOFF


def test_replay_ends_when_the_answer_cannot_get_better() -> None:
    hints = make_hints(Fit=node_add(QUEUE))
    hints.replay(rejected("Fit"), [Occurrence(NODE_ADD)] * 5)
    assert hints.drain_results() == {("Fit", "NodeAdd", "Queue"): 1}
