"""After a failed attempt: back to the queue, an event, and a condition if it is news."""

import pytest

from scheduler_svc.core.effects import (
    AttemptResult,
    EventType,
    PatchNomination,
    PatchPodCondition,
    PodReference,
    RecordEvent,
    ReportAttempt,
)
from scheduler_svc.core.failure import FailureHandler, Rejectors, event_note, reference
from scheduler_svc.core.nominations import Nominations
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.objects import PodCondition
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import Place, QueuedPodInfo, SchedulingQueue
from scheduler_svc.core.unserved import UnservedPods
from tests.builders import PodFields, at, make_columns, make_node_info, make_pod_info

TEXT = "0/1 nodes are available: 1 Too many pods."
NODE_NAME = Rejectors(frozenset({"NodeName"}))


class Attempt:
    """A Pod in flight, and who handles its failure."""

    def __init__(self, pod: PodInfo) -> None:
        self.pending = {pod.uid: pod}
        self.queue = SchedulingQueue(
            sort_key=lambda _, seconds: (seconds,),
            pre_enqueue=lambda _: None,
            registrations={"berthmaster": {"NodeName": []}},
        )
        self.queue.add(pod, at(0))
        queued = self.queue.pop(at(0))
        assert queued is not None
        self.queued: QueuedPodInfo = queued
        self.nominator = Nominator(make_columns([make_node_info("n1")]))
        nominations = Nominations(self.nominator, self.queue)
        self.unserved = UnservedPods()
        self.served = {pod.scheduler_name}
        self.handler = FailureHandler(
            self.queue, nominations, self.pending, self.served, self.unserved
        )


@pytest.mark.parametrize("message", ["", "short", "x" * 1024, "é" * 512])
def test_notes_that_fit_are_left_alone(message: str) -> None:
    assert event_note(message) == message


@pytest.mark.parametrize(
    ("message", "note"),
    [
        ("x" * 1025, "x" * 1020 + " ..."),
        ("x" * 5000, "x" * 1020 + " ..."),
        ("é" * 513, "é" * 510 + " ..."),
        # Half a character is none.
        ("x" + "é" * 512, "x" + "é" * 509 + " ..."),
    ],
)
def test_longer_notes_are_cut_to_1024_bytes(message: str, note: str) -> None:
    assert event_note(message) == note
    assert len(event_note(message).encode()) <= 1024


def test_a_pod_is_named_by_namespace_name_and_uid() -> None:
    pod = make_pod_info("web-0", namespace="shop", uid="u-1")
    assert reference(pod) == PodReference("shop", "web-0", "u-1")


def test_a_rejected_pod_waits_for_what_its_rejectors_want() -> None:
    attempt = Attempt(make_pod_info())
    effects = attempt.handler.reject(attempt.queued, TEXT, at(5), NODE_NAME)
    pod = PodReference("default", "a", "uid-a")
    assert effects == [
        ReportAttempt(pod, "berthmaster", AttemptResult.UNSCHEDULABLE, 1, TEXT),
        RecordEvent(pod, "berthmaster", EventType.WARNING, "FailedScheduling", "Scheduling", TEXT),
        PatchPodCondition(pod, "Unschedulable", TEXT),
    ]
    assert attempt.queue.place_of("uid-a") is Place.UNSCHEDULABLE
    assert attempt.queued.unschedulable_plugins == {"NodeName"}


def test_a_plugin_may_keep_the_pod_in_its_hands() -> None:
    attempt = Attempt(make_pod_info())
    attempt.handler.reject(
        attempt.queued,
        TEXT,
        at(5),
        Rejectors(frozenset(), frozenset({"NodeName"})),
    )
    assert attempt.queued.pending_plugins == {"NodeName"}
    assert attempt.queue.place_of("uid-a") is Place.UNSCHEDULABLE


def test_a_pod_that_nobody_rejected_is_tried_again() -> None:
    attempt = Attempt(make_pod_info())
    attempt.handler.reject(attempt.queued, TEXT, at(5), Rejectors(frozenset()))
    assert attempt.queue.place_of("uid-a") is Place.BACKOFF


def test_an_attempt_that_went_wrong_is_made_again() -> None:
    attempt = Attempt(make_pod_info())
    effects = attempt.handler.fail(attempt.queued, "broken", at(5), node_name="n1")
    pod = PodReference("default", "a", "uid-a")
    assert effects == [
        ReportAttempt(pod, "berthmaster", AttemptResult.ERROR, 1, "broken", node_name="n1"),
        RecordEvent(
            pod, "berthmaster", EventType.WARNING, "FailedScheduling", "Scheduling", "broken"
        ),
        PatchPodCondition(pod, "SchedulerError", "broken"),
    ]
    assert attempt.queue.place_of("uid-a") is Place.BACKOFF
    assert attempt.queued.consecutive_errors_count == 1


