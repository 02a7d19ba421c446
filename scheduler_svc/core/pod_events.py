"""What the watch says of Pods, and what it means for cache, queue and bindings.

Source: pkg/scheduler/eventhandlers.go, v1.36.3.
"""

from collections.abc import Sequence

import msgspec

from scheduler_svc.core.binding_cycle import BindingCycles
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.evictions import Evictions
from scheduler_svc.core.framework.cluster_changes import pod_changes
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


class PodEvents:
    """Sorts Pods into assigned ones, pending ones of ours, and those of other schedulers.

    `pending` is kept here for all to read: by uid, the Pods of ours that no Node is known
    for, assumed ones among them, in the version the watch told last. `heard` takes upstream's
    names of what happens.
    """

    def __init__(
        self,
        scheduler_names: frozenset[str],
        cache: Cache,
        queue: SchedulingQueue,
        bindings: BindingCycles,
        evictions: Evictions,
        pending: dict[str, PodInfo],
    ) -> None:
        self._scheduler_names = scheduler_names
        self._cache = cache
        self._queue = queue
        self._bindings = bindings
        self._evictions = evictions
        self._nominations = evictions.nominations
        self._pending = pending
        self.heard: list[str] = []

    def upsert(self, pod: PodInfo, now: Now) -> None:
        """Take in a new or changed Pod."""
        if pod.is_finished:
            self.delete(pod.uid, now)
        elif pod.node_name:
            self._upsert_assigned(pod, now)
        elif pod.scheduler_name in self._scheduler_names:
            self._upsert_pending(pod, now)

    def _upsert_assigned(self, pod: PodInfo, now: Now) -> None:
        if self._pending.pop(pod.uid, None) is not None:
            self.heard.append(UNSCHEDULED_POD_DELETE.label)
            if pod.uid not in self._cache:
                # Somebody else has bound it.
                self._queue.delete(pod.uid)
            self._nominations.leave(pod, now, placed_on=pod.node_name)
        if pod.is_terminating:
            self._evictions.leave(pod.uid, now, is_gone=False)
        assumed = self._cache.assumed_node_name(pod.uid)
        old = self._cache.upsert(pod)
        if assumed and assumed != pod.node_name:
            # Somebody else has bound it elsewhere: the room that was meant for it is free.
            placed = msgspec.structs.replace(pod, node_name=assumed)
            self._queue.move_on_event(ASSIGNED_POD_DELETE, placed, None, now)
        if old is None or assumed:
            self.heard.append(ASSIGNED_POD_ADD.label)
        if old is None:
            self._queue.move_on_event(ASSIGNED_POD_ADD, None, pod, now)
            return
        changes = pod_changes(old, pod, EventResource.ASSIGNED_POD)
        if not assumed:
            self._hear_changes(ASSIGNED_POD_UPDATE, changes)
        for change in changes:
            self._queue.move_on_event(change, old, pod, now)

    def _upsert_pending(self, pod: PodInfo, now: Now) -> None:
        old = self._pending.get(pod.uid)
        self._pending[pod.uid] = pod
        if pod.uid in self._cache:
            # Assumed: only the start of its deletion matters now.
            self._nominations.note_shown(pod)
            if pod.is_terminating:
                self._bindings.delete(pod.uid, now)
            return
        self._nominations.update(old, pod, now)
        if old is None:
            self.heard.append(UNSCHEDULED_POD_ADD.label)
            self._queue.add(pod, now)
            return
        changes = pod_changes(old, pod, EventResource.UNSCHEDULABLE_POD)
        self._hear_changes(UNSCHEDULED_POD_UPDATE, changes)
        self._queue.update(old, pod, now, events=changes)

    def _hear_changes(self, update: ClusterEvent, changes: Sequence[ClusterEvent]) -> None:
        """Note an update, and what it was if that is known."""
        self.heard.append(update.label)
        self.heard.extend(change.label for change in changes if change.label != update.label)

    def delete(self, uid: str, now: Now) -> None:
        """Take in that a Pod is gone."""
        self._bindings.delete(uid, now)
        removed = self._cache.remove(uid)
        if removed is not None:
            self.heard.append(ASSIGNED_POD_DELETE.label)
            self._queue.move_on_event(ASSIGNED_POD_DELETE, removed, None, now)
        self._evictions.leave(uid, now, is_gone=True)
        pending = self._pending.pop(uid, None)
        if pending is not None:
            self.heard.append(UNSCHEDULED_POD_DELETE.label)
            self._queue.delete(uid)
            self._nominations.leave(pending, now)
