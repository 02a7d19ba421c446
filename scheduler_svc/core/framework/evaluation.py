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
from scheduler_svc.core.labels import BoolArray, Rows

INFEASIBLE: Final = -1
_EVERY_ROW: Final = slice(None)

_Filter = tuple[FilterPlugin, State]
_Score = tuple[ScorePlugin, State, int]


class NormalizedShare:
    """One normalized plugin's raw scores over all rows, and what they add to each total.

    While all raw scores are equal, `shares` is one number and nothing can move it.
    """

    __slots__ = ("extremes", "is_constant", "plugin", "raw", "shares", "state", "weight")

    def __init__(self, plugin: NormalizedScorePlugin, state: State, weight: int) -> None:
        self.plugin, self.state, self.weight = plugin, state, weight
        self.raw: Int64Array = np.zeros(0, dtype=np.int64)
        self.extremes: tuple[int, int] | None = None
        self.is_constant = True
        self.shares: Int64Array | int = 0

    def score(self, view: NodeView) -> None:
        """Ask the plugin for the raw scores of `view`."""
        scores = self.plugin.score(self.state, view)
        if isinstance(view.rows, slice):
            self.raw = scores
        else:
            self.raw[view.rows] = scores
        first = int(self.raw[0])
        self.is_constant = bool((self.raw == first).all())

    def normalize(self, feasible: BoolArray) -> bool:
        """Bring `shares` up to date; whether they changed on Nodes whose raw score did not."""
        if self.is_constant:
            value = int(self.raw[0])
            extremes = (value, value)
        elif feasible.any():
            among = self.raw[feasible]
            extremes = (int(among.min()), int(among.max()))
        else:
            return False
        if extremes == self.extremes and isinstance(self.shares, int) == self.is_constant:
            return False
        self.extremes = extremes
        shares = self.plugin.normalize(self.raw, *extremes) * self.weight
        self.shares = int(shares[0]) if self.is_constant else shares
        return True

    def normalize_rows(self, rows: Rows) -> None:
        """Bring `shares` of some rows up to date while the extremes stand."""
        if self.extremes is not None and not isinstance(self.shares, int):
            self.shares[rows] = self.plugin.normalize(self.raw[rows], *self.extremes) * self.weight


