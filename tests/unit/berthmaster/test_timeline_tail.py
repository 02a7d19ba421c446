"""What stands under the bars, above all: why a Pod was not scheduled at once."""

from typing import Any

import pytest
from rich.console import Console

from berthmaster.cli.timeline_attempts import FailedEvent, Scheduling, failed_attempts
from berthmaster.cli.timeline_drawing import render
from node_agent.core.journey.journey import Journey, identify
from node_agent.core.journey.timeline import Timeline, timeline_of
from node_agent.core.timestamps import format_nanoseconds
from tests.unit.node_agent.core.journey import stages
from tests.unit.node_agent.core.journey.stages import condition, nanoseconds, stamp
from tests.unit.node_agent.core.pods import make_pod

NO_ROOM = "0/3 nodes are available: 3 Insufficient cpu."
TAINTED = "0/3 nodes are available: 3 node(s) had untolerated taint(s)."
ANNOTATIONS = {
    "berthmaster.dev/decided-at": str(nanoseconds(40.75)),
    "berthmaster.dev/queue-wait": "40000000000",
    "berthmaster.dev/attempt": "2",
}


def at(seconds: float) -> str:
    return format_nanoseconds(nanoseconds(seconds))


def drawn(timeline: Timeline, columns: int = 150, **known: Any) -> list[str]:
    console = Console(width=columns, no_color=True)
    with console.capture() as capture:
        console.print(render(timeline, "x", console, Scheduling(**known)))
    return [line.rstrip() for line in capture.get().split("\n")]


def late() -> Timeline:
    """Give the way of a Pod that failed at once, and for which there was room 40 s later."""
    status = {"phase": "Pending", "conditions": [condition("PodScheduled", 40)]}
    pod = make_pod(status=status, creationTimestamp=stamp(0), annotations=ANNOTATIONS)
    journey = Journey(identify(pod, "api"))
    journey.observe_kubelet(pod)
    return timeline_of(journey, node_name="node-a")


def pending(detail: str = NO_ROOM) -> Timeline:
    pod = make_pod(status={"phase": "Pending"}, creationTimestamp=stamp(0))
    journey = Journey(identify(pod, "api"))
    journey.observe_kubelet(pod)
    return timeline_of(journey, node_name="", cause="not_scheduled", cause_detail=detail)


def test_where_forty_seconds_went() -> None:
    failed = failed_attempts(2, [FailedEvent(NO_ROOM, 1, "berthmaster", at(0.7), at(0.7))])
    lines = drawn(late(), failed=failed)
    (before,) = [line for line in lines if "failed attempts: 1" in line]
    (waiting,) = [line for line in lines if "waiting to be tried again" in line]
    assert " 250 ms " in before
    assert "queued" in before
    # The 40 s are where it waited for a change, after the attempt.
    assert " 40 s " in waiting
    assert "decided" in waiting
    told = lines.index(
        "Scheduling: 1 attempt failed before it got a Node, by the scheduler's annotation. Why, by "
        "its FailedScheduling Events:"
    )
    assert lines[told + 1] == f"  +200 ms, berthmaster: {NO_ROOM}"


def test_events_that_were_repeated_and_more_than_are_shown() -> None:
    events = [
        FailedEvent(TAINTED, 3, "berthmaster", at(0.5), at(10.5)),
        *(FailedEvent(f"text {n}", 1, "berthmaster", at(20.5 + n), at(20.5 + n)) for n in range(4)),
    ]
    lines = drawn(late(), failed=failed_attempts(None, events))
    told = lines.index(
        "Scheduling: 7 or more attempts failed before it got a Node, by Events. Why, by "
        "its FailedScheduling Events:"
    )
    assert lines[told + 1 : told + 5] == [
        f"  +0 to +10 s, 3 times or more, berthmaster: {TAINTED}",
        "  2 more in between; -o json has all",
        "  +22 s, berthmaster: text 2",
        "  +23 s, berthmaster: text 3",
    ]
    assert lines[told + 5].startswith("░ no longer")
    lines = drawn(late(), failed=failed_attempts(None, events[:1]))
    assert f"  +0 to +10 s, 3 times or more, berthmaster: {TAINTED}" in lines


@pytest.mark.parametrize(
    ("unread", "why"),
    [
        (None, "; no Event tells why: they are kept for an hour by default."),
        ("its Events cannot be read", "; why is not known: its Events cannot be read"),
    ],
)
def test_why_it_is_not_known_why(unread: str | None, why: str) -> None:
    lines = drawn(late(), failed=failed_attempts(4, unread=unread))
    begin = "Scheduling: 3 attempts failed before it got a Node, by the scheduler's annotation"
    assert begin + why in lines


def test_a_pod_that_waits_says_for_how_long_and_by_whom() -> None:
    failed = failed_attempts(
        None,
        [
            FailedEvent(NO_ROOM, 2, "berthmaster", at(0.6), at(20.5)),
            FailedEvent(TAINTED, 1, "other"),
        ],
        condition_reason="Unschedulable",
    )
    lines = drawn(pending(), failed=failed, is_told_by_condition=True, waited_seconds=40.0)
    now = "Now, 40 s after its creation: waiting for a Node, by its condition PodScheduled: "
    assert now + NO_ROOM in lines
    told = lines.index(
        "Scheduling: 3 or more attempts failed so far, by Events. Why, by its FailedScheduling "
        "Events:"
    )
    assert lines[told + 1 : told + 3] == [
        f"  other: {TAINTED}",
        "  +100 ms to +20 s, 2 times or more, berthmaster: the same as now",
    ]


def test_the_condition_alone_is_not_said_twice() -> None:
    failed = failed_attempts(None, condition_reason="Unschedulable")
    lines = drawn(pending(), failed=failed, is_told_by_condition=True)
    assert f"Now: waiting for a Node, by its condition PodScheduled: {NO_ROOM}" in lines
    assert "Scheduling: 1 or more attempts failed so far, by its condition PodScheduled." in lines


def test_an_event_before_the_creation_has_its_own_time() -> None:
    """The clocks differ by more than rounding, or the API server's times are not to be had."""
    failed = failed_attempts(2, [FailedEvent(NO_ROOM, 1, "", at(-5), at(-5))])
    assert f"  2026-06-01T11:59:55Z: {NO_ROOM}" in drawn(late(), failed=failed)
    failed = failed_attempts(2, [FailedEvent(NO_ROOM, 1)])
    assert f"  {NO_ROOM}" in drawn(late(), failed=failed)


def test_a_scheduler_acts_on_no_terminal_and_fits_a_narrow_one() -> None:
    text = "0/3 nodes are available: \x1b[31m" + "word " * 40
    failed = failed_attempts(2, [FailedEvent(text, 1, "x\x07", at(0.7), at(0.7))])
    lines = drawn(late(), 88, failed=failed)
    assert max(map(len, lines)) <= 88
    assert not [line for line in lines if "\x1b" in line or "\x07" in line]
    begin = next(n for n, line in enumerate(lines) if line.startswith("  +200 ms, x\\x07: 0/3"))
    # Its other lines are set in as the first is.
    assert lines[begin + 1].startswith("  word")


def test_stages_of_the_first_attempt_say_nothing_of_failures() -> None:
    journey = Journey(identify(stages.bound(), "api"))
    journey.observe_kubelet(stages.ready())
    lines = drawn(timeline_of(journey, node_name="n"), failed=failed_attempts(1))
    assert not [line for line in lines if "Scheduling" in line or "failed" in line]
