"""Durations between steps: their estimate, their error, and what a negative one means."""

import pytest

from node_agent.core.clock import NANOSECONDS
from node_agent.core.journey.marks import Mark, MarkKind, Step, best_marks
from node_agent.core.journey.phases import (
    PHASES,
    NegativeCause,
    Phase,
    Span,
    phase_span,
    segments,
)

S = NANOSECONDS
BY_NAME = {phase.name: phase for phase in PHASES}


def span_of(name: str, marks: dict[MarkKind, int]) -> Span | None:
    return phase_span(BY_NAME[name], best_marks(marks))


def test_names_of_phases_are_unique_and_go_forward() -> None:
    steps = list(Step)
    assert len(BY_NAME) == len(PHASES)
    assert all(steps.index(b) < steps.index(p.end) for p in PHASES for b in p.begins)


def test_two_times_in_nanoseconds_are_exact() -> None:
    span = span_of(
        "decided_to_kubelet_seen", {MarkKind.DECIDED_SCHEDULER: 5, MarkKind.KUBELET_SEEN: 12}
    )
    assert span is not None
    assert (span.nanoseconds, span.error_nanoseconds, span.source) == (7, 1, "scheduler/kubelet")
    assert span.negative_cause is None


def test_two_whole_seconds_are_right_to_a_second() -> None:
    span = span_of("scheduling", {MarkKind.CREATED_API: 3 * S, MarkKind.BOUND_API: 5 * S})
    assert span is not None
    assert (span.nanoseconds, span.error_nanoseconds, span.source) == (2 * S, S, "api")


def test_rounding_to_a_second_shifts_no_average() -> None:
    """Bound anywhere in [5, 6) s and seen at 7 s: on average a second and a half."""
    span = span_of(
        "bound_to_kubelet_seen", {MarkKind.BOUND_API: 5 * S, MarkKind.KUBELET_SEEN: 7 * S}
    )
    assert span is not None
    assert (span.nanoseconds, span.error_nanoseconds) == (3 * S // 2, S // 2)


def test_an_end_that_is_not_known() -> None:
    assert span_of("readiness", {MarkKind.READY_KUBELET: 1}) is None
    assert span_of("readiness", {MarkKind.STARTED_KUBELET: 1}) is None


def test_the_first_begin_that_is_known_counts() -> None:
    marks = {
        MarkKind.SANDBOX_READY_KUBELET: 1 * S,
        MarkKind.IMAGES_PULLED_EVENTS: 4 * S,
    }
    span = span_of("images", marks)
    assert span is not None
    assert span.begin.step is Step.SANDBOX_READY
    span = span_of("images", {**marks, MarkKind.INITIALIZED_KUBELET: 2 * S})
    assert span is not None
    assert span.begin.step is Step.INITIALIZED


def test_a_finer_phase_replaces_a_coarse_one() -> None:
    marks = {MarkKind.SYNC_STARTED_KUBELET: 1 * S, MarkKind.SANDBOX_READY_KUBELET: 4 * S}
    assert span_of("volumes_and_sandbox", marks) is not None
    assert span_of("sandbox", marks) is None
    finer = {**marks, MarkKind.VOLUMES_MOUNTED_FILES: 2 * S}
    assert span_of("volumes_and_sandbox", finer) is None
    assert span_of("sandbox", finer) is not None
    assert span_of("volumes", finer) is not None


@pytest.mark.parametrize(
    ("begin", "end", "cause"),
    [
        # Decided at 5.7 s and bound in [5, 6): rounding explains it.
        (
            Mark(MarkKind.DECIDED_SCHEDULER, 57 * S // 10),
            Mark(MarkKind.BOUND_API, 5 * S),
            "resolution",
        ),
        (Mark(MarkKind.DECIDED_SCHEDULER, 7 * S), Mark(MarkKind.BOUND_API, 5 * S), "clocks"),
        (Mark(MarkKind.KUBELET_SEEN, 7 * S), Mark(MarkKind.SYNC_STARTED_FILES, 5 * S), "evidence"),
        (Mark(MarkKind.KUBELET_SEEN, 5 * S), Mark(MarkKind.SYNC_STARTED_FILES, 5 * S), None),
    ],
)
def test_why_a_duration_is_negative(begin: Mark, end: Mark, cause: str | None) -> None:
    span = Span(begin, end)
    assert (span.nanoseconds < 0) is (cause is not None)
    assert span.negative_cause == (None if cause is None else NegativeCause(cause))


def test_segments_are_the_whole_way() -> None:
    marks = {
        MarkKind.CREATED_API: 0,
        MarkKind.BOUND_API: 2 * S,
        MarkKind.KUBELET_SEEN: 3 * S,
        MarkKind.AGENT_SEEN: 3 * S + 5,
        MarkKind.READY_WATCH: 9 * S,
    }
    spans = list(segments(marks))
    assert [(s.begin.step.value, s.end.step.value) for s in spans] == [
        ("created", "bound"),
        ("bound", "kubelet_seen"),
        ("kubelet_seen", "ready"),
    ]
    whole = Span(Mark(MarkKind.CREATED_API, 0), Mark(MarkKind.READY_WATCH, 9 * S))
    assert sum(span.nanoseconds for span in spans) == whole.nanoseconds


def test_no_segments_of_one_step() -> None:
    assert list(segments({MarkKind.CREATED_API: 0})) == []


def test_a_phase_without_alternatives() -> None:
    phase = Phase("x", (Step.CREATED,), Step.GONE)
    assert phase.without == ()
