"""The evaluation of a class for which plugins look at the whole cluster.

What depends on a Node alone is kept and patched by an `Evaluation` without normalized
scores. On top of it, at every refresh, the plugins of scope CLUSTER are asked about all
Nodes, and what is normalized is so over the Nodes that remain feasible.

Invariant: after `refresh` it equals an evaluation made from scratch.
Cost: that of an `Evaluation`, and some array operations over all N rows a plugin.
"""

from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import Int64Array, NodeColumns, NodeView
from scheduler_svc.core.framework.evaluation import INFEASIBLE, Evaluation, TotalArray
from scheduler_svc.core.framework.interface import (
    MAX_NODE_SCORE,
    ClusterScorePlugin,
    NormalizedScorePlugin,
    Plugin,
    Scope,
    State,
)
from scheduler_svc.core.framework.normalized_share import NormalizedShare
from scheduler_svc.core.framework.prepared import PreparedClass
from scheduler_svc.core.framework.stopwatch import Stopwatch, timed
from scheduler_svc.core.labels import BoolArray, is_anywhere

_EVERY_ROW: Final = slice(None)
# An array without dimensions, as all that are reckoned with here: a number of Python's costs more.
_ONE: Final[npt.NDArray[np.int8]] = np.array(1, dtype=np.int8)


class ClassEvaluation(Protocol):
    """One class over all Nodes: `totals` `(N,)`, `INFEASIBLE` where it may not run."""

    prepared: PreparedClass
    totals: TotalArray

    @property
    def size_bytes(self) -> int:
        """The memory its arrays take."""

    def refresh(self, columns: NodeColumns, stopwatch: Stopwatch | None = None) -> None:
        """Bring the totals up to date."""

    def shares_at(self, columns: NodeColumns, rows: RowArray) -> dict[str, Int64Array]:
        """Give what each plugin adds to the totals of some rows; right after a refresh only."""


def evaluation_of(prepared: PreparedClass) -> ClassEvaluation:
    """Give an evaluation of the kind that the class's plugins need."""
    looks_around = any(plugin.filter_scope is Scope.CLUSTER for plugin, _ in prepared.filters)
    looks_around |= any(isinstance(plugin, ClusterScorePlugin) for plugin, _, _ in prepared.scores)
    return ClusterEvaluation(prepared) if looks_around else Evaluation(prepared)


