"""The soft part: how full a Node's domains are, compared with those of the other feasible Nodes.

Source: pkg/scheduler/framework/plugins/podtopologyspread/scoring.go, v1.36.3. Difference: it is
computed for each kind of Node instead of each Node.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import Float64Array, NodeView
from scheduler_svc.core.framework.interface import MAX_NODE_SCORE, ScoreArray
from scheduler_svc.core.labels import ABSENT, BoolArray
from scheduler_svc.core.plugins.pod_topology_spread.domains import DomainCounts
from scheduler_svc.core.plugins.pod_topology_spread.node_kinds import NodeKinds, Trait
from scheduler_svc.core.plugins.pod_topology_spread.rules import (
    HOSTNAME,
    SpreadConstraint,
    SpreadRules,
)
from scheduler_svc.core.pod_counts import PodCounter
from scheduler_svc.core.pods import PodInfo

# Up to which plain numbers are faster than arrays.
_FEW_KINDS: Final = 48
_MAX_TABLES: Final = 64

_NO_TABLE: Final[ScoreArray] = np.zeros(0, dtype=np.int16)


class _Weighted:
    """A constraint with what it counts: the Node's own Pods for hostname, else its domain's."""

    __slots__ = ("constraint", "counter", "domains", "trait")

    def __init__(
        self,
        constraint: SpreadConstraint,
        keys: Sequence[str],
        pod: PodInfo,
        cluster: Cluster,
        *,
        absent_is_empty: bool,
    ) -> None:
        self.constraint = constraint
        column = cluster.columns.label_column(constraint.topology_key)
        self.domains: DomainCounts | None = None
        # Held, so that the Pods go on being counted.
        self.counter: PodCounter | None = None
        if constraint.topology_key == HOSTNAME:
            self.counter = cluster.pod_counts.counter(constraint.query(pod.namespace))
            self.trait = Trait(column, self.counter.tally)
            return
        self.trait = Trait(column)
        self.domains = DomainCounts(constraint, keys, pod, cluster, absent_is_empty=absent_is_empty)


class SoftFault:
    """A class with a soft constraint that makes no sense; it fails once there are Nodes to score.

    `text` says what is wrong, `is_asked` whether it was asked about any.
    """

    __slots__ = ("is_asked", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_asked = False

    @property
    def size_bytes(self) -> int:
        """None that is worth counting."""
        return 0

    def scores(self, nodes: NodeView, feasible: BoolArray) -> ScoreArray:
        """Give 0 for each."""
        self.is_asked |= bool(feasible.any())
        return np.zeros(nodes.count, dtype=np.int16)


class SoftState:
    """All soft constraints of a class, in order, and the kinds of Nodes they tell apart."""

    __slots__ = (
        "_constraints",
        "_copies_quirks",
        "_counted",
        "_domains",
        "_ignored",
        "_kinds",
        "_levels",
        "_needs_all_keys",
        "_scores",
        "_table",
        "_tables",
        "_version",
    )

    def __init__(
        self, rules: SpreadRules, pod: PodInfo, cluster: Cluster, *, copies_quirks: bool
    ) -> None:
        self._needs_all_keys = rules.needs_all_keys
        self._copies_quirks = copies_quirks
        keys = [c.topology_key for c in rules.soft] if rules.needs_all_keys else []
        absent_is_empty = copies_quirks and not rules.needs_all_keys
        self._constraints = [
            _Weighted(constraint, keys, pod, cluster, absent_is_empty=absent_is_empty)
            for constraint in rules.soft
        ]
        self._kinds = NodeKinds(cluster.columns, [c.trait for c in self._constraints])
        self._domains = [c.domains for c in self._constraints if c.domains is not None]
        self._version = -1
        # Where there are few kinds and only Nodes' own Pods count: each kind's score, by the kinds
        # that are feasible and the number of their Nodes. It hardly ever changes.
        self._tables: dict[tuple[tuple[int, ...], int], ScoreArray] = {}
        # The scores given last, and the table they are from.
        self._scores: ScoreArray = _NO_TABLE
        self._table: ScoreArray = _NO_TABLE
        # Where there are few kinds, their levels, and those that are worth something.
        self._levels: list[list[int]] = []
        self._counted: list[int] = []
        self._ignored: RowArray = np.zeros(1, dtype=np.intp)

    @property
    def size_bytes(self) -> int:
        """The memory that is kept by Node and domain."""
        domains = (domains.size_bytes for domains in self._domains)
        return self._kinds.size_bytes + self._scores.nbytes + sum(domains)

    def scores(self, nodes: NodeView, feasible: BoolArray) -> ScoreArray:
        """Give int16 `(K,)`, 0 to 100, normalized over the feasible Nodes."""
        kinds = self._kinds
        changed = kinds.refresh()
        if kinds.version != self._version:
            self._look_at_kinds()
        for domains in self._domains:
            domains.refresh()
        kind_count = kinds.levels.shape[1]
        if kind_count <= _FEW_KINDS and isinstance(nodes.rows, slice) and not nodes.rows.start:
            table = self._table_of_few(kinds.counts(feasible))
            return self._looked_up(table, nodes.rows, changed)
        self._table = _NO_TABLE
        of_row = kinds.of_row[nodes.rows]
        counts = np.bincount(of_row[feasible], minlength=kind_count)
        counts[self._ignored] = 0
        return self._of_many(counts).take(of_row, mode="clip")

    def _looked_up(
        self, table: ScoreArray, rows: slice, changed: Sequence[int] | None
    ) -> ScoreArray:
        """Give the scores of the first rows, of which those that `changed` may be of other kinds.

        Read-only: they are kept, and only brought up to date while the table is the same.
        """
        of_row = self._kinds.of_row
        if changed is not None and table is self._table and len(self._scores) == rows.stop:
            for row in [row for row in changed if row < rows.stop]:
                self._scores[row] = table[of_row[row]]
        else:
            # Every kind has an entry; to have that checked costs as much again.
            self._scores = table.take(of_row[rows], mode="clip")
            self._table = table
        return self._scores

    def _look_at_kinds(self) -> None:
        self._version = self._kinds.version
        self._tables.clear()
        self._table = _NO_TABLE
        levels = self._kinds.levels
        if self._needs_all_keys:
            self._ignored = np.flatnonzero((levels < 0).any(axis=0))
        if levels.shape[1] <= _FEW_KINDS:
            self._levels = levels.tolist()
            ignored = set(self._ignored.tolist())
            self._counted = [kind for kind in range(levels.shape[1]) if kind not in ignored]

    def _table_of_few(self, counts: list[int]) -> ScoreArray:
        """Give each kind's score, int16 `(kinds + 1,)`, given the feasible Nodes of each."""
        present = tuple([kind for kind in self._counted if counts[kind]])
        node_count = sum([counts[kind] for kind in present])
        if self._domains:
            return self._of_few(present, node_count, len(counts))
        table = self._tables.get((present, node_count))
        if table is None:
            if len(self._tables) == _MAX_TABLES:
                self._tables.clear()
            table = self._of_few(present, node_count, len(counts))
            known = (other for other in self._tables.values() if np.array_equal(other, table))
            table = self._tables[present, node_count] = next(known, table)
        return table

    def _of_few(self, present: Sequence[int], node_count: int, kind_count: int) -> ScoreArray:
        """Give the table for the kinds that are feasible."""
        raw = [0.0] * len(present)
        for constraint, levels in zip(self._constraints, self._levels, strict=True):
            own = [levels[kind] for kind in present]
            size = node_count if constraint.domains is None else self._size(constraint, set(own))
            weight, added = math.log(size + 2), constraint.constraint.max_skew - 1
            if constraint.domains is not None:
                sums = constraint.domains.sums
                own = [level if level < 0 else int(sums[level]) for level in own]
            raw = [
                total if count < 0 else total + (count * weight + added)
                for total, count in zip(raw, own, strict=True)
            ]
        # No product of a count and a logarithm ends in exactly .5, where Go would round up.
        whole = [round(total) for total in raw]
        highest, lowest = max(whole, default=0), min(whole, default=0)
        table = [0] * kind_count
        for kind, value in zip(present, whole, strict=True):
            if highest:
                table[kind] = MAX_NODE_SCORE * (highest + lowest - value) // highest
            else:
                table[kind] = MAX_NODE_SCORE
        return np.array(table, dtype=np.int16)

    def _of_many(self, counts: npt.NDArray[np.intp]) -> ScoreArray:
        """Give the same as `_table_of_few`, at a cost that hardly grows with the kinds."""
        present = counts > 0
        table = np.zeros(len(counts), dtype=np.int16)
        levels = self._kinds.levels[:, present]
        if not levels.shape[1]:
            return table
        raw: Float64Array = np.zeros(levels.shape[1], dtype=np.float64)
        for constraint, own in zip(self._constraints, levels, strict=True):
            if constraint.domains is None:
                size, own_counts = int(counts.sum()), own
            else:
                size = self._size(constraint, set(np.unique(own).tolist()))
                own_counts = constraint.domains.sums[own]
            added = own_counts * math.log(size + 2) + (constraint.constraint.max_skew - 1)
            raw += np.where(own < 0, 0, added)
        whole = np.rint(raw).astype(np.int64)
        highest, lowest = int(whole.max()), int(whole.min())
        if highest:
            table[present] = MAX_NODE_SCORE * (highest + lowest - whole) // highest
        else:
            table[present] = MAX_NODE_SCORE
        return table

    def _size(self, constraint: _Weighted, levels: set[int]) -> int:
        """Give how many domains there are, of `levels` that occur."""
        if ABSENT not in levels:
            return len(levels)
        # Upstream takes Nodes without the label for a domain, that of the empty value.
        is_one_more = self._copies_quirks and constraint.trait.column.code_of("") not in levels
        return len(levels) if is_one_more else len(levels) - 1