class Evaluation:
    """Totals of one class over all Nodes: int64 `(N,)`, `INFEASIBLE` where it may not run."""

    __slots__ = (
        "_base",
        "_normalized",
        "_plain",
        "_spec_filters",
        "_spec_pass",
        "_spec_position",
        "_spec_scores",
        "_usage_filters",
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
        self._versioned = [
            (plugin, state)
            for plugin, state, _ in prepared.scores
            if type(plugin).score_version is not ScorePlugin.score_version
        ]
        self._versions: list[Hashable] = []
        self._spec_position = self._usage_position = -1
        self._spec_pass: BoolArray = np.zeros(0, dtype=np.bool_)
        self._base: Int64Array = np.zeros(0, dtype=np.int64)
        self._plain: Int64Array = np.zeros(0, dtype=np.int64)
        self.totals: Int64Array = np.zeros(0, dtype=np.int64)

    @property
    def size_bytes(self) -> int:
        """The memory its arrays take."""
        per_row = 1 + 8 * (3 + 2 * len(self._normalized))
        return per_row * len(self.totals)

    def refresh(self, columns: NodeColumns) -> None:
        """Bring the totals up to date with the columns."""
        spec_rows = columns.spec_log.since(self._spec_position)
        usage_rows = columns.usage_log.since(self._usage_position)
        self._spec_position = columns.spec_log.position
        self._usage_position = columns.usage_log.position
        capacity = columns.capacity
        versions = [plugin.score_version(state, columns) for plugin, state in self._versioned]
        if (
            spec_rows is None
            or usage_rows is None
            or len(self.totals) != capacity
            or 4 * (len(spec_rows) + len(usage_rows)) > capacity
            or versions != self._versions
        ):
            self._versions = versions
            self._evaluate(columns)
        elif len(spec_rows):
            self._patch_spec(columns, spec_rows)
            self._patch_usage(columns, np.concatenate([spec_rows, usage_rows]), raw_changed=True)
        elif len(usage_rows):
            self._patch_usage(columns, usage_rows, raw_changed=False)

    def _evaluate(self, columns: NodeColumns) -> None:
        capacity = columns.capacity
        if len(self.totals) != capacity:
            self._spec_pass = np.zeros(capacity, dtype=np.bool_)
            self._base = np.zeros(capacity, dtype=np.int64)
            self._plain = np.zeros(capacity, dtype=np.int64)
            self.totals = np.full(capacity, INFEASIBLE, dtype=np.int64)
        self._patch_spec(columns, _EVERY_ROW)
        self._patch_usage(columns, _EVERY_ROW, raw_changed=True)

    def _patch_spec(self, columns: NodeColumns, rows: Rows) -> None:
        view = NodeView(columns, rows)
        passing = columns.live[rows].copy()
        if self.prepared.node_names is not None:
            passing &= _rows_of(self.prepared.node_names, columns)[rows]
        for plugin, state in self._spec_filters:
            mask = plugin.filter(state, view)
            if mask is not None:
                passing &= mask
        self._spec_pass[rows] = passing
        self._base[rows] = _weighted(self._spec_scores, view, 0)
        for share in self._normalized:
            if share.plugin.score_scope is Scope.SPEC:
                share.score(view)

    def _patch_usage(self, columns: NodeColumns, rows: Rows, *, raw_changed: bool) -> None:
        view = NodeView(columns, rows)
        feasible = self._spec_pass[rows]
        for plugin, state in self._usage_filters:
            mask = plugin.filter(state, view)
            if mask is not None:
                feasible = feasible & mask
        plain = _weighted(self._usage_scores, view, self._base[rows])
        constant = 0
        if self._normalized:
            for share in self._normalized:
                if share.plugin.score_scope is Scope.USAGE:
                    share.score(view)
                    raw_changed = True
            if raw_changed or not all(share.is_constant for share in self._normalized):
                self._plain[rows] = plain
                self._total_normalized(rows, feasible, raw_changed=raw_changed)
                return
            constant = sum(share.shares for share in self._normalized)  # type: ignore[misc]
        self._plain[rows] = plain
        self.totals[rows] = np.where(feasible, plain + constant, INFEASIBLE)

    def _total_normalized(self, rows: Rows, feasible: BoolArray, *, raw_changed: bool) -> None:
        was_feasible = self.totals[rows] != INFEASIBLE
        self.totals[rows] = np.where(feasible, 0, INFEASIBLE)
        everywhere = False
        if raw_changed or not np.array_equal(feasible, was_feasible):
            feasible_now = self.totals != INFEASIBLE
            for share in self._normalized:
                if share.normalize(feasible_now):
                    everywhere = True
                else:
                    share.normalize_rows(rows)
        if everywhere:
            self.totals[:] = np.where(self.totals != INFEASIBLE, self._plain, INFEASIBLE)
            rows, feasible = _EVERY_ROW, self.totals != INFEASIBLE
        total = self._plain[rows]
        for share in self._normalized:
            shares = share.shares if isinstance(share.shares, int) else share.shares[rows]
            total = total + shares
        self.totals[rows] = np.where(feasible, total, INFEASIBLE)


def _split_filters(filters: list[_Filter]) -> tuple[list[_Filter], list[_Filter]]:
    spec = [f for f in filters if f[0].filter_scope is Scope.SPEC]
    return spec, [f for f in filters if f[0].filter_scope is Scope.USAGE]


def _weighted(scores: list[_Score], view: NodeView, start: Int64Array | int) -> Int64Array | int:
    total = start
    for plugin, state, weight in scores:
        share = plugin.score(state, view)
        total = total + (share if weight == 1 else share * weight)
    return total


def _rows_of(names: frozenset[str], columns: NodeColumns) -> BoolArray:
    mask = np.zeros(columns.capacity, dtype=np.bool_)
    for name in names:
        row = columns.rows.get(name)
        if row is not None:
            mask[row] = True
    return mask
