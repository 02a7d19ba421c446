"""The backoffQ: Pods that are worth another attempt, but not yet.

Two heaps: Pods that were rejected, and Pods that failed with an error. The time to wait
doubles with each rejection, or with each error in a row. It protects the scheduling
cycle from Pods that are rejected again and again, and the API server from repeated
errors; so when nothing else is to be done a rejected Pod is tried early, an erroneous
one is not.

Expirations are cut to whole seconds, and a Pod waits until the second of its expiration
is over. So all Pods of one second come back together, and among them the QueueSort
order decides, not the fraction of a second.

Source: pkg/scheduler/backend/queue/backoff_queue.go, v1.36.3; KEP-5142. Differences: a
tie between erroneous Pods, which upstream leaves open, follows the QueueSort order; seconds
are those of the monotonic clock.
"""

from collections.abc import Iterator
from math import floor, inf, ldexp
from typing import Final

from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue.active_queue import QueueSortKey
from scheduler_svc.core.queue.heap import KeyedHeap, SortKey
from scheduler_svc.core.queue.queued_pod import QueuedPodInfo

# All Pods whose backoff ends within one window come back together.
_WINDOW_SECONDS: Final = 1

# 2 ** 62 times any duration is beyond any maximum, and still a float.
_MOST_DOUBLINGS: Final = 62


class BackoffQueue:
    """Pods in the order in which their backoff expires.

    `max_seconds` 0 switches backoff off.
    """

    def __init__(
        self, sort_key: QueueSortKey, *, initial_seconds: float, max_seconds: float
    ) -> None:
        def key(queued: QueuedPodInfo) -> SortKey:
            sort = sort_key(queued.pod, queued.timestamp_seconds)
            return (queued.backoff_expiration_seconds, *sort, queued.sequence)

        self._initial_seconds = initial_seconds
        self._max_seconds = max_seconds
        self._rejected = KeyedHeap(key)
        self._errors = KeyedHeap(key)
        self._heaps = (self._rejected, self._errors)

    def __len__(self) -> int:
        return len(self._rejected) + len(self._errors)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        for heap in self._heaps:
            yield from heap

    def duration_seconds(self, queued: QueuedPodInfo) -> float:
        """How long the Pod has to wait after its last attempt: initial * 2^(n-1), at most the max.

        n is the number of errors in a row if the last attempt failed with one, else the
        number of rejections so far; 0 without any.
        """
        count = queued.consecutive_errors_count or queued.unschedulable_count
        if count == 0:
            return 0
        doubled = ldexp(self._initial_seconds, min(count - 1, _MOST_DOUBLINGS))
        return min(doubled, self._max_seconds)

    def expiration_seconds(self, queued: QueuedPodInfo) -> float:
        """Give the monotonic second in which the Pod's backoff expires; -inf if it has none."""
        duration = self.duration_seconds(queued)
        return floor(queued.timestamp_seconds + duration) if duration > 0 else -inf

    def is_backing_off(self, queued: QueuedPodInfo, now_seconds: float) -> bool:
        """Whether the Pod has to wait still; True during the whole second of its expiration."""
        return queued.backoff_expiration_seconds >= floor(now_seconds)

    def add(self, queued: QueuedPodInfo) -> None:
        """Put a Pod in; one without rejectors counts as erroneous."""
        heap = self._rejected if queued.rejectors else self._errors
        heap.push(queued.pod.uid, queued)

    def get(self, uid: str) -> QueuedPodInfo | None:
        """Find a Pod."""
        return self._rejected.get(uid) or self._errors.get(uid)

    def update(self, pod: PodInfo) -> bool:
        """Replace the Pod with a newer version of itself; False if it is not here."""
        for heap in self._heaps:
            queued = heap.get(pod.uid)
            if queued is not None:
                queued.pod = pod
                heap.push(pod.uid, queued)
                return True
        return False

    def remove(self, uid: str) -> QueuedPodInfo | None:
        """Take a Pod out."""
        return self._rejected.remove(uid) or self._errors.remove(uid)

    def pop_rejected(self) -> QueuedPodInfo | None:
        """Take out the rejected Pod that is first in order, expired or not."""
        return self._rejected.pop()

    def pop_completed(self, now_seconds: float) -> Iterator[QueuedPodInfo]:
        """Take out, one by one, the Pods whose backoff is over: rejected ones first."""
        for heap in self._heaps:
            while (queued := heap.peek()) and not self.is_backing_off(queued, now_seconds):
                heap.pop()
                yield queued

    def next_completion_seconds(self) -> float:
        """Give the monotonic time at which the next backoff is over; inf if the queue is empty."""
        first = inf
        for heap in self._heaps:
            queued = heap.peek()
            if queued is not None:
                first = min(first, queued.backoff_expiration_seconds + _WINDOW_SECONDS)
        return first
