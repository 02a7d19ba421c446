"""Pods, times and queues for the tests of the scheduling queue."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scheduler_svc.core.clock import Now
from scheduler_svc.core.objects import ObjectMeta, Pod, PodSchedulingGate, PodSpec
from scheduler_svc.core.pods import PodInfo, PodInterner
from scheduler_svc.core.queue import (
    ClusterEvent,
    EventRegistration,
    Gate,
    QueuedPodInfo,
    QueueingHint,
    SchedulingQueue,
)

PROFILE = "berthmaster"


def make_pod(
    name: str = "a",
    *,
    priority: int = 0,
    version: int = 1,
    gates: Sequence[str] = (),
    scheduler_name: str = PROFILE,
    labels: dict[str, str] | None = None,
) -> PodInfo:
    """Build a pending Pod; its uid is `uid-` and its name."""
    return PodInterner().intern(
        Pod(
            metadata=ObjectMeta(
                name=name,
                namespace="default",
                uid=f"uid-{name}",
                resource_version=str(version),
                labels=labels,
            ),
            spec=PodSpec(
                scheduler_name=scheduler_name,
                priority=priority,
                scheduling_gates=tuple(PodSchedulingGate(gate) for gate in gates),
            ),
        )
    )


def queued_pod(name: str = "a", *, priority: int = 0, **attributes: Any) -> QueuedPodInfo:
    """Build a queued Pod that arrived at second 0, unless `attributes` say otherwise."""
    fields = {"sequence": 1, "timestamp_seconds": 0.0, **attributes}
    return QueuedPodInfo(make_pod(name, priority=priority), **fields)


def at(seconds: float) -> Now:
    """Build a time; the wall clock is far away, so that mixing them up shows."""
    return Now(monotonic_seconds=seconds, wall_seconds=1.8e9 - seconds)


def priority_sort(pod: PodInfo, timestamp_seconds: float) -> tuple[float, float]:
    """PrioritySort: the higher priority, then the earlier timestamp."""
    return (-pod.priority, timestamp_seconds)


def scheduling_gates(pod: PodInfo) -> Gate | None:
    """SchedulingGates: a Pod with a gate is refused."""
    if not pod.scheduling_gates:
        return None
    return Gate("SchedulingGates", f"waiting for scheduling gates: {list(pod.scheduling_gates)}")


def make_queue(
    registrations: Mapping[str, Sequence[EventRegistration]] | None = None,
    *,
    pre_enqueue: Callable[[PodInfo], Gate | None] = scheduling_gates,
    **parameters: Any,
) -> SchedulingQueue:
    """Build a queue with PrioritySort and one profile, and upstream's durations."""
    return SchedulingQueue(
        sort_key=priority_sort,
        pre_enqueue=pre_enqueue,
        registrations={PROFILE: registrations or {}},
        **parameters,
    )


def registration(
    resource: str, action: Any, answer: QueueingHint | None = None
) -> EventRegistration:
    """Build a registration whose hint, if any, always answers the same."""
    event = ClusterEvent(resource, action)
    if answer is None:
        return EventRegistration(event)
    return EventRegistration(event, lambda _pod, _old, _new: answer)
