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

from collections.abc import Iterator

import msgspec

from scheduler_svc.core.columns import PODS_ROW, NodeColumns
from scheduler_svc.core.errors import InvariantError
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.pods import PodInfo


class CachedPod(msgspec.Struct, gc=False):
    """A Pod, the row of its Node, and whether its being there is only our assumption."""

    pod: PodInfo
    row: int
    is_assumed: bool


class Cache:
    """Nodes and the Pods on them, over `columns`."""

    def __init__(self, columns: NodeColumns) -> None:
        self.columns = columns
        self.assumed_count = 0
        self._pods: dict[str, CachedPod] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def __len__(self) -> int:
        return len(self._pods)

    def pods(self) -> Iterator[CachedPod]:
        """Give all Pods, added and assumed."""
        return iter(self._pods.values())

    def is_assumed(self, uid: str) -> bool:
        """Whether the Pod is assumed and not yet confirmed."""
        cached = self._pods.get(uid)
        return cached is not None and cached.is_assumed

    def get(self, uid: str) -> PodInfo | None:
        """Give what is known of a Pod that is on a Node."""
        cached = self._pods.get(uid)
        return None if cached is None else cached.pod

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
        self._pods[pod.uid] = CachedPod(pod, row, is_assumed=True)
        self.assumed_count += 1
        self._count(pod, row, 1)

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
            self._pods[pod.uid] = CachedPod(pod, row, is_assumed=False)
            self._count(pod, row, 1)
            return None
        old, old_row = cached.pod, cached.row
        cached.pod, cached.row = pod, row
        if row != old_row or pod.requests != old.requests or pod.shape is not old.shape:
            self._count(old, old_row, -1)
            self._count(pod, row, 1)
            if row != old_row:
                self._release_if_unused(old_row)
        if cached.is_assumed:
            cached.is_assumed = False
            self.assumed_count -= 1
            return None
        return old

    def remove(self, uid: str) -> PodInfo | None:
        """Take in that a Pod is gone; gives its last version, None if it was not on a Node."""
        cached = self._pods.pop(uid, None)
        if cached is None:
            return None
        self.assumed_count -= cached.is_assumed
        self._count(cached.pod, cached.row, -1)
        self._release_if_unused(cached.row)
        return cached.pod

    def _count(self, pod: PodInfo, row: int, sign: int) -> None:
        self.columns.add_usage(row, pod.requests, sign)
        if pod.shape.host_ports:
            self.columns.ports.add(row, pod.shape.host_ports, sign)

    def _release_if_unused(self, row: int) -> None:
        if self.columns.infos[row] is None and self.columns.free[PODS_ROW, row] == 0:
            self.columns.release_row(row)

    def validate(self) -> None:
        """Compare the columns with a recount. O(Pods + Nodes); raises `InvariantError`."""
        recount = NodeColumns()
        for info in self.columns.infos:
            if info is not None:
                recount.set_node(info)
        for cached in self._pods.values():
            row = recount.row_for(self.columns.names[cached.row])
            recount.add_usage(row, cached.pod.requests, 1)
            recount.ports.add(row, cached.pod.shape.host_ports, 1)
        if describe(recount) != describe(self.columns):
            raise InvariantError("the columns differ from a recount of Nodes and Pods")
        if self.assumed_count != sum(cached.is_assumed for cached in self._pods.values()):
            raise InvariantError("the count of assumed Pods is wrong")


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
