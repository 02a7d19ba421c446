"""The activeQ: Pods that wait for nothing but their turn."""

from collections.abc import Callable, Iterator

from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue.heap import KeyedHeap, SortKey
from scheduler_svc.core.queue.queued_pod import QueuedPodInfo

# The QueueSort plugin: (Pod, when it was put into the queue) to a key; the smallest is first.
QueueSortKey = Callable[[PodInfo, float], SortKey]


class ActiveQueue:
    """A heap in the order of the QueueSort plugin; equals in the order of their arrival."""

    def __init__(self, sort_key: QueueSortKey) -> None:
        def key(queued: QueuedPodInfo) -> SortKey:
            return (*sort_key(queued.pod, queued.timestamp_seconds), queued.sequence)

        self._heap = KeyedHeap(key)

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return iter(self._heap)

    def add(self, queued: QueuedPodInfo) -> None:
        """Put a Pod in."""
        self._heap.push(queued.pod.uid, queued)

    def get(self, uid: str) -> QueuedPodInfo | None:
        """Find a Pod."""
        return self._heap.get(uid)

    def update(self, pod: PodInfo) -> bool:
        """Replace the Pod with a newer version of itself; False if it is not here."""
        queued = self._heap.get(pod.uid)
        if queued is None:
            return False
        queued.pod = pod
        self._heap.push(pod.uid, queued)
        return True

    def remove(self, uid: str) -> QueuedPodInfo | None:
        """Take a Pod out."""
        return self._heap.remove(uid)

    def pop(self) -> QueuedPodInfo | None:
        """Take out the Pod whose turn it is."""
        return self._heap.pop()
