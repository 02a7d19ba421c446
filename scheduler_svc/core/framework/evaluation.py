"""The evaluation of one class of Pods over all Nodes, each for itself, kept and patched.

An evaluation holds each Node's total score, or that the Node is not feasible. When it is
used again only what changed meanwhile is computed anew:

- rows with a new specification: every plugin;
- rows with new usage: the plugins of scope USAGE;
- all rows: when the columns have grown, most rows changed, or a `score_version` differs.

Normalized scores depend on the extremes among the feasible Nodes, so one row that
becomes feasible or not may change them everywhere; that is looked at only where a
plugin tells Nodes apart at all.

Invariant: after `refresh` it equals an evaluation made from scratch.
Cost: some 30 array operations over the changed rows, then O(N) to select.
"""

from collections.abc import Hashable, Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import Int64Array, NodeColumns, NodeView
from scheduler_svc.core.framework.interface import (
    MAX_NODE_SCORE,
    FilterPlugin,
    NormalizedScorePlugin,
    Scope,
    ScorePlugin,
    State,
)
from scheduler_svc.core.framework.normalized_share import NormalizedShare
from scheduler_svc.core.framework.prepared import PreparedClass
from scheduler_svc.core.framework.stopwatch import Stopwatch, timed
from scheduler_svc.core.labels import BoolArray, Rows, is_everywhere

INFEASIBLE: Final = -1
# Arrays without dimensions: a number of Python's costs an operation on a few rows twice its time.
_ZERO: Final[Int64Array] = np.array(0)
_INFEASIBLE: Final[Int64Array] = np.array(INFEASIBLE)
_EVERY_ROW: Final = slice(None)
# Temporary arrays of a block stay below malloc's threshold for pages of their own, 128 KiB:
# 258 µs for 5,000 Nodes, against 519 µs with 4,000 rows at once.
_BLOCK: Final = 3072

TotalArray = npt.NDArray[np.signedinteger[Any]]

_Filter = tuple[FilterPlugin, State]
_Score = tuple[ScorePlugin, State, int]


