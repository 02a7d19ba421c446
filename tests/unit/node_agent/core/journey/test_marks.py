"""Which evidence counts, and how evidence merges."""

from node_agent.core.clock import NANOSECONDS
from node_agent.core.journey.marks import (
    KINDS_BY_STEP,
    Mark,
    MarkKind,
    MarkSource,
    Step,
    best_mark,
    best_marks,
    merge_marks,
)


def test_every_step_can_be_known() -> None:
    assert all(KINDS_BY_STEP[step] for step in Step)
    assert {kind for kinds in KINDS_BY_STEP.values() for kind in kinds} == set(MarkKind)


def test_a_step_that_nobody_told_of_is_absent() -> None:
    assert best_mark(Step.READY, {MarkKind.GONE_WATCH: 1}) is None
    assert best_marks({}) == {}


def test_the_finer_evidence_counts() -> None:
    marks = {MarkKind.SYNC_STARTED_KUBELET: 7 * NANOSECONDS, MarkKind.SYNC_STARTED_FILES: 75}
    assert best_mark(Step.SYNC_STARTED, marks) == Mark(MarkKind.SYNC_STARTED_FILES, 75)


def test_what_was_heard_at_once_is_better_than_a_whole_second() -> None:
    marks = {MarkKind.READY_KUBELET: 7 * NANOSECONDS, MarkKind.READY_WATCH: 10 * NANOSECONDS}
    assert best_mark(Step.READY, marks) == Mark(MarkKind.READY_WATCH, 10 * NANOSECONDS)


def test_what_was_heard_late_is_passed_over() -> None:
    late = 10 * NANOSECONDS + 1
    marks = {MarkKind.READY_KUBELET: 7 * NANOSECONDS, MarkKind.READY_WATCH: late}
    assert best_mark(Step.READY, marks) == Mark(MarkKind.READY_KUBELET, 7 * NANOSECONDS)
    alone = {MarkKind.READY_WATCH: late}
    assert best_mark(Step.READY, alone) == Mark(MarkKind.READY_WATCH, late)


def test_best_marks_are_in_the_order_of_steps() -> None:
    marks = {MarkKind.GONE_WATCH: 9, MarkKind.CREATED_API: 1, MarkKind.KUBELET_SEEN: 5}
    assert list(best_marks(marks)) == [Step.CREATED, Step.KUBELET_SEEN, Step.GONE]


def test_the_middle_of_a_whole_second() -> None:
    assert Mark(MarkKind.CREATED_API, 0).middle_nanoseconds == 500_000_000
    assert Mark(MarkKind.KUBELET_SEEN, 3).middle_nanoseconds == 3
    assert Mark(MarkKind.KUBELET_SEEN, 3).step is Step.KUBELET_SEEN


def test_the_earliest_of_a_kind_stays() -> None:
    marks = {MarkKind.READY_WATCH: 5}
    assert not merge_marks(marks, {MarkKind.READY_WATCH: 5})
    assert not merge_marks(marks, {MarkKind.READY_WATCH: 6})
    assert merge_marks(marks, {MarkKind.READY_WATCH: 4, MarkKind.GONE_WATCH: 9})
    assert marks == {MarkKind.READY_WATCH: 4, MarkKind.GONE_WATCH: 9}


def test_what_the_agent_hears_is_on_the_nodes_clock() -> None:
    heard = [kind for kind in MarkKind if kind.value.source is MarkSource.WATCH]
    assert {kind.value.clock.value for kind in heard} == {"node"}


def test_an_event_about_a_binding_is_finer_than_the_condition() -> None:
    marks = {MarkKind.BOUND_API: 7 * NANOSECONDS, MarkKind.BOUND_EVENTS: 7_250_000_000}
    assert best_mark(Step.BOUND, marks) == Mark(MarkKind.BOUND_EVENTS, 7_250_000_000)
    late = {**marks, MarkKind.BOUND_EVENTS: 10 * NANOSECONDS + 1}
    assert best_mark(Step.BOUND, late) == Mark(MarkKind.BOUND_API, 7 * NANOSECONDS)
