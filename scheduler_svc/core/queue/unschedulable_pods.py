"""The pool of Pods that wait for an event: rejected ones, and gated ones.

The pool is indexed by who must be satisfied: a rejected Pod is filed under each plugin
that rejected it, a gated one under the plugin that gates it. An event visits only
the Pods filed under the plugins that registered it, so an event that concerns none of
10,000 waiting Pods costs as much as with none waiting. Under a plugin Pods are filed by
their shape: where that is all it looks at, one Pod of each shape is asked.

Pods are kept in the order in which they came in or were last looked at, so
that those that have been here too long are found at the front.

Source: pkg/scheduler/backend/queue/unschedulable_pods.go, v1.36.3, which visits all.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from math import floor, inf
from operator import attrgetter
from typing import Final

import msgspec

from scheduler_svc.core.framework.cluster_events import ClusterEvent
from scheduler_svc.core.pods import PodInfo, PodShape
from scheduler_svc.core.queue.queued_pod import QueuedPodInfo

# (scheduler name, plugin name)
RejectorKey = tuple[str, str]

# Whether a plugin may want Pods back that are of the shape of the one given.
Concerns = Callable[[RejectorKey, QueuedPodInfo], bool]

_FLUSH_PERIOD_SECONDS: Final = 30


class _Entry(msgspec.Struct, frozen=True):
    """A Pod, when it came in as which one, and under which keys and shape it is filed."""

    queued: QueuedPodInfo
    since_seconds: float
    number: int
    keys: tuple[RejectorKey, ...]
    shape: PodShape


_Alike = dict[str, _Entry]
_NOBODY: Final[dict[PodShape, _Alike]] = {}


class UnschedulablePods:
    """The pool. A Pod in it must not change its rejectors or its gate."""

    def __init__(self, *, max_seconds: float) -> None:
        self._max_seconds = max_seconds
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._filed: dict[RejectorKey, dict[PodShape, _Alike]] = {}
        self._number = 0
        self.gated_count = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return (entry.queued for entry in self._entries.values())

    def add(self, queued: QueuedPodInfo, now_seconds: float) -> None:
        """Put a Pod in that is not here yet."""
        self._number += 1
        keys, shape = rejector_keys(queued), queued.pod.shape
        entry = _Entry(queued, now_seconds, self._number, keys, shape)
        self._entries[queued.pod.uid] = entry
        self.gated_count += queued.is_gated
        self._file(entry)

    def replace(self, pod: PodInfo) -> bool:
        """Replace a Pod with a newer version of itself; False if it is not here. O(1)."""
        entry = self._entries.get(pod.uid)
        if entry is None:
            return False
        entry.queued.pod = pod
        if pod.shape is not entry.shape:
            self._unfile(pod.uid, entry)
            self._entries[pod.uid] = entry = msgspec.structs.replace(entry, shape=pod.shape)
            self._file(entry)
        return True

    def get(self, uid: str) -> QueuedPodInfo | None:
        """Find a Pod."""
        entry = self._entries.get(uid)
        return None if entry is None else entry.queued

    def remove(self, uid: str) -> QueuedPodInfo | None:
        """Take a Pod out."""
        entry = self._entries.pop(uid, None)
        return None if entry is None else self._take(uid, entry)

    def called_by(
        self, event: ClusterEvent, keys: Collection[RejectorKey], concerns: Concerns
    ) -> list[QueuedPodInfo]:
        """Give the Pods that wait for the event, which the plugins in `keys` registered.

        They come in their order. A wildcard calls everyone, except gated Pods whose plugin did
        not register it.

        Cost: O(keys + shapes + Pods found).
        """
        if event.is_wildcard:
            return [
                entry.queued
                for entry in self._entries.values()
                if not entry.queued.is_gated or entry.keys[0] in keys
            ]
        found: _Alike = {}
        for key in keys:
            for alike in self._filed.get(key, _NOBODY).values():
                if concerns(key, next(iter(alike.values())).queued):
                    found.update(alike)
        in_order = sorted(found.values(), key=attrgetter("number"))
        return [entry.queued for entry in in_order]

    def next_flush_seconds(self) -> float:
        """Give the monotonic time at which the oldest Pod has been here too long; inf if empty.

        Ages are looked at every 30 s, so it is a multiple of that.
        """
        oldest = next(iter(self._entries.values()), None)
        if oldest is None:
            return inf
        limit = oldest.since_seconds + self._max_seconds
        return (floor(limit / _FLUSH_PERIOD_SECONDS) + 1) * _FLUSH_PERIOD_SECONDS

    def pop_overdue(self, now_seconds: float) -> Iterator[QueuedPodInfo]:
        """Take out, one by one, the Pods that have been here too long."""
        while self.next_flush_seconds() <= now_seconds:
            yield self._take(*self._entries.popitem(last=False))

    def find_fault(self) -> str | None:
        """Compare the index with the Pods; give what is wrong, or None. Cost: O(pool)."""
        filed: dict[RejectorKey, dict[PodShape, _Alike]] = {}
        for uid, entry in self._entries.items():
            pod = entry.queued.pod
            if entry.keys != rejector_keys(entry.queued) or not entry.keys:
                return f"{pod.key} is filed under {entry.keys}"
            if entry.shape is not pod.shape:
                return f"{pod.key} is filed under another shape than its own"
            for key in entry.keys:
                filed.setdefault(key, {}).setdefault(entry.shape, {})[uid] = entry
        if filed != self._filed:
            return "the index of the unschedulable pool does not match the Pods in it"
        if self.gated_count != sum(queued.is_gated for queued in self):
            return f"gated_count is {self.gated_count}"
        return None

    def _file(self, entry: _Entry) -> None:
        for key in entry.keys:
            by_shape = self._filed.setdefault(key, {})
            by_shape.setdefault(entry.shape, {})[entry.queued.pod.uid] = entry

    def _unfile(self, uid: str, entry: _Entry) -> None:
        for key in entry.keys:
            by_shape = self._filed[key]
            del by_shape[entry.shape][uid]
            if not by_shape[entry.shape]:
                del by_shape[entry.shape]
            if not by_shape:
                del self._filed[key]

    def _take(self, uid: str, entry: _Entry) -> QueuedPodInfo:
        self.gated_count -= entry.queued.is_gated
        self._unfile(uid, entry)
        return entry.queued


def rejector_keys(queued: QueuedPodInfo) -> tuple[RejectorKey, ...]:
    """Under which plugins the Pod is filed; in alphabetical order, to be reproducible."""
    name = queued.pod.scheduler_name
    if queued.gating_plugin is not None:
        return ((name, queued.gating_plugin),)
    return tuple((name, plugin) for plugin in sorted(queued.rejectors))
