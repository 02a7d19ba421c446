from scheduler_svc.core.queue.active_queue import ActiveQueue
from tests.unit.scheduler_svc.core.queue.builders import make_pod, priority_sort, queued_pod


def popped_names(queue: ActiveQueue) -> list[str]:
    names = []
    while (queued := queue.pop()) is not None:
        names.append(queued.pod.name)
    return names


def test_priority_then_timestamp_then_arrival() -> None:
    queue = ActiveQueue(priority_sort)
    for sequence, (name, priority, seconds) in enumerate(
        [("late", 5, 9.0), ("low", 0, 1.0), ("early", 5, 2.0), ("same", 5, 2.0), ("top", 9, 9.0)]
    ):
        queue.add(queued_pod(name, priority=priority, sequence=sequence, timestamp_seconds=seconds))
    assert len(queue) == 5
    assert popped_names(queue) == ["top", "early", "same", "late", "low"]


def test_an_update_replaces_the_pod_and_moves_it() -> None:
    queue = ActiveQueue(priority_sort)
    queue.add(queued_pod("a", priority=1, sequence=1))
    queue.add(queued_pod("b", priority=2, sequence=2))
    newest = make_pod("a", priority=3, version=2)
    assert queue.update(newest)
    queued = queue.get("uid-a")
    assert queued is not None
    assert queued.pod is newest
    assert popped_names(queue) == ["a", "b"]


def test_an_update_of_an_unknown_pod_is_refused() -> None:
    assert not ActiveQueue(priority_sort).update(make_pod("a"))


def test_a_removed_pod_is_not_popped() -> None:
    queue = ActiveQueue(priority_sort)
    first, second = queued_pod("a", sequence=1), queued_pod("b", sequence=2)
    queue.add(first)
    queue.add(second)
    assert queue.remove("uid-a") is first
    assert queue.remove("uid-a") is None
    assert list(queue) == [second]
    assert popped_names(queue) == ["b"]
