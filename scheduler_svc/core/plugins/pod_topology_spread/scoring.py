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
from scheduler_svc.core.columns import Float64Array, Int64Array, NodeView
from scheduler_svc.core.framework.interface import MAX_NODE_SCORE
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.plugins.pod_topology_spread.domains import DomainCounts
from scheduler_svc.core.plugins.pod_topology_spread.node_kinds import NodeKinds, Trait
from scheduler_svc.core.plugins.pod_topology_spread.rules import (
    HOSTNAME,
    SpreadConstraint,
    SpreadRules,
)
from scheduler_svc.core.pod_counts import PodCounter
from scheduler_svc.core.pods import PodInfo

_MAX_TABLES: Final = 8


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

    def contributions(self, levels: Int64Array, size: int) -> Float64Array:
        """Give what each kind's domain adds to its raw score, float64 `(kinds + 1,)`.

        A kind without the label gets something as well, which is not right.
        """
        counts = levels if self.domains is None else self.domains.sums[levels]
        added: Float64Array = counts * np.float64(math.log(size + 2))
        added += self.constraint.max_skew - 1
        return added


class SoftState:
    """All soft constraints of a class, in order, and the kinds of Nodes they tell apart."""

    __slots__ = (
        "_constraints",
        "_copies_quirks",
        "_ignored",
        "_kinds",
        "_lacks",
        "_needs_all_keys",
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
        self._version = -1
        # Which kinds lack which label, and the kinds that are worth nothing.
        self._lacks: BoolArray = np.ones((len(rules.soft), 1), dtype=np.bool_)
        self._ignored: RowArray = np.zeros(1, dtype=np.intp)
        self._tables: dict[tuple[object, ...], Int64Array] = {}

    def scores(self, nodes: NodeView, feasible: BoolArray) -> Int64Array:
        """Give int64 `(K,)`, 0 to 100, normalized over the feasible Nodes."""
        kinds = self._kinds
        kinds.refresh()
        if kinds.version != self._version:
            self._look_at_kinds()
        of_row = kinds.of_row[nodes.rows]
        # Nodes that are not feasible are of kind 0.
        counts = np.bincount(of_row * feasible.view(np.uint8), minlength=kinds.levels.shape[1])
        counts[self._ignored] = 0
        for constraint in self._constraints:
            if constraint.domains is not None:
                constraint.domains.refresh()
        return self._table(counts).take(of_row)

    def _table(self, counts: npt.NDArray[np.intp]) -> Int64Array:
        """Give each kind's score, int64 `(kinds + 1,)`, given the feasible Nodes of each.

        The last few are kept: where Nodes count for themselves, it is the same again
        and again.
        """
        present = counts > 0
        size = int(counts.sum())
        versions = [c.domains.version for c in self._constraints if c.domains is not None]
        key = (self._version, size, present.tobytes(), *versions)
        table = self._tables.get(key)
        if table is None:
            if len(self._tables) == _MAX_TABLES:
                self._tables.clear()
            table = self._tables[key] = self._normalized(size, present)
        return table

    def _normalized(self, size: int, present: BoolArray) -> Int64Array:
        raw = self._raw(size, present)
        among = raw[present]
        if not len(among):
            return np.zeros(len(raw), dtype=np.int64)
        highest, lowest = float(among.max()), float(among.min())
        if highest == 0:
            normalized = np.full(len(raw), MAX_NODE_SCORE, dtype=np.int64)
        else:
            # Both are whole numbers far below 2^53, so that this is the integers' division.
            raw *= -MAX_NODE_SCORE
            raw += MAX_NODE_SCORE * (highest + lowest)
            normalized = (raw // highest).astype(np.int64)
        normalized[self._ignored] = 0
        return normalized

    def _look_at_kinds(self) -> None:
        self._version = self._kinds.version
        self._lacks = self._kinds.levels < 0
        if self._needs_all_keys:
            self._ignored = np.flatnonzero(self._lacks.any(axis=0))

    def _raw(self, size: int, present: BoolArray) -> Float64Array:
        """Give each kind's score before it is compared: whole numbers, float64 `(kinds + 1,)`."""
        levels = self._kinds.levels
        total: Float64Array = np.zeros(len(present), dtype=np.float64)
        for index, constraint in enumerate(self._constraints):
            if constraint.domains is not None:
                size_of_it = self._domain_size(constraint, levels[index, present])
            else:
                size_of_it = size
            added = constraint.contributions(levels[index], size_of_it)
            added[self._lacks[index]] = 0
            total += added
        # No product of a count and a logarithm ends in exactly .5, where Go would round up.
        return np.rint(total, out=total)

    def _domain_size(self, constraint: _Weighted, levels: Int64Array) -> int:
        """Give how many domains the feasible Nodes that count are in."""
        node_counts = np.bincount(levels + 1, minlength=1)
        size = int(np.count_nonzero(node_counts))
        if node_counts[0]:
            # Upstream takes Nodes without the label for a domain, that of the empty value.
            empty = constraint.trait.column.code_of("")
            if not self._copies_quirks or (empty is not None and (levels == empty).any()):
                size -= 1
        return size
