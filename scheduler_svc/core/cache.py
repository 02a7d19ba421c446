"""The cache: every Pod that takes room on a Node, whether the API server says so or we do.

::

                assume                       upsert (the watch saw our Binding)
    (unknown) ─────────▶ assumed ──────────────────────────────────▶ added
        │                  │ forget (the Binding failed), remove        │ remove
        │                  ▼                                            ▼
        │              (unknown)                                    (unknown)
        └──────────────────── upsert (bound by anyone) ──────────▶ added

An assumption never expires: it ends when the watch confirms the Pod or removes it, or when
the Binding fails. The watch is right: a Pod seen on another Node than assumed is moved.

Invariant: the columns equal a recount over all Pods (`validate`).
Source: pkg/scheduler/backend/cache/{interface,cache}.go, v1.36.3.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

import msgspec

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import PODS_ROW, Int64Array, NodeColumns
from scheduler_svc.core.errors import InvariantError
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.pods import PodInfo


class CachedPod(msgspec.Struct, gc=False):
    """A Pod, the row of its Node, and whether its being there is only our assumption."""

    pod: PodInfo
    row: int
    is_assumed: bool


class Cache:
    """The Pods on Nodes, counted in `cluster`."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.columns = cluster.columns
        self.assumed_count = 0
        self._pods: dict[str, CachedPod] = {}
        self._pods_by_row: dict[int, dict[str, CachedPod]] = {}
        self._priorities: Counter[int] = Counter()
        cluster.placed = self._pods_by_row

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def __len__(self) -> int:
        return len(self._pods)

    def pods(self) -> Iterator[CachedPod]:
        """Give all Pods, added and assumed."""
        return iter(self._pods.values())

    def pods_on(self, row: int) -> Collection[CachedPod]:
        """Give the Pods on the Node of `row`."""
        return self._pods_by_row.get(row, {}).values()

    def is_assumed(self, uid: str) -> bool:
        """Whether the Pod is assumed and not yet confirmed."""
        cached = self._pods.get(uid)
        return cached is not None and cached.is_assumed

    def get(self, uid: str) -> PodInfo | None:
        """Give what is known of a Pod that is on a Node."""
        cached = self._pods.get(uid)
        return None if cached is None else cached.pod

    def has_less_important(self, priority: int) -> bool:
        """Whether a Pod of a lower priority is on a Node. O(priorities in use)."""
        return any(count and known < priority for known, count in self._priorities.items())

    def row_of(self, uid: str) -> int | None:
        """Give the row of the Node that a Pod is on, assumed or not; None if it is on none."""
        cached = self._pods.get(uid)
        return None if cached is None else cached.row

    def assumed_node_name(self, uid: str) -> str:
        """Give the Node that a Pod is only assumed to be on, "" for any other Pod."""
        cached = self._pods.get(uid)
        return self.columns.names[cached.row] if cached is not None and cached.is_assumed else ""

    def set_node(self, info: NodeInfo) -> NodeInfo | None:
        """Take in a new or changed Node; gives what was known before."""
        return self.columns.set_node(info)

    def remove_node(self, name: str) -> NodeInfo | None:
        """Take in that a Node is gone; its Pods stay counted until they go, too."""
        info = self.columns.remove_node(name)
        if info is not None:
            self._release_if_unused(self.columns.rows[name])
        return info

    def assume(self, pod: PodInfo, row: int) -> None:
        """Count `pod` on the Node of `row` from now on. O(R)."""
        if pod.uid in self._pods:
            raise InvariantError(f"Pod {pod.key} ({pod.uid}) is assumed a second time")
        self._place(CachedPod(pod, row, is_assumed=True))
        self.assumed_count += 1

    def forget(self, uid: str) -> bool:
        """Undo an assumption; False if the Pod has been confirmed or removed meanwhile."""
        if not self.is_assumed(uid):
            return False
        self.remove(uid)
        return True

    def upsert(self, pod: PodInfo) -> PodInfo | None:
        """Take in a Pod that is on a Node according to the watch; gives the former version.

        The former version of an assumed Pod is None: to everybody else it is new.
        """
        row = self.columns.row_for(pod.node_name)
        cached = self._pods.get(pod.uid)
        if cached is None:
            self._place(CachedPod(pod, row, is_assumed=False))
            return None
        old, old_row = cached.pod, cached.row
        cached.pod, cached.row = pod, row
        if row != old_row:
            self._take_off(old, old_row)
            self._place(cached)
            self._release_if_unused(old_row)
        elif pod.requests != old.requests or pod.shape is not old.shape:
            self._priorities[old.shape.priority] -= 1
            self._priorities[pod.shape.priority] += 1
            self.cluster.count(old, row, -1)
            self.cluster.count(pod, row, 1)
        elif pod.labels != old.labels or pod.is_terminating != old.is_terminating:
            self.cluster.pod_counts.count(old, row, -1)
            self.cluster.pod_counts.count(pod, row, 1)
        if cached.is_assumed:
            cached.is_assumed = False
            self.assumed_count -= 1
            return None
        return old

    def remove(self, uid: str) -> PodInfo | None:
        """Take in that a Pod is gone; gives its last version, None if it was not on a Node.

        One that was only assumed to be on its Node is given with the Node's name, too.
        """
        cached = self._pods.pop(uid, None)
        if cached is None:
            return None
        self.assumed_count -= cached.is_assumed
        pod = cached.pod
        if not pod.node_name:
            pod = msgspec.structs.replace(pod, node_name=self.columns.names[cached.row])
        self._take_off(cached.pod, cached.row)
        self._release_if_unused(cached.row)
        return pod

    def set_aside(self, uid: str) -> CachedPod:
        """Count a Pod off its Node for a moment, to see what would be; `bring_back` undoes it.

        Other than in a `speculation`, evaluations may be refreshed meanwhile.
        """
        cached = self._pods.pop(uid)
        self._take_off(cached.pod, cached.row)
        return cached

    def bring_back(self, cached: CachedPod) -> None:
        """Count a Pod that was set aside where it was."""
        self._place(cached)

    @contextmanager
    def speculation(self) -> Iterator["Speculation"]:
        """Count Pods on and off Nodes for a while, to ask plugins what would be.

        Whatever was done is undone at the end. Evaluations must not be refreshed meanwhile.
        """
        position = self.columns.usage_log.position
        speculation = Speculation(self.cluster)
        try:
            yield speculation
        finally:
            speculation.undo()
            self.columns.usage_log.rewind(position)

    def _place(self, cached: CachedPod) -> None:
        pod, row = cached.pod, cached.row
        self._pods[pod.uid] = cached
        on_row = self._pods_by_row.get(row)
        if on_row is None:
            on_row = self._pods_by_row[row] = {}
        on_row[pod.uid] = cached
        self._priorities[pod.shape.priority] += 1
        self.cluster.count(pod, row, 1)

    def _take_off(self, pod: PodInfo, row: int) -> None:
        del self._pods_by_row[row][pod.uid]
        self._priorities[pod.shape.priority] -= 1
        self.cluster.count(pod, row, -1)

    def _release_if_unused(self, row: int) -> None:
        if self.columns.infos[row] is None and self.columns.free[PODS_ROW, row] == 0:
            self._pods_by_row.pop(row, None)
            self.columns.release_row(row)

    def validate(self) -> None:
        """Compare the columns with a recount. O(Pods + Nodes); raises `InvariantError`."""
        recount = Cluster()
        for info in self.columns.infos:
            if info is not None:
                recount.columns.set_node(info)
        for cached in self._pods.values():
            row = recount.columns.row_for(self.columns.names[cached.row])
            recount.count(cached.pod, row, 1)
        if describe(recount.columns) != describe(self.columns):
            raise InvariantError("the columns differ from a recount of Nodes and Pods")
        if _groups(recount) != _groups(self.cluster):
            raise InvariantError("the counts of Pods differ from a recount")
        if _terms(recount) != _terms(self.cluster):
            raise InvariantError("the holders of affinity terms differ from a recount")
        if +self._priorities != Counter(c.pod.shape.priority for c in self._pods.values()):
            raise InvariantError("the counts of priorities differ from a recount")
        by_row = {uid: row for row, pods in self._pods_by_row.items() for uid in pods}
        if by_row != {uid: cached.row for uid, cached in self._pods.items()}:
            raise InvariantError("the Pods of each Node differ from the Pods")
        if self.assumed_count != sum(cached.is_assumed for cached in self._pods.values()):
            raise InvariantError("the count of assumed Pods is wrong")


