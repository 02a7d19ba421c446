from math import inf
from typing import Any

import pytest

from scheduler_svc.core.queue.backoff_queue import BackoffQueue
from scheduler_svc.core.queue.queued_pod import QueuedPodInfo
from tests.unit.scheduler_svc.core.queue.builders import make_pod, priority_sort, queued_pod

REJECTED = frozenset({"NodeResourcesFit"})


def make_backoff(*, initial_seconds: float = 1, max_seconds: float = 10) -> BackoffQueue:
    return BackoffQueue(priority_sort, initial_seconds=initial_seconds, max_seconds=max_seconds)


def put(queue: BackoffQueue, queued: QueuedPodInfo) -> QueuedPodInfo:
    queued.backoff_expiration_seconds = queue.expiration_seconds(queued)
    queue.add(queued)
    return queued


def completed_names(queue: BackoffQueue, now_seconds: float) -> list[str]:
    return [queued.pod.name for queued in queue.pop_completed(now_seconds)]


@pytest.mark.parametrize(
    ("unschedulable_count", "errors_count", "duration_seconds"),
    [
        (0, 0, 0),
        (1, 0, 1),
        (2, 0, 2),
        (3, 0, 4),
        (4, 0, 8),
        (5, 0, 10),
        (6, 0, 10),
        (5000, 0, 10),
        (5, 1, 1),  # errors in a row take the place of the rejections
        (0, 3, 4),
    ],
)
def test_duration_doubles_up_to_the_maximum(
    unschedulable_count: int, errors_count: int, duration_seconds: float
) -> None:
    queued = queued_pod(
        unschedulable_count=unschedulable_count, consecutive_errors_count=errors_count
    )
    assert make_backoff().duration_seconds(queued) == duration_seconds


def test_the_maximum_limits_the_initial_duration_too() -> None:
    queue = make_backoff(initial_seconds=20, max_seconds=5)
    assert queue.duration_seconds(queued_pod(unschedulable_count=1)) == 5


def test_a_maximum_of_zero_switches_backoff_off() -> None:
    queue = make_backoff(max_seconds=0)
    queued = queued_pod(unschedulable_count=3, timestamp_seconds=100.0)
    assert queue.expiration_seconds(queued) == -inf
    queued.backoff_expiration_seconds = -inf
    assert not queue.is_backing_off(queued, 100.0)


def test_expiration_is_cut_to_the_second_and_lasts_through_it() -> None:
    queue = make_backoff()
    queued = put(queue, queued_pod(unschedulable_count=1, timestamp_seconds=10.9))
    assert queued.backoff_expiration_seconds == 11
    assert queue.is_backing_off(queued, 11.999)
    assert not queue.is_backing_off(queued, 12.0)


def test_pods_of_one_second_come_back_together_in_queue_sort_order() -> None:
    queue = make_backoff()
    common: dict[str, Any] = {"unschedulable_count": 1, "unschedulable_plugins": REJECTED}
    put(queue, queued_pod("low", timestamp_seconds=10.1, **common))
    put(queue, queued_pod("next", priority=9, timestamp_seconds=11.0, **common))
    put(queue, queued_pod("high", priority=5, timestamp_seconds=10.9, **common))
    assert queue.next_completion_seconds() == 12
    assert completed_names(queue, 11.999) == []
    assert completed_names(queue, 12.0) == ["high", "low"]
    assert completed_names(queue, 13.0) == ["next"]


def test_rejected_pods_complete_before_erroneous_ones() -> None:
    queue = make_backoff()
    put(queue, queued_pod("error", priority=9, consecutive_errors_count=1))
    put(queue, queued_pod("rejected", unschedulable_count=1, unschedulable_plugins=REJECTED))
    assert len(queue) == 2
    assert [queued.pod.name for queued in queue] == ["rejected", "error"]
    assert completed_names(queue, 2.0) == ["rejected", "error"]


def test_only_rejected_pods_may_be_popped_early() -> None:
    queue = make_backoff()
    put(queue, queued_pod("error", consecutive_errors_count=1))
    late = queued_pod("late", unschedulable_count=5, pending_plugins=REJECTED)
    put(queue, late)
    put(queue, queued_pod("soon", unschedulable_count=1, unschedulable_plugins=REJECTED))
    soon = queue.pop_rejected()
    assert soon is not None
    assert soon.pod.name == "soon"
    assert queue.pop_rejected() is late
    assert queue.pop_rejected() is None
    assert len(queue) == 1


def test_the_next_completion_is_that_of_either_kind() -> None:
    queue = make_backoff()
    assert queue.next_completion_seconds() == inf
    put(queue, queued_pod("rejected", unschedulable_count=4, unschedulable_plugins=REJECTED))
    assert queue.next_completion_seconds() == 9
    put(queue, queued_pod("error", consecutive_errors_count=2))
    assert queue.next_completion_seconds() == 3


@pytest.mark.parametrize("rejectors", [REJECTED, frozenset()])
def test_a_pod_is_found_updated_and_removed(rejectors: frozenset[str]) -> None:
    queue = make_backoff()
    queued = put(queue, queued_pod("a", unschedulable_count=1, unschedulable_plugins=rejectors))
    newest = make_pod("a", version=2)
    assert queue.update(newest)
    assert queue.get("uid-a") is queued
    assert queued.pod is newest
    assert queue.remove("uid-a") is queued
    assert queue.get("uid-a") is None
    assert queue.remove("uid-a") is None
    assert not queue.update(newest)
