"""Which of several Nodes loses the least."""

import pytest

from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.preemption.candidates import (
    Candidate,
    by_importance,
    choose,
    in_order_of_importance,
)
from tests.unit.scheduler_svc.core.preemption.building import pod


def candidate(row: int, *victims: PodInfo, broken: int = 0) -> Candidate:
    return Candidate(row, tuple(sorted(victims, key=by_importance)), broken)


def test_higher_priorities_come_first_then_those_that_run_longer() -> None:
    pods = [
        pod("young", 5, started="11:00"),
        pod("low", 1, started="01:00"),
        pod("not-started", 5, started=None),
        pod("old", 5, started="09:00"),
        pod("high", 9, started="12:00"),
    ]
    names = [p.name for p in sorted(pods, key=by_importance)]
    assert names == ["high", "old", "young", "not-started", "low"]


def test_of_pods_that_tie_the_first_is_more_important_as_long_as_they_are_few() -> None:
    pods = [pod(f"p{number}", 5, started="09:00") for number in range(12)]
    assert in_order_of_importance(pods) == pods
    more = [*pods, *(pod(f"q{number}", 5 + number % 2, started="09:00") for number in range(12))]
    ordered = in_order_of_importance(more)
    assert ordered != sorted(more, key=by_importance)
    assert [p.priority for p in ordered] == [6] * 6 + [5] * 18


def test_of_pods_that_have_not_started_the_last_is_more_important() -> None:
    """Each starts the moment it is looked at, before the one that is looked at next."""
    waiting = [pod(f"w{number}", 5, started=None) for number in range(3)]
    started = [pod("s0", 5), pod("s1", 5)]
    pods = [waiting[0], started[0], waiting[1], started[1], waiting[2], pod("high", 6)]
    names = [p.name for p in in_order_of_importance(pods)]
    assert names == ["high", "s0", "s1", "w2", "w1", "w0"]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        # Each is better by its criterion alone, and worse by all that come after it.
        (candidate(0, pod("a", 9), pod("b", 9)), candidate(1, pod("c", 1), broken=1)),
        (candidate(0, pod("a", 3), pod("b", 3), pod("c", 3)), candidate(1, pod("d", 4))),
        (candidate(0, pod("a", 3), pod("b", 1)), candidate(1, pod("c", 3), pod("d", 2))),
        (candidate(0, pod("a", 3)), candidate(1, pod("b", 3), pod("c", -(2**31)))),
        (
            candidate(0, pod("a", 3, started="11:00"), pod("b", 1, started="01:00")),
            candidate(1, pod("c", 3, started="10:00"), pod("d", 1, started="12:00")),
        ),
        (candidate(0, pod("a", 3, started=None)), candidate(1, pod("c", 3, started="23:59"))),
    ],
    ids=["budgets", "highest priority", "sum", "count", "oldest of the highest", "not started"],
)
def test_the_least_harm_is_chosen(better: Candidate, worse: Candidate) -> None:
    assert choose([better, worse]) is better
    assert choose([worse, better]) is better


def test_fewer_pods_of_a_negative_priority_are_better() -> None:
    two, one = candidate(0, pod("a", -5), pod("b", -5)), candidate(1, pod("c", -5))
    assert choose([two, one]) is one


def test_of_equals_the_first_is_chosen() -> None:
    equals = [candidate(row, pod(f"p{row}", 3)) for row in range(3)]
    assert choose(equals) is equals[0]
