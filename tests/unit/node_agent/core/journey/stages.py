"""A Pod at each stage of its way, as the API server tells of it; times are seconds after noon."""

from typing import Any

from node_agent.core.clock import NANOSECONDS
from node_agent.core.journey.marks import MarkKind
from node_agent.core.objects import Pod
from node_agent.core.timestamps import format_nanoseconds
from tests.unit.node_agent.core.pods import NOON_NANOSECONDS, make_pod

UID = "uid-a"
DECIDED_SECONDS = 1.25
SEEN_SECONDS = 2.125


def nanoseconds(seconds: float) -> int:
    """Give Unix nanoseconds of a moment after noon."""
    return NOON_NANOSECONDS + round(seconds * NANOSECONDS)


def stamp(seconds: float) -> str:
    """Write a moment as a ``metav1.Time``: whole seconds."""
    return format_nanoseconds(nanoseconds(int(seconds)))[:19] + "Z"


def condition(type_: str, seconds: float, status: str = "True") -> dict[str, Any]:
    return {"type": type_, "status": status, "lastTransitionTime": stamp(seconds)}


def started(
    name: str, seconds: float, *, before: float | None = None, restarts: int | None = None
) -> dict[str, Any]:
    """Give the status of a container that runs, perhaps after it was restarted."""
    last = {} if before is None else {"lastState": {"terminated": {"startedAt": stamp(before)}}}
    count = restarts if restarts is not None else len(last)
    running = {"running": {"startedAt": stamp(seconds)}}
    return {"name": name, "state": running, "restartCount": count, **last}


def ended(name: str, start: float, finish: float) -> dict[str, Any]:
    times = {"startedAt": stamp(start), "finishedAt": stamp(finish)}
    return {"name": name, "state": {"terminated": {"exitCode": 0, **times}}}


def decided(seconds: float = DECIDED_SECONDS, attempt: str = "1") -> dict[str, str]:
    """Give the annotations of a decision, after a wait of a quarter of a second."""
    return {
        "berthmaster.dev/decided-at": str(nanoseconds(seconds)),
        "berthmaster.dev/queue-wait": "250000000",
        "berthmaster.dev/attempt": attempt,
        "berthmaster.dev/decision-id": "berthmaster-7-1",
    }


def pod_with(status: dict[str, Any] | None = None, **fields: Any) -> Pod:
    """Give a bound Pod that was created at 0 and decided at 1.25 seconds."""
    fields = {"creationTimestamp": stamp(0), "annotations": decided(), **fields}
    scheduled = condition("PodScheduled", 1)
    status = status or {}
    conditions = [scheduled, *status.pop("conditions", [])]
    return make_pod(status={"phase": "Pending", "conditions": conditions, **status}, **fields)


def bound(**fields: Any) -> Pod:
    return pod_with(**fields)


def with_sandbox(**fields: Any) -> Pod:
    conditions = [condition("PodReadyToStartContainers", 3), condition("Initialized", 2)]
    return pod_with({"startTime": stamp(2), "conditions": conditions}, **fields)


def running(**fields: Any) -> Pod:
    conditions = [condition("PodReadyToStartContainers", 3), condition("Initialized", 2)]
    status = {
        "phase": "Running",
        "startTime": stamp(2),
        "conditions": [*conditions, condition("Ready", 4, "False")],
        "containerStatuses": [started("c", 5)],
    }
    return pod_with(status, **fields)


def ready(**fields: Any) -> Pod:
    conditions = [condition("PodReadyToStartContainers", 3), condition("Initialized", 2)]
    status = {
        "phase": "Running",
        "startTime": stamp(2),
        "conditions": [*conditions, condition("Ready", 6)],
        "containerStatuses": [started("c", 5)],
    }
    return pod_with(status, **fields)


def deleting(**fields: Any) -> Pod:
    """Give the Pod as it is after it was deleted at 20 seconds, with a grace of 30."""
    times = {"deletionTimestamp": stamp(50), "deletionGracePeriodSeconds": 30}
    status = {
        "phase": "Running",
        "startTime": stamp(2),
        "conditions": [condition("PodReadyToStartContainers", 3)],
        "containerStatuses": [ended("c", 5, 22)],
    }
    return pod_with(status, **times, **fields)


def kubelet_copy(seen_seconds: float = SEEN_SECONDS) -> Pod:
    """Give what the kubelet shows of a Pod that it has just seen."""
    seen = format_nanoseconds(nanoseconds(seen_seconds))
    annotations = {
        **decided(),
        "kubernetes.io/config.seen": seen,
        "kubernetes.io/config.source": "api",
    }
    return pod_with(annotations=annotations)


def seconds_of(marks: dict[MarkKind, int]) -> dict[MarkKind, float]:
    """Give marks as seconds after noon."""
    return {kind: (at - NOON_NANOSECONDS) / NANOSECONDS for kind, at in marks.items()}
