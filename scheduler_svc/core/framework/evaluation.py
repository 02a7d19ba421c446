"""The evaluation of one class of Pods over all Nodes, kept and patched.

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

from collections.abc import Hashable
from typing import Final

import numpy as np

from scheduler_svc.core.columns import Int64Array, NodeColumns, NodeView
from scheduler_svc.core.framework.interface import (
    FilterPlugin,
    NormalizedScorePlugin,
    Scope,
    ScorePlugin,
    State,
)
from scheduler_svc.core.framework.prepared import PreparedClass
from scheduler_svc.core.framework.stopwatch import Stopwatch, timed
from scheduler_svc.core.labels import BoolArray, Int32Array, Rows

INFEASIBLE: Final = -1
_EVERY_ROW: Final = slice(None)
_BLOCK: Final = 8192

_Filter = tuple[FilterPlugin, State]
_Score = tuple[ScorePlugin, State, int]


class NormalizedShare:
    """One normalized plugin's raw scores over all rows, and what they add to each total.

    While all raw scores are equal there is no array of them: `shares` is one number, and
    nothing but a different raw score can move it.
    """

    __slots__ = ("_extremes", "_raw", "plugin", "shares", "state", "weight")

    def __init__(self, plugin: NormalizedScorePlugin, state: State, weight: int) -> None:
        self.plugin, self.state, self.weight = plugin, state, weight
        self._raw: Int64Array | int | None = None
        self._extremes: tuple[int, int] | None = None
        self.shares: Int32Array | int = 0

    def score(self, view: NodeView, row_count: int, stopwatch: Stopwatch | None) -> None:
        """Ask the plugin for the raw scores of `view`."""
        plugin = self.plugin
        scores = timed(stopwatch, "Score", plugin.name, plugin.score, self.state, view)
        first = int(scores[0])
        raw = first if self._raw is None else self._raw
        if isinstance(raw, int):
            if (scores == raw).all():
                self._raw = raw
                return
            raw = np.full(row_count, raw, dtype=np.int64)
        raw[view.rows] = scores
        self._raw = raw

    def reset(self) -> None:
        """Forget all raw scores, and the arrays: the number of rows may have changed."""
        self._raw = None
        self._extremes = None
        self.shares = 0

    def normalize(self, feasible: BoolArray, rows: Rows) -> bool:
        """Bring `shares` up to date after `rows` changed; whether they changed elsewhere, too."""
        raw = self._raw
        if raw is None or isinstance(raw, int):
            value = raw or 0
            self._extremes = (value, value)
            before = self.shares
            one = np.array([value], dtype=np.int64)
            self.shares = int(self.plugin.normalize(one, value, value)[0]) * self.weight
            return not isinstance(before, int) or before != self.shares
        if not feasible.any():
            # Nothing to compare with yet; as an array, so that it is looked at once there is.
            self._extremes = None
            self.shares = np.zeros(len(raw), dtype=np.int32)
            return False
        among = raw[feasible]
        extremes = (int(among.min()), int(among.max()))
        if extremes == self._extremes and not isinstance(self.shares, int):
            self.shares[rows] = self.plugin.normalize(raw[rows], *extremes) * self.weight
            return False
        self._extremes = extremes
        shares = self.plugin.normalize(raw, *extremes) * self.weight
        self.shares = shares.astype(np.int32)
        return True


class Evaluation:
    """Totals of one class over all Nodes: int32 `(N,)`, `INFEASIBLE` where it may not run."""

    __slots__ = (
        "_base",
        "_constant",
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
        plain = [s for s in prepared.scores if not isinstance(s[0], NormalizedScorePlugin)]
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
        # What normalized plugins add to every total, while none of them tells Nodes apart.
        self._constant: int | None = None
        self._versioned = [
            (plugin, state)
            for plugin, state, _ in prepared.scores
            if type(plugin).score_version is not ScorePlugin.score_version
        ]
        self._versions: list[Hashable] = []
        self._stopwatch: Stopwatch | None = None
        self._spec_position = self._usage_position = -1
        self._spec_pass: BoolArray = np.zeros(0, dtype=np.bool_)
        self._base: Int32Array = np.zeros(0, dtype=np.int32)
        self._plain: Int32Array = np.zeros(0, dtype=np.int32)
        self.totals: Int32Array = np.zeros(0, dtype=np.int32)

    @property
    def size_bytes(self) -> int:
        """The memory its arrays take; normalized plugins that tell Nodes apart take more."""
        arrays = [self._spec_pass, self._base, self._plain, self.totals]
        normalized = [s.shares for s in self._normalized if not isinstance(s.shares, int)]
        return sum(a.nbytes for a in arrays) + 3 * sum(s.nbytes for s in normalized)

    def refresh(self, columns: NodeColumns, stopwatch: Stopwatch | None = None) -> None:
        """Bring the totals up to date with the columns."""
        self._stopwatch = stopwatch
        spec_rows = columns.spec_log.since(self._spec_position)
        usage_rows = columns.usage_log.since(self._usage_position)
        self._spec_position = columns.spec_log.position
        self._usage_position = columns.usage_log.position
        capacity = columns.capacity
        if (
            spec_rows is None
            or usage_rows is None
            or len(self.totals) != capacity
            or 4 * (len(spec_rows) + len(usage_rows)) > capacity
            or (len(spec_rows) and self._versions != self._current_versions(columns))
        ):
            self._evaluate(columns)
        elif len(spec_rows):
            self._patch_spec(columns, spec_rows)
            self._patch_usage(columns, np.concatenate([spec_rows, usage_rows]), raw_changed=True)
        elif len(usage_rows):
            self._patch_usage(columns, usage_rows, raw_changed=False)

    def _current_versions(self, columns: NodeColumns) -> list[Hashable]:
        return [plugin.score_version(state, columns) for plugin, state in self._versioned]

    def _evaluate(self, columns: NodeColumns) -> None:
        self._versions = self._current_versions(columns)
        capacity = columns.capacity
        self._spec_pass = np.zeros(capacity, dtype=np.bool_)
        self._base = np.zeros(capacity, dtype=np.int32)
        self._plain = np.zeros(capacity, dtype=np.int32)
        self.totals = np.full(capacity, INFEASIBLE, dtype=np.int32)
        for share in self._normalized:
            share.reset()
        # In blocks, whose temporary arrays stay in the processor's cache.
        for start in range(0, len(columns.infos), _BLOCK):
            rows = slice(start, min(start + _BLOCK, len(columns.infos)))
            self._patch_spec(columns, rows)
            self._score_usage(columns, rows)
        self._normalize(slice(0, len(columns.infos)), everywhere=True)

    def _patch_spec(self, columns: NodeColumns, rows: Rows) -> None:
        view = NodeView(columns, rows)
        passing = columns.live[rows].copy()
        if self.prepared.node_names is not None:
            passing &= _rows_of(self.prepared.node_names, columns)[rows]
        for plugin, state in self._spec_filters:
            mask = timed(self._stopwatch, "Filter", plugin.name, plugin.filter, state, view)
            if mask is not None:
                passing &= mask
        self._spec_pass[rows] = passing
        self._base[rows] = self._weighted(
            self._spec_scores, view, np.zeros(view.count, dtype=np.int32)
        )
        for share in self._normalized:
            if share.plugin.score_scope is Scope.SPEC:
                share.score(view, columns.capacity, self._stopwatch)

    def _score_usage(self, columns: NodeColumns, rows: Rows) -> BoolArray:
        """Bring the sums without normalized plugins up to date; gives which rows are feasible."""
        view = NodeView(columns, rows)
        feasible = self._spec_pass[rows]
        for plugin, state in self._usage_filters:
            mask = timed(self._stopwatch, "Filter", plugin.name, plugin.filter, state, view)
            if mask is not None:
                feasible = feasible & mask
        plain = self._weighted(self._usage_scores, view, self._base[rows].copy())
        self._plain[rows] = plain
        for share in self._usage_normalized:
            share.score(view, columns.capacity, self._stopwatch)
        self.totals[rows] = np.where(feasible, plain + (self._constant or 0), INFEASIBLE)
        return feasible

    def _weighted(self, scores: list[_Score], view: NodeView, total: Int32Array) -> Int32Array:
        """Add weight times score of each plugin to `total`, which is written to."""
        for plugin, state, weight in scores:
            share = timed(self._stopwatch, "Score", plugin.name, plugin.score, state, view)
            total += share if weight == 1 else share * weight
        return total

    def _patch_usage(self, columns: NodeColumns, rows: Rows, *, raw_changed: bool) -> None:
        if self._constant is not None and not raw_changed and not self._usage_normalized:
            self._score_usage(columns, rows)
            return
        was_feasible = self.totals[rows] != INFEASIBLE
        feasible = self._score_usage(columns, rows)
        moved = raw_changed or bool(self._usage_normalized)
        self._normalize(rows, everywhere=moved or not np.array_equal(feasible, was_feasible))

    def _normalize(self, rows: Rows, *, everywhere: bool) -> None:
        """Add the normalized plugins' shares; `everywhere` looks whether the extremes moved."""
        feasible = self.totals != INFEASIBLE
        if everywhere:
            changes = [share.normalize(feasible, rows) for share in self._normalized]
            if any(changes):
                rows = _EVERY_ROW
        total = self._plain[rows]
        constant: int | None = 0
        for share in self._normalized:
            total = total + (share.shares if isinstance(share.shares, int) else share.shares[rows])
            if constant is not None:
                constant = constant + share.shares if isinstance(share.shares, int) else None
        self._constant = constant
        self.totals[rows] = np.where(feasible[rows], total, INFEASIBLE)


def _split_filters(filters: list[_Filter]) -> tuple[list[_Filter], list[_Filter]]:
    spec = [f for f in filters if f[0].filter_scope is Scope.SPEC]
    return spec, [f for f in filters if f[0].filter_scope is Scope.USAGE]


def _rows_of(names: frozenset[str], columns: NodeColumns) -> BoolArray:
    mask = np.zeros(columns.capacity, dtype=np.bool_)
    for name in names:
        row = columns.rows.get(name)
        if row is not None:
            mask[row] = True
    return mask