class ClusterEvaluation:
    """An `Evaluation` and what plugins of scope CLUSTER make of it."""

    __slots__ = (
        "_constant",
        "_constant_of",
        "_dtype",
        "_fallible",
        "_filters",
        "_infeasible",
        "_local",
        "_normalized",
        "_reads_usage",
        "_scores",
        "_shares",
        "_spec_position",
        "_usage_position",
        "prepared",
        "totals",
    )

    def __init__(self, prepared: PreparedClass) -> None:
        self.prepared = prepared
        self._local = Evaluation(_local_part(prepared))
        self._filters = [f for f in prepared.filters if f[0].filter_scope is Scope.CLUSTER]
        self._fallible = [
            f for f in self._filters if type(f[0]).forget_failure is not Plugin.forget_failure
        ]
        self._normalized = [
            NormalizedShare(plugin, state, weight)
            for plugin, state, weight in prepared.scores
            if isinstance(plugin, NormalizedScorePlugin)
        ]
        self._reads_usage = any(s.plugin.score_scope is not Scope.SPEC for s in self._normalized)
        highest = MAX_NODE_SCORE * sum(weight for _, _, weight in prepared.scores)
        self._dtype = np.min_scalar_type(INFEASIBLE - highest)
        self._scores: list[tuple[ClusterScorePlugin, State, npt.NDArray[Any]]] = [
            (plugin, state, np.array(weight, dtype=self._dtype))
            for plugin, state, weight in prepared.scores
            if isinstance(plugin, ClusterScorePlugin)
        ]
        self._infeasible = np.array(INFEASIBLE, dtype=self._local.totals.dtype)
        # What normalized plugins give every Node.
        self._constant_of = 0
        self._constant = np.array(0, dtype=self._dtype)
        self._shares: dict[str, TotalArray] = {}
        self._spec_position = self._usage_position = -1
        self.totals: TotalArray = np.zeros(0, dtype=self._dtype)

    @property
    def size_bytes(self) -> int:
        """The memory its arrays take, and what plugins keep."""
        own = self.totals.nbytes + sum(share.size_bytes for share in self._normalized)
        own += sum(share.nbytes for share in self._shares.values())
        own += sum(plugin.state_size_bytes(state) for plugin, state in self._filters)
        own += sum(plugin.state_size_bytes(state) for plugin, state, _ in self._scores)
        return self._local.size_bytes + own

    def refresh(self, columns: NodeColumns, stopwatch: Stopwatch | None = None) -> None:
        """Bring the totals up to date with columns and cluster."""
        self._local.refresh(columns, stopwatch)
        if self._normalized:
            self._score_normalized(columns, stopwatch)
        nodes = NodeView(columns, slice(0, len(columns.infos)))
        feasible: BoolArray = self._local.totals != self._infeasible
        known = feasible[: nodes.count]
        for plugin, state in self._fallible:
            plugin.forget_failure(state)
        for plugin, state in self._filters:
            if plugin.asks_candidates_only:
                candidates: RowArray = np.flatnonzero(known)
                view = NodeView(columns, candidates)
                mask = timed(stopwatch, "Filter", plugin.name, plugin.filter, state, view)
                if mask is not None:
                    known[candidates[~mask]] = False
                continue
            mask = timed(stopwatch, "Filter", plugin.name, plugin.filter, state, nodes)
            if mask is not None:
                known &= mask
        if is_anywhere(known):
            totals = self._with_normalized(feasible)
            self._add_scores(totals[: nodes.count], nodes, known, stopwatch)
        else:
            totals = self._local.totals.astype(self._dtype)
        # INFEASIBLE has all bits set. A choice by a mask without order costs ten times as much.
        infeasible = feasible.view(np.int8) - _ONE
        # Widened first: to let the operation widen it costs twice as much.
        np.bitwise_or(totals, infeasible.astype(self._dtype), totals)
        self.totals = totals

    def _with_normalized(self, feasible: BoolArray) -> TotalArray:
        """Give the totals with what normalized plugins add to them."""
        constant, varying = 0, []
        for share in self._normalized:
            share.normalize(feasible, _EVERY_ROW)
            if isinstance(share.shares, int):
                constant += share.shares
            else:
                varying.append(share.shares)
        if constant != self._constant_of:
            self._constant_of = constant
            self._constant = np.array(constant, dtype=self._dtype)
        totals: TotalArray = self._local.totals + self._constant
        for shares in varying:
            # What stands for Nodes that are not feasible may be too large for the type.
            np.add(totals, shares, out=totals, casting="unsafe")
        return totals

    def shares_at(self, columns: NodeColumns, rows: RowArray) -> dict[str, Int64Array]:
        """Give what each plugin adds to the totals of some rows; right after a refresh only."""
        shares = self._local.shares_at(columns, rows)
        shares |= {share.plugin.name: share.at(rows) for share in self._normalized}
        shares |= {name: share[rows].astype(np.int64) for name, share in self._shares.items()}
        order = [plugin.name for plugin, _, _ in self.prepared.scores]
        return {name: shares[name] for name in order if name in shares}

    def _add_scores(
        self, totals: TotalArray, nodes: NodeView, feasible: BoolArray, stopwatch: Stopwatch | None
    ) -> None:
        self._shares.clear()
        for plugin, state, weight in self._scores:
            method = plugin.score_feasible
            scores = timed(stopwatch, "Score", plugin.name, method, state, nodes, feasible)
            if scores is not None:
                # In the narrow type of the totals: a third of the cost of adding wide ones.
                if scores.dtype == self._dtype:
                    share = scores * weight
                else:
                    share = np.multiply(scores, weight, dtype=self._dtype, casting="unsafe")
                self._shares[plugin.name] = share
                totals += share

    def _score_normalized(self, columns: NodeColumns, stopwatch: Stopwatch | None) -> None:
        """Ask for the raw scores of the rows that changed, or of all."""
        grown = len(self.totals) != columns.capacity
        is_settled = columns.spec_log.position == self._spec_position
        if is_settled and not grown and not self._reads_usage:
            return
        spec_rows = columns.spec_log.since(self._spec_position)
        usage_rows = columns.usage_log.since(self._usage_position)
        self._spec_position = columns.spec_log.position
        self._usage_position = columns.usage_log.position
        for share in self._normalized:
            is_spec = share.plugin.score_scope is Scope.SPEC
            if not columns.infos:
                continue
            if grown or spec_rows is None or (usage_rows is None and not is_spec):
                share.reset()
                known = slice(0, len(columns.infos))
                share.score(NodeView(columns, known), columns.capacity, stopwatch)
                continue
            changed = (
                spec_rows
                if is_spec or usage_rows is None
                else np.concatenate([spec_rows, usage_rows])
            )
            if len(changed):
                share.score(NodeView(columns, changed), columns.capacity, stopwatch)


def _local_part(prepared: PreparedClass) -> PreparedClass:
    """Give the class without what depends on other Nodes."""
    local = PreparedClass(prepared.pod)
    local.node_names = prepared.node_names
    local.node_names_status = prepared.node_names_status
    local.restricting = prepared.restricting
    local.rejection = prepared.rejection
    local.filters = [f for f in prepared.filters if f[0].filter_scope is not Scope.CLUSTER]
    local.scores = [
        s
        for s in prepared.scores
        if not isinstance(s[0], NormalizedScorePlugin | ClusterScorePlugin)
    ]
    return local