def test_the_note_is_cut_and_the_condition_is_not() -> None:
    attempt, message = Attempt(make_pod_info()), "x" * 2000
    effects = attempt.handler.fail(attempt.queued, message, at(5))
    notes = [effect.note for effect in effects if isinstance(effect, RecordEvent)]
    messages = [effect.message for effect in effects if isinstance(effect, PatchPodCondition)]
    assert notes == [event_note(message)]
    assert messages == [message]


@pytest.mark.parametrize(
    ("reason", "message", "is_patched"),
    [("Unschedulable", TEXT, False), ("Unschedulable", "x", True), ("SchedulerError", TEXT, True)],
)
def test_a_condition_that_says_so_already_is_left_alone(
    reason: str, message: str, is_patched: bool
) -> None:
    condition = PodCondition("PodScheduled", "False", reason, message)
    attempt = Attempt(make_pod_info(conditions=[condition]))
    effects = attempt.handler.reject(attempt.queued, TEXT, at(5), NODE_NAME)
    assert any(isinstance(effect, PatchPodCondition) for effect in effects) is is_patched


def test_a_condition_is_written_again_over_another_that_is_on_its_way() -> None:
    """The second attempt's words may land after the third one found that the first's are there."""
    condition = PodCondition("PodScheduled", "False", "Unschedulable", TEXT)
    attempt = Attempt(make_pod_info(conditions=[condition]))
    written = []
    for seconds, text in enumerate((TEXT, "less", TEXT, TEXT), start=5):
        effects = attempt.handler.reject(attempt.queued, text, at(seconds), NODE_NAME)
        written.append([e.message for e in effects if isinstance(e, PatchPodCondition)])
        attempt.queue.activate(("uid-a",), at(seconds))
        assert attempt.queue.pop(at(seconds)) is attempt.queued
    assert written == [[], ["less"], [TEXT], []]


@pytest.mark.parametrize(("status", "is_transition"), [("False", False), ("Unknown", True)])
def test_the_condition_tells_what_was_tried_and_whether_it_turns_false(
    status: str, is_transition: bool
) -> None:
    condition = PodCondition("PodScheduled", status, "SchedulingGated", "")
    attempt = Attempt(make_pod_info(conditions=[condition], generation=3))
    effects = attempt.handler.reject(attempt.queued, TEXT, at(5), NODE_NAME)
    [patch] = [effect for effect in effects if isinstance(effect, PatchPodCondition)]
    assert patch.generation == 3
    assert patch.is_transition is is_transition


def test_when_the_attempt_began_is_told() -> None:
    attempt = Attempt(make_pod_info())
    attempt.queued.popped_at_seconds = 3.5
    reports = attempt.handler.fail(attempt.queued, "broken", at(5))
    assert [r.begun_at_seconds for r in reports if isinstance(r, ReportAttempt)] == [3.5]


def test_the_pod_comes_back_as_it_is_now() -> None:
    attempt = Attempt(make_pod_info())
    newest = make_pod_info(version="2", labels={"new": ""})
    attempt.pending["uid-a"] = newest
    attempt.handler.fail(attempt.queued, "broken", at(5))
    queued = attempt.queue.get("uid-a")
    assert queued is not None
    assert queued.pod is newest


@pytest.mark.parametrize("newest", [None, {"is_terminating": True, "version": "2"}])
@pytest.mark.parametrize("is_error", [True, False])
def test_nothing_is_retried_or_told_of_a_pod_that_is_on_its_way_out(
    newest: PodFields | None, is_error: bool
) -> None:
    attempt = Attempt(make_pod_info())
    del attempt.pending["uid-a"]
    if newest is not None:
        attempt.pending["uid-a"] = make_pod_info(**newest)
    if is_error:
        effects = attempt.handler.fail(attempt.queued, TEXT, at(5))
    else:
        effects = attempt.handler.reject(attempt.queued, TEXT, at(5), NODE_NAME)
    assert effects == []
    assert attempt.queue.place_of("uid-a") is None
    assert attempt.queue.statistics().in_flight_count == 0