class Evaluation:
    """Totals of one class over all Nodes, `(N,)`: `INFEASIBLE` where it may not run.

    They are of the smallest signed integer type that holds 100 times the sum of the weights,
    int16 by default: finding the best of all Nodes is bound by memory.
    """

    __slots__ = (
        "_asks_versions_always",
        "_base",
        "_constant",
        "_dtype",
        "_normalized",
        "_plain",
        "_spec_filters",
        "_spec_pass",
        "_spec_position",
        "_spec_scores",
        "_stopwatch",
        "_usage_filters",
        "_usage_normalized",
        "_usage_position",
        "_usage_scores",
        "_versioned",
        "_versions",
        "prepared",
        "totals",
    )

    def __init__(self, prepared: PreparedClass) -> None:
        self.prepared = prepared
        self._spec_filters, self._usage_filters = _split_filters(prepared.filters)
        plain = [
            (plugin, state, weight)
            for plugin, state, weight in prepared.scores
            if isinstance(plugin, ScorePlugin) and not isinstance(plugin, NormalizedScorePlugin)
        ]
        self._spec_scores = [s for s in plain if s[0].score_scope is Scope.SPEC]
        self._usage_scores = [s for s in plain if s[0].score_scope is Scope.USAGE]
        self._normalized = [
            NormalizedShare(plugin, state, weight)
            for plugin, state, weight in prepared.scores
            if isinstance(plugin, NormalizedScorePlugin)
        ]
        self._usage_normalized = [
            share for share in self._normalized if share.plugin.score_scope is Scope.USAGE
        ]
        self._versioned = [
            (plugin, state)
            for plugin, state, _ in prepared.scores
            if isinstance(plugin, ScorePlugin)
            and type(plugin).score_version is not ScorePlugin.score_version
        ]
        self._asks_versions_always = any(
            plugin.asks_version_always(state) for plugin, state in self._versioned
        )
        self._versions: list[Hashable] = []
        self._stopwatch: Stopwatch | None = None
        self._spec_position = self._usage_position = -1
        self._spec_pass: BoolArray = np.zeros(0, dtype=np.bool_)
        # What the plugins of scope SPEC add to the totals, normalized ones left out; None
        # where there are no such plugins.
        self._base: Int64Array | None = None
        # All but the normalized plugins' shares; None while these are `_constant`.
        self._plain: Int64Array | None = None
        self._constant: Int64Array = _ZERO
        highest = MAX_NODE_SCORE * sum(weight for _, _, weight in prepared.scores)
        self._dtype = np.min_scalar_type(INFEASIBLE - highest)
        self.totals: TotalArray = np.zeros(0, dtype=self._dtype)

    @property
    def size_bytes(self) -> int:
        """The memory its arrays take."""
        arrays = [self._spec_pass, self.totals, self._base, self._plain]
        own = sum(array.nbytes for array in arrays if array is not None)
        return own + sum(share.size_bytes for share in self._normalized)

    def refresh(self, columns: NodeColumns, stopwatch: Stopwatch | None = None) -> None:
        """Bring the totals up to date with the columns."""
        self._stopwatch = stopwatch
        spec_rows = columns.spec_log.since(self._spec_position)
        usage_position = self._usage_position
        usage_rows = columns.usage_log.since(usage_position)
        self._spec_position = columns.spec_log.position
        self._usage_position = columns.usage_log.position
        capacity = columns.capacity
        if spec_rows is None or usage_rows is None or len(self.totals) != capacity:
            self._evaluate(columns)
            return
        spec_count, usage_count = len(spec_rows), len(usage_rows)
        if 4 * (spec_count + usage_count) > capacity or (
            (spec_count or self._asks_versions_always)
            and self._versions != self._current_versions(columns)
        ):
            self._evaluate(columns)
        elif spec_count:
            self._patch_spec(columns, spec_rows)
            changed = np.concatenate([spec_rows, usage_rows])
            self._patch_usage(NodeView(columns, changed), changed, raw_changed=True)
        elif usage_count:
            # A row that is there several times is written to as often: the last one counts.
            view = columns.used_since(usage_position, usage_rows)
            self._patch_usage(view, usage_rows, raw_changed=False)

    def shares_at(self, columns: NodeColumns, rows: RowArray) -> dict[str, Int64Array]:
        """Give what each plugin adds to the totals of some rows; right after a refresh only."""
        normalized = {share.plugin.name: share for share in self._normalized}
        view = NodeView(columns, rows)
        return {
            plugin.name: normalized[plugin.name].at(rows)
            if plugin.name in normalized
            else plugin.score(state, view) * weight
            for plugin, state, weight in self.prepared.scores
            if isinstance(plugin, ScorePlugin)
        }

    def _current_versions(self, columns: NodeColumns) -> list[Hashable]:
        return [plugin.score_version(state, columns) for plugin, state in self._versioned]

    def _evaluate(self, columns: NodeColumns) -> None:
        self._versions = self._current_versions(columns)
        capacity = columns.capacity
        self._spec_pass = np.zeros(capacity, dtype=np.bool_)
        self._base = np.zeros(capacity, dtype=np.int64) if self._spec_scores else None
        self._plain = np.zeros(capacity, dtype=np.int64)
        self.totals = np.full(capacity, INFEASIBLE, dtype=self._dtype)
        for share in self._normalized:
            share.reset()
        blocks = list(self._rows_in_question(columns))
        for rows in blocks:
            self._patch_spec(columns, rows)
            feasible, plain = self._score_usage(NodeView(columns, rows))
            self._plain[rows] = plain
            self.totals[rows] = np.where(feasible, 0, INFEASIBLE)
        self._add_normalized(self._plain, slice(0, len(columns.infos)), extremes_moved=True)
        if not blocks:
            # The first Node makes all the difference to a plugin that compares.
            self._spec_position = -1

    def _rows_in_question(self, columns: NodeColumns) -> Iterator[Rows]:
        """Give the rows to judge, in blocks; where PreFilter named Nodes, only theirs.

        The others are infeasible whatever else is said of them. A DaemonSet's Pods name one
        Node each, so each is a class of its own.
        """
        names = self.prepared.node_names
        if names is not None and len(names) <= _BLOCK:
            rows = columns.rows_of(names)
            if len(rows):
                yield rows
            return
        for start in range(0, len(columns.infos), _BLOCK):
            yield slice(start, min(start + _BLOCK, len(columns.infos)))

    def _patch_spec(self, columns: NodeColumns, rows: Rows) -> None:
        view = NodeView(columns, rows)
        passing = columns.live[rows].copy()
        if self.prepared.node_names is not None:
            named = np.zeros(columns.capacity, dtype=np.bool_)
            named[columns.rows_of(self.prepared.node_names)] = True
            passing &= named[rows]
        for plugin, state in self._spec_filters:
            mask = self._filter(plugin, state, view)
            if mask is not None:
                passing &= mask
        self._spec_pass[rows] = passing
        if self._base is not None:
            self._base[rows] = self._weighted(self._spec_scores, view, None)
        for share in self._normalized:
            if share.plugin.score_scope is Scope.SPEC:
                share.score(view, columns.capacity, self._stopwatch)

    def _score_usage(self, view: NodeView) -> tuple[BoolArray, Int64Array]:
        """Give which of the rows are feasible, and their sums without normalized plugins."""
        rows = view.rows
        feasible = self._spec_pass[rows]
        for plugin, state in self._usage_filters:
            mask = self._filter(plugin, state, view)
            if mask is not None:
                feasible = feasible & mask
        for share in self._usage_normalized:
            share.score(view, view.columns.capacity, self._stopwatch)
        base = None if self._base is None else self._base[rows]
        return feasible, self._weighted(self._usage_scores, view, base)

    def _filter(self, plugin: FilterPlugin, state: State, view: NodeView) -> BoolArray | None:
        if self._stopwatch is None:
            return plugin.filter(state, view)
        return timed(self._stopwatch, "Filter", plugin.name, plugin.filter, state, view)

    def _weighted(
        self, scores: list[_Score], view: NodeView, total: Int64Array | None
    ) -> Int64Array:
        """Add weight times score of each plugin to `total`; none of the arrays is written to."""
        for plugin, state, weight in scores:
            if self._stopwatch is None:
                share = plugin.score(state, view)
            else:
                share = timed(self._stopwatch, "Score", plugin.name, plugin.score, state, view)
            weighted = share if weight == 1 else share * weight
            total = weighted if total is None else total + weighted
        return np.zeros(view.count, dtype=np.int64) if total is None else total

    def _patch_usage(self, view: NodeView, rows: RowArray, *, raw_changed: bool) -> None:
        feasible, plain = self._score_usage(view)
        if self._plain is None:
            if raw_changed and not all(share.is_constant for share in self._normalized):
                # A plugin has come to tell Nodes apart, which takes the sums of all rows.
                self._evaluate(view.columns)
            else:
                total = plain + self._constant
                if not is_everywhere(feasible):
                    total = np.where(feasible, total, _INFEASIBLE)
                self.totals.put(rows, total)
        else:
            self._plain[rows] = plain
            was_feasible = self.totals[rows] != INFEASIBLE
            self.totals[rows] = np.where(feasible, 0, INFEASIBLE)
            moved = raw_changed or bool(self._usage_normalized)
            moved = moved or not np.array_equal(feasible, was_feasible)
            self._add_normalized(self._plain, rows, extremes_moved=moved)

    def _add_normalized(self, plain: Int64Array, rows: Rows, *, extremes_moved: bool) -> None:
        """Make totals of sums and normalized shares; looks at extremes that may have moved."""
        feasible = self.totals != INFEASIBLE
        if extremes_moved:
            changes = [share.normalize(feasible, rows) for share in self._normalized]
            if any(changes):
                rows = _EVERY_ROW
        total, constant = plain[rows], 0
        for share in self._normalized:
            if isinstance(share.shares, int):
                constant += share.shares
            else:
                total = total + share.shares[rows]
        self.totals[rows] = np.where(feasible[rows], total + constant, INFEASIBLE)
        is_constant = all(isinstance(share.shares, int) for share in self._normalized)
        self._constant = np.array(constant)
        self._plain = None if is_constant and not self._usage_normalized else plain


def _split_filters(filters: list[_Filter]) -> tuple[list[_Filter], list[_Filter]]:
    spec = [f for f in filters if f[0].filter_scope is Scope.SPEC]
    return spec, [f for f in filters if f[0].filter_scope is Scope.USAGE]
