"""How bad it is to evict some Pods, by the five criteria that choose among Nodes.

Source: pkg/scheduler/framework/preemption/preemption.go (`pickOneNodeForPreemption`), v1.36.3.
"""

from collections.abc import Iterable, Sequence
from typing import Any

Items = Iterable[dict[str, Any]]


def eviction_cost(items: Items, victims: Sequence[str]) -> tuple[int, int, int, int, str]:
    """Give violated budgets, highest priority, sum of priorities, count, and latest start.

    The start is that of the earliest-started among the victims of the highest priority,
    in RFC 3339: the later, the better.
    """
    objects = list(items)
    pods = {
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": pod
        for pod in objects
        if pod["kind"] == "Pod"
    }
    chosen = sorted((pods[key] for key in victims), key=_priority, reverse=True)
    highest = max(map(_priority, chosen), default=0)
    starts = [p["status"].get("startTime", "") for p in chosen if _priority(p) == highest]
    total = sum(_priority(pod) + 2**31 for pod in chosen)
    violations = _violations(objects, chosen)
    return violations, highest, total, len(chosen), min(starts, default="")


def _priority(pod: dict[str, Any]) -> int:
    return int(pod["spec"].get("priority") or 0)


def _violations(items: Items, victims: Iterable[dict[str, Any]]) -> int:
    budgets = [
        (b, b["status"]["disruptionsAllowed"]) for b in items if b["kind"] == "PodDisruptionBudget"
    ]
    left = [allowed for _, allowed in budgets]
    count = 0
    for pod in victims:
        violates = False
        for number, (budget, _) in enumerate(budgets):
            if _covers(budget, pod):
                left[number] -= 1
                violates |= left[number] < 0
        count += violates
    return count


def _covers(budget: dict[str, Any], pod: dict[str, Any]) -> bool:
    wanted = budget["spec"].get("selector", {}).get("matchLabels", {})
    labels = pod["metadata"].get("labels", {})
    same_namespace = budget["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return bool(wanted) and same_namespace and wanted.items() <= labels.items()
