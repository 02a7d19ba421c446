"""Which pending Pods have been promised room on which Node.

A Pod is nominated where victims are being evicted for it, or where something else (an
autoscaler, an earlier run of the scheduler) has said so in its status. Until it is placed, Pods
of lower or equal priority leave it its room.

Source: pkg/scheduler/backend/queue/nominator.go, v1.36.3. Difference: a nominated Pod counts
with all that it is also while it is being tried itself; upstream counts an empty Pod then.
"""

from collections.abc import Collection
from typing import Final

import numpy as np

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import Int64Array, NodeColumns
from scheduler_svc.core.pods import PodInfo

_NOBODY: Final[dict[str, PodInfo]] = {}
_NO_ROWS: Final[RowArray] = np.zeros(0, dtype=np.intp)
# Below every priority, which is an int32.
_NO_PRIORITY: Final = -(2**31) - 1


class Nominator:
    """Nominated Pods by Node. At most one nomination a Pod; what nobody nominates costs nothing.

    `node_names` is for reading: by uid, the Node of each Pod that has a nomination.

    Cost of a change: O(Pods nominated to that Node), of `rows_respected_by`: O(N), after a
    Node has changed also O(nominated Pods).
    """

    def __init__(self, columns: NodeColumns) -> None:
        self._columns = columns
        self.node_names: dict[str, str] = {}
        self._pods: dict[str, dict[str, PodInfo]] = {}
        self._highest: Int64Array = np.zeros(0, dtype=np.int64)
        self._spec_position = -1

    def __len__(self) -> int:
        return len(self.node_names)

    def node_name_of(self, uid: str) -> str:
        """Give the Node that a Pod is nominated to, "" without one."""
        return self.node_names.get(uid, "")

    def nominated(self, uid: str) -> PodInfo | None:
        """Give a Pod that has a nomination; None without one."""
        node_name = self.node_names.get(uid)
        return None if node_name is None else self._pods[node_name][uid]

    def pods_on(self, node_name: str) -> Collection[PodInfo]:
        """Give the Pods nominated to a Node."""
        return self._pods.get(node_name, _NOBODY).values()

    def nominate(self, pod: PodInfo, node_name: str) -> str:
        """Nominate a Pod, "" for nowhere; gives the Node it was nominated to before."""
        former = self.forget(pod.uid)
        if node_name:
            self.node_names[pod.uid] = node_name
            self._pods.setdefault(node_name, {})[pod.uid] = pod
            self._note(node_name)
        return former

    def update(self, old: PodInfo | None, new: PodInfo) -> str:
        """Take in a pending Pod as the watch tells it; gives its nomination before.

        A nomination that no version of the Pod has shown yet is kept: the watch is behind.
        """
        shown = new.nominated_node_name
        if not shown and not (old is not None and old.nominated_node_name):
            shown = self.node_name_of(new.uid)
        return self.nominate(new, shown)

    def forget(self, uid: str) -> str:
        """Drop a Pod's nomination, if it has one; gives the Node."""
        node_name = self.node_names.pop(uid, "")
        if node_name:
            pods = self._pods[node_name]
            del pods[uid]
            if not pods:
                del self._pods[node_name]
            self._note(node_name)
        return node_name

    def respected_by(self, pod: PodInfo, node_name: str) -> list[PodInfo]:
        """Give the other Pods of a Node's nominated ones for which `pod` must leave room."""
        return [
            other
            for other in self.pods_on(node_name)
            if other.priority >= pod.priority and other.uid != pod.uid
        ]

    def rows_respected_by(self, pod: PodInfo) -> RowArray:
        """Give the rows of the live Nodes for which `respected_by` gives somebody, ascending."""
        if not self.node_names:
            return _NO_ROWS
        columns = self._columns
        if self._spec_position != columns.spec_log.position:
            self._rebuild()
        rows: RowArray = np.flatnonzero((self._highest >= pod.priority) & columns.live)
        own = columns.rows.get(self.node_name_of(pod.uid))
        if own is not None and not self.respected_by(pod, columns.names[own]):
            rows = rows[rows != own]
        return rows

    def _rebuild(self) -> None:
        self._spec_position = self._columns.spec_log.position
        self._highest = np.full(self._columns.capacity, _NO_PRIORITY, dtype=np.int64)
        for node_name in self._pods:
            self._note(node_name)

    def _note(self, node_name: str) -> None:
        """Bring the highest priority nominated to a Node up to date."""
        row = self._columns.rows.get(node_name)
        if row is not None and row < len(self._highest):
            self._highest[row] = max(
                (pod.priority for pod in self.pods_on(node_name)), default=_NO_PRIORITY
            )
