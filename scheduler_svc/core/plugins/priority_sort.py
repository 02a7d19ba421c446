"""PrioritySort: the order of the active queue.

Source: pkg/scheduler/framework/plugins/queuesort/priority_sort.go, v1.36.3.
"""

from scheduler_svc.core.framework.interface import QueueSortPlugin
from scheduler_svc.core.pods import PodInfo


class PrioritySort(QueueSortPlugin):
    """Higher priority first, then whoever was put in the queue earlier."""

    name = "PrioritySort"

    def sort_key(self, pod: PodInfo, timestamp_seconds: float) -> tuple[float, ...]:
        """Give (-priority, timestamp)."""
        return (-pod.shape.priority, timestamp_seconds)
