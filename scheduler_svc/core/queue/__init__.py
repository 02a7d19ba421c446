"""The scheduling queue: which Pod is tried next, and when a rejected one is tried again.

What belongs here: the places where a pending Pod can be, the moves between them, and
the cluster events that cause the moves. What does not: deciding whether a Pod fits, and
any plugin; plugins come in as a sort key, a PreEnqueue check and queueing hints.
"""

from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    Occurrence,
    QueueingHint,
)
from scheduler_svc.core.queue.queued_pod import Gate, Place, QueuedPodInfo
from scheduler_svc.core.queue.scheduling_queue import (
    QueueStatistics,
    SchedulingQueue,
)

__all__ = [
    "ActionType",
    "ClusterEvent",
    "EventRegistration",
    "EventResource",
    "Gate",
    "Occurrence",
    "Place",
    "QueueStatistics",
    "QueuedPodInfo",
    "QueueingHint",
    "SchedulingQueue",
]
