"""The pool of Pods that wait for an event: rejected ones, and gated ones.

The pool is indexed by who must be satisfied: a rejected Pod is filed under each plugin
that rejected it, a gated one under the plugin that gates it. An event visits only
the Pods filed under the plugins that registered it, so an event that concerns none of
10,000 waiting Pods costs as much as with none waiting.

Pods are kept in the order in which they came in or were last looked at, so
that those that have been here too long are found at the front.

Source: pkg/scheduler/backend/queue/unschedulable_pods.go, v1.36.3, which visits all.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterator
from math import floor, inf
from typing import Final

import msgspec

from scheduler_svc.core.framework.cluster_events import ClusterEvent
from scheduler_svc.core.queue.queued_pod import QueuedPodInfo

# (scheduler name, plugin name)
RejectorKey = tuple[str, str]

_NOBODY: Final[dict[str, QueuedPodInfo]] = {}
_FLUSH_PERIOD_SECONDS: Final = 30


class _Entry(msgspec.Struct, frozen=True):
    """A Pod, when it came in, and under which keys it is filed."""

    queued: QueuedPodInfo
    since_seconds: float
    keys: tuple[RejectorKey, ...]


class UnschedulablePods:
    """The pool. A Pod in it must not change its rejectors or its gate."""

    def __init__(self, *, max_seconds: float) -> None:
        self._max_seconds = max_seconds
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._filed: dict[RejectorKey, dict[str, QueuedPodInfo]] = {}
        self.gated_count = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return (entry.queued for entry in self._entries.values())

    def add(self, queued: QueuedPodInfo, now_seconds: float) -> None:
        """Put a Pod in that is not here yet."""
        uid = queued.pod.uid
        keys = rejector_keys(queued)
        self._entries[uid] = _Entry(queued, now_seconds, keys)
        self.gated_count += queued.is_gated
        for key in keys:
            self._filed.setdefault(key, {})[uid] = queued

    def get(self, uid: str) -> QueuedPodInfo | None:
        """Find a Pod."""
        entry = self._entries.get(uid)
        return None if entry is None else entry.queued

    def remove(self, uid: str) -> QueuedPodInfo | None:
        """Take a Pod out."""
        entry = self._entries.pop(uid, None)
        return None if entry is None else self._unfile(uid, entry)

    def called_by(self, event: ClusterEvent, keys: Collection[RejectorKey]) -> list[QueuedPodInfo]:
        """Give the Pods that wait for the event, which the plugins in `keys` registered.

        A wildcard calls everyone, except gated Pods whose plugin did not register it.
        Cost: O(keys + Pods found).
        """
        if event.is_wildcard:
            return [
                entry.queued
                for entry in self._entries.values()
                if not entry.queued.is_gated or entry.keys[0] in keys
            ]
        found: dict[str, QueuedPodInfo] = {}
        for key in keys:
            found.update(self._filed.get(key, _NOBODY))
        return list(found.values())

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
            yield self._unfile(*self._entries.popitem(last=False))

    def find_fault(self) -> str | None:
        """Compare the index with the Pods; give what is wrong, or None. Cost: O(pool)."""
        filed: dict[RejectorKey, list[str]] = {}
        for uid, entry in self._entries.items():
            if entry.keys != rejector_keys(entry.queued) or not entry.keys:
                return f"{entry.queued.pod.key} is filed under {entry.keys}"
            for key in entry.keys:
                filed.setdefault(key, []).append(uid)
        if {k: sorted(v) for k, v in filed.items()} != {
            k: sorted(v) for k, v in self._filed.items()
        }:
            return "the index of the unschedulable pool does not match the Pods in it"
        if self.gated_count != sum(queued.is_gated for queued in self):
            return f"gated_count is {self.gated_count}"
        return None

    def _unfile(self, uid: str, entry: _Entry) -> QueuedPodInfo:
        self.gated_count -= entry.queued.is_gated
        for key in entry.keys:
            filed = self._filed[key]
            del filed[uid]
            if not filed:
                del self._filed[key]
        return entry.queued


def rejector_keys(queued: QueuedPodInfo) -> tuple[RejectorKey, ...]:
    """Under which plugins the Pod is filed; in alphabetical order, to be reproducible."""
    name = queued.pod.scheduler_name
    if queued.gating_plugin is not None:
        return ((name, queued.gating_plugin),)
    return tuple((name, plugin) for plugin in sorted(queued.rejectors))
