"""The three places where a Pod waits, and the moves between them.

A Pod enters active or backoff only past the PreEnqueue plugins; one that is refused is
kept in the pool as gated. From backoff to active they are not asked again.

The moves are counted by destination and cause, for `scheduler_queue_incoming_pods_total`,
and the Pods by who rejected them, for `scheduler_unschedulable_pods`. Difference from
upstream: the latter count drops also when a Pod is deleted from active or backoff.

Source: pkg/scheduler/backend/queue/scheduling_queue.go, v1.36.3: `moveToActiveQ`,
`moveToBackoffQ`, `requeuePodWithQueueingStrategy`, `flushUnschedulablePodsLeftover`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from math import inf

from scheduler_svc.core.errors import InvariantError
from scheduler_svc.core.framework.cluster_events import (
    BACKOFF_COMPLETE,
    POP_FROM_BACKOFF_Q,
    UNSCHEDULABLE_TIMEOUT,
)
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue.active_queue import ActiveQueue
from scheduler_svc.core.queue.backoff_queue import BackoffQueue
from scheduler_svc.core.queue.hints import QueueingHints, QueueingStrategy
from scheduler_svc.core.queue.queued_pod import Gate, Place, QueuedPodInfo
from scheduler_svc.core.queue.unschedulable_pods import RejectorKey, UnschedulablePods

PreEnqueue = Callable[[PodInfo], Gate | None]


class WaitingPods:
    """Pods in active, in backoff and in the unschedulable pool. Times are monotonic seconds."""

    def __init__(
        self,
        active: ActiveQueue,
        backoff: BackoffQueue,
        pool: UnschedulablePods,
        *,
        pre_enqueue: PreEnqueue,
        hints: QueueingHints,
    ) -> None:
        self.active = active
        self.backoff = backoff
        self.pool = pool
        self._incoming: Counter[tuple[str, str]] = Counter()
        self.rejected: Counter[RejectorKey] = Counter()
        self._pre_enqueue = pre_enqueue
        self._hints = hints

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return chain(self.active, self.backoff, self.pool)

    def get(self, uid: str) -> QueuedPodInfo | None:
        """Find a Pod."""
        return self.active.get(uid) or self.backoff.get(uid) or self.pool.get(uid)

    def place_of(self, uid: str) -> Place | None:
        """Say where a Pod is; None if it is in none of the places."""
        if self.active.get(uid) is not None:
            return Place.ACTIVE
        if self.backoff.get(uid) is not None:
            return Place.BACKOFF
        queued = self.pool.get(uid)
        if queued is None:
            return None
        return Place.GATED if queued.is_gated else Place.UNSCHEDULABLE

    def replace(self, pod: PodInfo) -> bool:
        """Replace a Pod with a newer version of itself where it is; False if it is unknown."""
        return self.active.update(pod) or self.backoff.update(pod) or self.pool.replace(pod)

    def remove(self, uid: str) -> None:
        """Take a Pod out for good."""
        queued = self.active.remove(uid) or self.backoff.remove(uid) or self.pool.remove(uid)
        if queued is not None:
            self._count_rejectors(queued, -1)

    def pop(self) -> QueuedPodInfo | None:
        """Take out the next Pod: of active, else of the rejected ones that back off still."""
        queued = self.active.pop()
        if queued is None:
            queued = self.backoff.pop_rejected()
            if queued is None:
                return None
            self._incoming[Place.ACTIVE, POP_FROM_BACKOFF_Q] += 1
        self._count_rejectors(queued, -1)
        return queued

    def take(self, uid: str) -> QueuedPodInfo | None:
        """Take out a Pod wherever it waits; None if it does not, or is gated."""
        queued = self.get(uid)
        if queued is None or queued.is_gated:
            return None
        self.remove(uid)
        return queued

    def set_rejectors(
        self,
        queued: QueuedPodInfo,
        *,
        unschedulable_plugins: Iterable[str] = (),
        pending_plugins: Iterable[str] = (),
    ) -> None:
        """Note who rejected a Pod that is about to be put into one of the places again."""
        queued.gating_plugin = None
        queued.unschedulable_plugins = frozenset(unschedulable_plugins)
        queued.pending_plugins = frozenset(pending_plugins)
        self._hints.know_rejectors(queued)
        self._count_rejectors(queued, 1)

    def requeue(
        self, queued: QueuedPodInfo, strategy: QueueingStrategy, cause: str, now_seconds: float
    ) -> Place:
        """Put a Pod that is in no place into the one that the strategy asks for, or gate it."""
        if strategy is QueueingStrategy.SKIP or not self._passes_pre_enqueue(queued):
            self.pool.add(queued, now_seconds)
            self._incoming[Place.UNSCHEDULABLE, cause] += 1
            return Place.GATED if queued.is_gated else Place.UNSCHEDULABLE
        if strategy is QueueingStrategy.AFTER_BACKOFF and self.backoff.is_backing_off(
            queued, now_seconds
        ):
            self.backoff.add(queued)
            self._incoming[Place.BACKOFF, cause] += 1
            return Place.BACKOFF
        self._enter_active(queued, cause, now_seconds)
        return Place.ACTIVE

    def activate(self, uid: str, cause: str, now_seconds: float) -> bool:
        """Move a Pod to active, backoff or not; False if it is in neither backoff nor the pool."""
        queued = self.backoff.remove(uid)
        if queued is not None:
            self._enter_active(queued, cause, now_seconds)
            return True
        queued = self.pool.remove(uid)
        if queued is None:
            return False
        self.requeue(queued, QueueingStrategy.IMMEDIATELY, cause, now_seconds)
        return True

    def complete_backoff(self, now_seconds: float) -> None:
        """Move the Pods whose backoff is over to active."""
        for queued in self.backoff.pop_completed(now_seconds):
            self._enter_active(queued, BACKOFF_COMPLETE, now_seconds)

    def flush_pool(self, now_seconds: float) -> None:
        """Move the Pods that have been in the pool for too long."""
        cause = UNSCHEDULABLE_TIMEOUT.label
        for queued in self.pool.pop_overdue(now_seconds):
            place = self.requeue(queued, QueueingStrategy.AFTER_BACKOFF, cause, now_seconds)
            queued.flushed = place is not Place.GATED

    def next_deadline(self) -> float | None:
        """Give the time of the next `complete_backoff` or `flush_pool` that moves a Pod."""
        deadline = min(self.backoff.next_completion_seconds(), self.pool.next_flush_seconds())
        return None if deadline == inf else deadline

    def drain_incoming(self) -> Mapping[tuple[str, str], int]:
        """Give the number of moves since the last call, by (queue, cause)."""
        incoming, self._incoming = self._incoming, Counter()
        return incoming

    def validate(self) -> None:
        """Raise `InvariantError` where the places contradict one another. Cost: O(Pods)."""
        if fault := self.pool.find_fault():
            raise InvariantError(fault)
        for queued in chain(self.active, self.backoff):
            if queued.is_gated:
                raise InvariantError(f"{queued.pod.key} is gated, yet may be popped")
        for queued in self.backoff:
            if queued.backoff_expiration_seconds != self.backoff.expiration_seconds(queued):
                raise InvariantError(f"the backoff of {queued.pod.key} is not what it should be")
        rejected = Counter(key for queued in self for key in _rejector_keys(queued))
        if rejected != +self.rejected:
            raise InvariantError(f"{self.rejected} Pods are counted as rejected, not {rejected}")

    def _enter_active(self, queued: QueuedPodInfo, cause: str, now_seconds: float) -> None:
        if queued.initial_attempt_timestamp_seconds is None:
            queued.initial_attempt_timestamp_seconds = now_seconds
        self.active.add(queued)
        self._incoming[Place.ACTIVE, cause] += 1

    def _passes_pre_enqueue(self, queued: QueuedPodInfo) -> bool:
        gate = self._pre_enqueue(queued.pod)
        if gate is None:
            queued.gating_plugin = None
            return True
        queued.gating_plugin = gate.plugin
        if gate.plugin not in queued.rejectors:
            queued.unschedulable_plugins |= {gate.plugin}
            self._hints.know_rejectors(queued)
            self.rejected[queued.pod.scheduler_name, gate.plugin] += 1
        return False

    def _count_rejectors(self, queued: QueuedPodInfo, change: int) -> None:
        if queued.unschedulable_plugins or queued.pending_plugins:
            for key in _rejector_keys(queued):
                self.rejected[key] += change


def _rejector_keys(queued: QueuedPodInfo) -> Iterator[RejectorKey]:
    name = queued.pod.scheduler_name
    return ((name, plugin) for plugin in queued.rejectors)
