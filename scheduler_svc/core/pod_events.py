"""What the watch says of Pods, and what it means for cache, queue and bindings.

Source: pkg/scheduler/eventhandlers.go, v1.36.3.
"""

from collections.abc import Collection, Sequence

import msgspec

from scheduler_svc.core.binding_cycle import BindingCycles
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import Effect
from scheduler_svc.core.evictions import Evictions
from scheduler_svc.core.framework.cluster_changes import is_word_of_attempt, pod_changes
from scheduler_svc.core.framework.cluster_events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    ASSIGNED_POD_UPDATE,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_DELETE,
    UNSCHEDULED_POD_UPDATE,
    ClusterEvent,
    EventResource,
)
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import SchedulingQueue
from scheduler_svc.core.unserved import UnservedPods


class PodEvents:
    """Sorts Pods into assigned ones, pending ones of ours, and those of other schedulers.

    Ours are those of the names that are `served` now, and those that are assumed by a profile that
    was. `pending` is kept here for all to read: by uid, the Pods of ours that no Node is known
    for, assumed ones among them, in the version the watch told last. `heard` takes upstream's
    names of what happens.
    """

    def __init__(
        self,
        served: Collection[str],
        cache: Cache,
        queue: SchedulingQueue,
        bindings: BindingCycles,
        evictions: Evictions,
        pending: dict[str, PodInfo],
        *,
        unserved: UnservedPods,
    ) -> None:
        self._served = served
        self._cache = cache
        self._queue = queue
        self._bindings = bindings
        self._evictions = evictions
        self._nominations = evictions.nominations
        self._pending = pending
        self.unserved = unserved
        self.heard: list[str] = []

    def upsert(self, pod: PodInfo, now: Now) -> list[Effect]:
        """Take in a new or changed Pod."""
        if pod.is_finished:
            return self.delete(pod.uid, now)
        if pod.node_name:
            return self._upsert_assigned(pod, now)
        if pod.scheduler_name in self._served or pod.uid in self._pending:
            return self._upsert_pending(pod, now)
        self.unserved.note(pod)
        return []

    def adopt(self, scheduler_name: str, now: Now) -> list[Effect]:
        """Take in the Pods that have waited for a scheduler name to be served. O(unserved)."""
        effects: list[Effect] = []
        for pod in self.unserved.take(scheduler_name):
            effects += self.upsert(pod, now)
        return effects

    def waiting(self, scheduler_name: str) -> list[PodInfo]:
        """Give the pending Pods of a scheduler name that have not been given a Node. O(pending)."""
        return [
            pod
            for uid, pod in self._pending.items()
            if pod.scheduler_name == scheduler_name and uid not in self._cache
        ]

    def _upsert_assigned(self, pod: PodInfo, now: Now) -> list[Effect]:
        self.unserved.forget(pod.uid)
        if self._pending.pop(pod.uid, None) is not None:
            self.heard.append(UNSCHEDULED_POD_DELETE.label)
            if pod.uid not in self._cache:
                # Somebody else has bound it.
                self._queue.delete(pod.uid)
            self._nominations.leave(pod, now, placed_on=pod.node_name)
        if pod.is_terminating:
            self._evictions.leave(pod.uid, now, is_gone=False)
        assumed = self._cache.assumed_node_name(pod.uid)
        known = self._cache.get(pod.uid)
        old = self._cache.upsert(pod)
        if known is not None and old is None:
            self._correct(known, assumed, pod, now)
        if old is None:
            self.heard.append(ASSIGNED_POD_ADD.label)
            self._queue.move_on_event(ASSIGNED_POD_ADD, None, pod, now)
            # It is another's if it still waits for something of ours.
            return self._bindings.delete(pod.uid, now)
        changes = pod_changes(old, pod, EventResource.ASSIGNED_POD)
        self._hear_changes(ASSIGNED_POD_UPDATE, changes)
        for change in changes:
            self._queue.move_on_event(change, old, pod, now)
        return []

    def _correct(self, known: PodInfo, node_name: str, told: PodInfo, now: Now) -> None:
        """Call whom a Pod stood in the way that turns out to be elsewhere, or another one.

        It was assumed to be on `node_name`.
        """
        is_elsewhere = node_name != told.node_name
        if not is_elsewhere and known.labels == told.labels and known.requests == told.requests:
            return
        assumed = msgspec.structs.replace(known, node_name=node_name)
        if is_elsewhere:
            self._queue.move_on_event(ASSIGNED_POD_DELETE, assumed, None, now)
        else:
            for change in pod_changes(assumed, told, EventResource.ASSIGNED_POD):
                self._queue.move_on_event(change, assumed, told, now)

    def _upsert_pending(self, pod: PodInfo, now: Now) -> list[Effect]:
        old = self._pending.get(pod.uid)
        self._pending[pod.uid] = pod
        if pod.uid in self._cache:
            # Assumed: only the start of its deletion matters now.
            self._nominations.note_shown(pod)
            return self._bindings.delete(pod.uid, now) if pod.is_terminating else []
        self._nominations.update(old, pod, now)
        if old is None:
            self.heard.append(UNSCHEDULED_POD_ADD.label)
            self._queue.add(pod, now)
            return []
        changes: Sequence[ClusterEvent] = ()
        if not is_word_of_attempt(old, pod):
            changes = pod_changes(old, pod, EventResource.UNSCHEDULABLE_POD)
        self._hear_changes(UNSCHEDULED_POD_UPDATE, changes)
        self._queue.update(old, pod, now, events=changes)
        return []

    def _hear_changes(self, update: ClusterEvent, changes: Sequence[ClusterEvent]) -> None:
        """Note an update, and what it was if that is known."""
        self.heard.append(update.label)
        self.heard.extend(change.label for change in changes if change.label != update.label)

    def delete(self, uid: str, now: Now) -> list[Effect]:
        """Take in that a Pod is gone."""
        self.unserved.forget(uid)
        pending = self._pending.pop(uid, None)
        effects = self._bindings.delete(uid, now)
        removed = self._cache.remove(uid)
        if removed is not None:
            self.heard.append(ASSIGNED_POD_DELETE.label)
            self._queue.move_on_event(ASSIGNED_POD_DELETE, removed, None, now)
        self._evictions.leave(uid, now, is_gone=True)
        if pending is not None:
            self.heard.append(UNSCHEDULED_POD_DELETE.label)
            self._queue.delete(uid)
            self._nominations.leave(pending, now)
        return effects
