"""Attempts that wait for extenders: whose answer is whose, and what remains of it."""

from scheduler_svc.core.events import ExtendersAnswered
from scheduler_svc.core.extenders import EXTENDER
from scheduler_svc.core.framework.prepared_class import PreparedClass
from scheduler_svc.core.parked import ParkedAttempt, ParkedAttempts
from scheduler_svc.core.queue import QueuedPodInfo
from scheduler_svc.core.status import Code, Status
from tests.builders import at, make_cache, make_node_info, make_pod_info
from tests.unit.scheduler_svc.core.framework.test_stopwatch import FakeStopwatch


def attempt(name: str = "a") -> ParkedAttempt:
    return ParkedAttempt(QueuedPodInfo(make_pod_info(name), 1, 0), at(0), [])


def test_an_answer_is_for_the_question_of_its_ticket() -> None:
    parked, first, second = ParkedAttempts(), attempt("a"), attempt("b")
    tickets = [parked.park(first), parked.park(second)]
    assert len(parked) == 2
    assert parked.take(ExtendersAnswered("uid-a", tickets[1])) is None
    assert parked.take(ExtendersAnswered("uid-c", tickets[0])) is None
    assert parked.take(ExtendersAnswered("uid-a", tickets[0])) is first
    assert parked.take(ExtendersAnswered("uid-a", tickets[0])) is None
    assert len(parked) == 1


def test_the_answer_to_an_attempt_that_is_withdrawn_is_for_nobody() -> None:
    parked, one = ParkedAttempts(), attempt()
    ticket = parked.park(one)
    assert parked.withdraw("uid-a") is one
    assert parked.withdraw("uid-a") is None
    assert parked.take(ExtendersAnswered("uid-a", ticket)) is None


def test_nothing_is_measured_of_an_attempt_once_it_is_parked() -> None:
    parked, one = ParkedAttempts(), attempt()
    one.stopwatch = FakeStopwatch()
    parked.park(one)
    assert one.stopwatch is None


def test_reasons_are_those_that_extenders_gave_and_unresolvable_ones_come_first() -> None:
    one = attempt()
    one.asked = ("n1", "n2", "n3", "n4")
    one.take(
        ExtendersAnswered(
            "uid-a",
            1,
            passing=("n1",),
            failed={"n2": "busy", "n3": "full"},
            unresolvable={"n3": "never"},
        )
    )
    assert one.rejected == {
        "n2": Status(Code.UNSCHEDULABLE, ("busy",), EXTENDER),
        "n3": Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("never",), EXTENDER),
        "n4": None,
    }


def test_nodes_that_extenders_rejected_are_counted_by_reason() -> None:
    one = attempt()
    cache = make_cache(make_node_info(f"n{i}") for i in range(4))
    prepared = PreparedClass(one.queued.pod)
    assert one.diagnose(prepared, cache.columns, None).unschedulable_plugins == frozenset()
    busy = Status(Code.UNSCHEDULABLE, ("busy",), EXTENDER)
    one.rejected = {"n0": busy, "n1": busy, "n2": None, "gone": busy}
    diagnosis = one.diagnose(prepared, cache.columns, None)
    assert diagnosis.fit_error() == "0/4 nodes are available: 2 busy."
    assert diagnosis.unschedulable_plugins == {EXTENDER}
    rows = diagnosis.rows_with(Code.UNSCHEDULABLE, cache.columns)
    assert {cache.columns.names[row] for row in rows} == {"n0", "n1"}
