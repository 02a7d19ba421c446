"""PrioritySort: the higher priority first, then who came earlier."""

from scheduler_svc.core.plugins.priority_sort import PrioritySort
from tests.builders import make_pod_info


def test_order() -> None:
    entries = [
        ("low", -1, 1.0),
        ("none, late", None, 9.0),
        ("none, early", None, 2.0),
        ("zero", 0, 5.0),
        ("high", 7, 99.0),
    ]
    pods = [
        (make_pod_info(name) if priority is None else make_pod_info(name, priority=priority), time)
        for name, priority, time in entries
    ]
    ordered = sorted(pods, key=lambda each: PrioritySort().sort_key(*each))
    assert [pod.name for pod, _ in ordered] == ["high", "none, early", "zero", "none, late", "low"]
