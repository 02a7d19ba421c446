"""How many attempts to schedule a Pod failed, whoever tells of them."""

import msgspec
import pytest

from berthmaster.cli.timeline_attempts import FailedEvent, failed_attempts

NO_ROOM = "0/3 nodes are available: 3 Insufficient cpu."
TAINTED = "0/3 nodes are available: 3 node(s) had untolerated taint(s)."


def seen(seconds: int) -> str:
    return f"2026-06-01T12:00:{seconds:02d}.000000Z"


@pytest.mark.parametrize(
    ("attempt", "times", "condition", "expected"),
    [
        # The scheduler has counted; its Events are brought up to date now and then alone.
        (4, [], "", (3, True, "scheduler")),
        (4, [2], "", (3, True, "scheduler")),
        (4, [1, 2], "", (3, True, "scheduler")),
        # A process before it had failed, too: attempts are counted anew after a restart.
        (2, [5], "", (5, False, "events")),
        (1, [1], "", (1, False, "events")),
        # kube-scheduler counts nowhere.
        (None, [1, 1], "", (2, False, "events")),
        # Of a Pod that waits, and whose Events are forgotten, the condition is left.
        (None, [], "Unschedulable", (1, False, "condition")),
        (None, [], "SchedulerError", (1, False, "condition")),
        (None, [1], "Unschedulable", (1, False, "events")),
    ],
)
def test_the_largest_count_is_told_with_who_told_it(
    attempt: int | None, times: list[int], condition: str, expected: tuple[int, bool, str]
) -> None:
    events = [FailedEvent(f"text {number}", times=count) for number, count in enumerate(times)]
    failed = failed_attempts(attempt, events, condition_reason=condition)
    assert failed is not None
    assert (failed.count, failed.exact, failed.told_by) == expected


@pytest.mark.parametrize(
    ("attempt", "condition"), [(1, ""), (None, ""), (0, ""), (None, "SchedulingGated")]
)
def test_where_none_has_failed_nothing_is_told(attempt: int | None, condition: str) -> None:
    assert failed_attempts(attempt, condition_reason=condition) is None


def test_one_text_is_told_once_in_order_of_time() -> None:
    events = [
        FailedEvent(NO_ROOM, 2, "berthmaster", seen(1), seen(4)),
        FailedEvent(TAINTED, 1, "berthmaster", seen(6), seen(6)),
        FailedEvent(NO_ROOM, 3, "berthmaster", seen(10), seen(12)),
        FailedEvent(NO_ROOM, 1, "default-scheduler", None, None),
    ]
    failed = failed_attempts(None, events)
    assert failed is not None
    assert failed.count == 7
    assert failed.events == (
        FailedEvent(NO_ROOM, 1, "default-scheduler", None, None),
        FailedEvent(TAINTED, 1, "berthmaster", seen(6), seen(6)),
        FailedEvent(NO_ROOM, 5, "berthmaster", seen(1), seen(12)),
    )


def test_scripts_are_told_the_same() -> None:
    failed = failed_attempts(2, [FailedEvent(NO_ROOM, 1, "berthmaster", seen(1), seen(1))])
    assert msgspec.json.decode(msgspec.json.encode(failed)) == {
        "count": 1,
        "exact": True,
        "toldBy": "scheduler",
        "events": [
            {
                "message": NO_ROOM,
                "times": 1,
                "reporter": "berthmaster",
                "first": seen(1),
                "last": seen(1),
            }
        ],
    }