@pytest.mark.parametrize(
    ("shown", "held", "nomination", "patched"),
    [
        ("", "", "n1", "n1"),
        ("n1", "n1", "", ""),
        ("n1", "n1", None, None),
        ("n1", "n1", "n1", None),
        ("", "", "", None),
        # The status is behind: what is on its way to it must not last.
        ("", "n1", "", ""),
        ("n1", "", "", ""),
    ],
)
def test_the_nomination_goes_with_the_condition(
    shown: str, held: str, nomination: str | None, patched: str | None
) -> None:
    attempt = Attempt(make_pod_info(nominated=shown))
    attempt.nominator.nominate(attempt.queued.pod, held)
    effects = attempt.handler.reject(attempt.queued, TEXT, at(5), NODE_NAME, nomination=nomination)
    pod = PodReference("default", "a", "uid-a")
    assert effects[-1] == PatchPodCondition(pod, "Unschedulable", TEXT, patched)
    assert attempt.nominator.node_name_of("uid-a") == (held if nomination is None else nomination)


def test_a_nomination_alone_is_patched_alone() -> None:
    condition = PodCondition("PodScheduled", "False", "Unschedulable", TEXT)
    attempt = Attempt(make_pod_info(conditions=[condition]))
    effects = attempt.handler.reject(attempt.queued, TEXT, at(5), NODE_NAME, nomination="n1")
    assert effects[2:] == [PatchNomination(PodReference("default", "a", "uid-a"), "n1")]


def test_an_attempt_that_went_wrong_ends_the_nomination() -> None:
    attempt = Attempt(make_pod_info(nominated="n1"))
    attempt.nominator.nominate(attempt.queued.pod, "n1")
    effects = attempt.handler.fail(attempt.queued, "broken", at(5))
    patches = [effect for effect in effects if isinstance(effect, PatchPodCondition)]
    assert [patch.nominated_node_name for patch in patches] == [""]
    assert len(attempt.nominator) == 0


@pytest.mark.parametrize(
    ("rejectors", "place"), [(NODE_NAME, Place.UNSCHEDULABLE), (None, Place.BACKOFF)]
)
def test_a_pod_may_stay_in_flight_after_its_attempt(
    rejectors: Rejectors | None, place: Place
) -> None:
    attempt = Attempt(make_pod_info())
    told = attempt.handler.reject(
        attempt.queued, TEXT, at(5), NODE_NAME, nomination="n1", stays_in_flight=True
    )
    assert len(told) == 3
    assert attempt.queue.place_of("uid-a") is Place.IN_FLIGHT
    attempt.handler.put_back(attempt.queued, rejectors, at(6))
    assert attempt.queue.place_of("uid-a") is place


def test_a_pod_that_is_gone_meanwhile_is_not_put_back() -> None:
    attempt = Attempt(make_pod_info())
    attempt.handler.reject(attempt.queued, TEXT, at(5), NODE_NAME, stays_in_flight=True)
    del attempt.pending["uid-a"]
    attempt.handler.put_back(attempt.queued, NODE_NAME, at(6))
    assert attempt.queue.place_of("uid-a") is None


def test_a_nomination_on_its_way_to_the_status_is_taken_back() -> None:
    attempt = Attempt(make_pod_info())
    attempt.handler.reject(attempt.queued, TEXT, at(5), NODE_NAME, nomination="n1")
    # It is placed and comes back before the status shows anything.
    attempt.nominator.forget("uid-a")
    effects = attempt.handler.fail(attempt.queued, "broken", at(6))
    patches = [effect for effect in effects if isinstance(effect, PatchPodCondition)]
    assert [patch.nominated_node_name for patch in patches] == [""]


def test_where_a_pod_is_going_is_announced_unless_that_is_known() -> None:
    attempt = Attempt(make_pod_info())
    pod = PodReference("default", "a", "uid-a")
    assert attempt.handler.announce(attempt.queued.pod, "n1") == [PatchNomination(pod, "n1")]
    known = Attempt(make_pod_info(nominated="n1"))
    assert known.handler.announce(known.queued.pod, "n1") == []


def test_a_pod_whose_profile_is_gone_is_not_put_back() -> None:
    for handle in ("reject", "fail"):
        attempt = Attempt(make_pod_info())
        attempt.served.clear()
        attempt.unserved.causes["berthmaster"] = "gone"
        if handle == "reject":
            effects = attempt.handler.reject(
                attempt.queued, "no", at(1), Rejectors(frozenset({"NodeName"}))
            )
        else:
            effects = attempt.handler.fail(attempt.queued, "no", at(1))
        [event] = effects
        assert isinstance(event, RecordEvent)
        assert event.reason == "SchedulerProfileDeleted"
        assert attempt.queue.place_of("uid-a") is None
        assert attempt.pending == {}
