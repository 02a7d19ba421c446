"""The Pods that a constraint counts, summed over the Nodes of each domain that it counts.

Source: pkg/scheduler/framework/plugins/podtopologyspread/{common,filtering,scoring}.go, v1.36.3.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import Int64Array, NodeView
from scheduler_svc.core.labels import ABSENT, Int32Array, Rows
from scheduler_svc.core.plugins.pod_topology_spread.rules import SpreadConstraint
from scheduler_svc.core.pod_counts import Tally
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.required_affinity import required_affinity
from scheduler_svc.core.taints import keeps_away

# Of all rows, the part beyond which it is cheaper to count anew than to look at each.
_FEW: Final = 64
# Up to which plain numbers are faster than arrays.
_FEW_DOMAINS: Final = 32


class DomainCounts:
    """Sums of one constraint for one class of Pods, kept with every Pod and Node that changes.

    `sums` and `node_counts` are int64 `(V + 1,)` over the V values that the label has had on
    any Node: Pods, and the Nodes that count. The last entry, which the code of an absent
    label indexes, stays 0. A Node counts if it has all of `keys` and is not left out by
    one of the constraint's policies. `version` changes whenever a sum may have.

    `absent_is_empty`: Nodes without the label count for the domain of the empty value,
    if there is one, as upstream's maps make it where not all keys are needed.

    Cost of `refresh`: O(Pods and Nodes that changed), O(N) when too many have.
    """

    __slots__ = (
        "_absent_is_empty",
        "_codes",
        "_columns",
        "_constraint",
        "_counter",
        "_empty_code",
        "_keys",
        "_pods_position",
        "_required",
        "_spec_position",
        "_tolerations",
        "column",
        "domain_count",
        "node_counts",
        "sums",
        "version",
    )

    def __init__(
        self,
        constraint: SpreadConstraint,
        keys: Sequence[str],
        pod: PodInfo,
        cluster: Cluster,
        *,
        absent_is_empty: bool = False,
    ) -> None:
        self._constraint = constraint
        self._columns = cluster.columns
        self._counter = cluster.pod_counts.counter(constraint.query(pod.namespace))
        self._required = required_affinity(pod.shape)
        self._tolerations = pod.shape.tolerations
        self._keys = keys
        self._absent_is_empty = absent_is_empty
        self._empty_code: int | None = None
        self._spec_position = self._pods_position = -1
        self._codes: Int32Array = np.zeros(0, dtype=np.int32)
        self.column = cluster.columns.label_column(constraint.topology_key)
        self.sums: Int64Array = np.zeros(1, dtype=np.int64)
        self.node_counts: Int64Array = np.zeros(1, dtype=np.int64)
        self.domain_count = 0
        self.version = 0

    @property
    def tally(self) -> Tally:
        """The Pods that are counted, by Node."""
        return self._counter.tally

    @property
    def size_bytes(self) -> int:
        """The memory its arrays take."""
        return self._codes.nbytes + self.sums.nbytes + self.node_counts.nbytes

    def minimum(self, sums: Int64Array, min_domains: int) -> int:
        """Give the lowest of `sums` over the domains with Nodes that count; 0 of too few."""
        if self.domain_count < max(min_domains, 1):
            return 0
        among = sums[:-1]
        if self.domain_count < len(among):
            among = among[self.node_counts[:-1] > 0]
        return min(among.tolist()) if len(among) <= _FEW_DOMAINS else int(among.min())

    def code(self, row: int) -> int:
        """Give the domain of a Node that counts, `ABSENT` for others."""
        return self._codes.item(row)

    def refresh(self) -> None:
        """Bring the sums up to date with Nodes and Pods."""
        columns, log = self._columns, self._counter.tally.log
        spec_rows, pod_changes, is_resized = None, None, len(self._codes) != columns.capacity
        if not is_resized and columns.spec_log.position == self._spec_position:
            # Only Pods have come or gone, as between most decisions.
            pod_changes = log.since(self._pods_position)
            if pod_changes is not None and _FEW * len(pod_changes) <= len(self._codes):
                self._pods_position = log.position
                self._add(pod_changes)
                return
        elif not is_resized and not self._has_new_empty_code():
            spec_rows = columns.spec_log.since(self._spec_position)
            pod_changes = log.since(self._pods_position)
        self._spec_position = columns.spec_log.position
        self._pods_position = log.position
        if (
            spec_rows is None
            or pod_changes is None
            or _FEW * (len(spec_rows) + len(pod_changes)) > columns.capacity
        ):
            self._recount()
            return
        self._add(pod_changes)
        self._move(np.unique(spec_rows))

    def _has_new_empty_code(self) -> bool:
        return self._absent_is_empty and self.column.code_of("") != self._empty_code

    def _recount(self) -> None:
        self.version += 1
        self._empty_code = self.column.code_of("")
        codes = self._codes = self._judged(slice(0, self._columns.capacity))
        counted = codes >= 0
        length, counts = len(self.column.values) + 1, self.tally.counts
        self.node_counts = np.bincount(codes[counted], minlength=length)
        sums = np.bincount(codes[counted], weights=counts[counted], minlength=length)
        self.sums = sums.astype(np.int64)
        self.domain_count = int(np.count_nonzero(self.node_counts))

    def _add(self, changes: RowArray) -> None:
        if not len(changes):
            return
        code_of, sums = self._codes.item, self.sums
        for encoded in changes.tolist():
            code = code_of(encoded >> 1)
            if code >= 0:
                sums[code] += 1 - 2 * (encoded & 1)
        self.version += 1

    def _move(self, rows: RowArray) -> None:
        """Take the Pods of Nodes that count elsewhere now, or no more, or newly, with them."""
        added = len(self.column.values) + 1 - len(self.sums)
        if added:
            blank = np.zeros(added, dtype=np.int64)
            self.sums = np.concatenate([self.sums, blank])
            self.node_counts = np.concatenate([self.node_counts, blank])
            self.version += 1
        new, old = self._judged(rows), self._codes[rows]
        moved = new != old
        if not moved.any():
            return
        counts = self.tally.counts[rows]
        for codes, sign in ((old, -1), (new, 1)):
            counted = moved & (codes >= 0)
            np.add.at(self.sums, codes[counted], sign * counts[counted])
            np.add.at(self.node_counts, codes[counted], sign)
        self._codes[rows] = new
        self.domain_count = int(np.count_nonzero(self.node_counts))
        self.version += 1

    def _judged(self, rows: Rows) -> Int32Array:
        """Give the domains of the Nodes in `rows` that count, `ABSENT` for others."""
        columns, constraint = self._columns, self._constraint
        nodes = NodeView(columns, rows)
        codes = self.column.codes[rows]
        counts = columns.live[rows].copy()
        for key in self._keys:
            counts &= columns.label_column(key).codes[rows] >= 0
        if constraint.honors_affinity and self._required.is_given:
            counts &= self._required.mask(nodes)
        if constraint.honors_taints:
            taint_codes = columns.taint_codes[rows]
            is_kept = np.zeros(len(columns.taint_sets), dtype=np.bool_)
            for code in np.unique(taint_codes).tolist():
                is_kept[code] = keeps_away(columns.taint_sets[code], self._tolerations)
            counts &= ~is_kept[taint_codes]
        if self._absent_is_empty and self._empty_code is not None:
            codes = np.where(codes < 0, self._empty_code, codes)
        return np.where(counts, codes, ABSENT).astype(np.int32)