class Speculation:
    """Pods counted on and off Nodes, for as long as `Cache.speculation` lasts."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._done = cluster.speculated
        # One within another undoes only what is its own.
        self._start = len(self._done)
        self._freed: list[tuple[RowArray, Int64Array]] = []
        self._forgotten = cluster.columns.ports.forgotten

    def add(self, pod: PodInfo, row: int) -> None:
        """Count a Pod on the Node of `row`."""
        self._count(pod, row, 1)

    def remove(self, pod: PodInfo, row: int) -> None:
        """Count a Pod off the Node of `row`, on which it is."""
        self._count(pod, row, -1)

    def free_up(self, rows: RowArray, amounts: Int64Array) -> None:
        """Add int64 `(R, K)` to what is free on K different rows, nothing else changes."""
        self._cluster.columns.free_up(rows, amounts)
        self._freed.append((rows, amounts))

    def undo(self) -> None:
        """Bring everything back to what it was."""
        while self._freed:
            rows, amounts = self._freed.pop()
            self._cluster.columns.free_up(rows, -amounts)
        while len(self._done) > self._start:
            pod, row, sign = self._done.pop()
            self._cluster.count(pod, row, -sign)
        self._cluster.columns.ports.restore(self._forgotten)

    def _count(self, pod: PodInfo, row: int, sign: int) -> None:
        self._cluster.count(pod, row, sign)
        self._cluster.columns.ports.forget(row, pod.shape.host_ports, sign)
        self._done.append((pod, row, sign))


def _groups(cluster: Cluster) -> dict[object, dict[str, int]]:
    return _by_name(cluster, cluster.pod_counts.held())


def _terms(cluster: Cluster) -> dict[object, dict[str, int]]:
    return _by_name(cluster, cluster.affinity_terms.held())


def _by_name(
    cluster: Cluster, counts: Iterable[tuple[object, dict[int, int]]]
) -> dict[object, dict[str, int]]:
    names = cluster.columns.names
    return {key: {names[row]: count for row, count in rows.items()} for key, rows in counts}


def describe(columns: NodeColumns) -> dict[str, dict[str, object]]:
    """Give the columns by Node and resource name, zeros left out: independent of row order."""
    names = ("scored cpu", "scored memory", *columns.resource_names)
    rows = (0, 1, *(columns.resource_row(name) for name in columns.resource_names))
    result: dict[str, dict[str, object]] = {}
    for node, row in columns.rows.items():
        amounts: dict[str, object] = {}
        for kind, array in (("allocatable", columns.allocatable), ("free", columns.free)):
            for name, resource in zip(names, rows, strict=True):
                if array[resource, row] != 0:
                    amounts[f"{kind} {name}"] = int(array[resource, row])
        amounts["live"] = bool(columns.live[row])
        amounts["unschedulable"] = bool(columns.unschedulable[row])
        amounts["taints"] = columns.taint_sets[columns.taint_codes[row]]
        amounts["ports"] = columns.ports.held(row)
        amounts["images"] = columns.images.held(row)
        result[node] = amounts
    return result
