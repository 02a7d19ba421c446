"""What a normalized plugin adds to the totals of a class."""

import numpy as np

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import Int64Array, NodeView
from scheduler_svc.core.framework.interface import NormalizedScorePlugin, State
from scheduler_svc.core.framework.stopwatch import Stopwatch, timed
from scheduler_svc.core.labels import BoolArray, Rows


class NormalizedShare:
    """One normalized plugin's raw scores over all rows, and what they add to each total.

    While all raw scores are equal there is no array of them: `shares` is one number, and
    nothing but a different raw score can move it.
    """

    __slots__ = ("_constant_of", "_extremes", "_raw", "plugin", "shares", "state", "weight")

    def __init__(self, plugin: NormalizedScorePlugin, state: State, weight: int) -> None:
        self.plugin, self.state, self.weight = plugin, state, weight
        self._raw: Int64Array | int | None = None
        self._extremes: tuple[int, int] | None = None
        # The raw score that `shares` is of, while it is one number.
        self._constant_of: int | None = None
        self.shares: Int64Array | int = 0

    @property
    def is_constant(self) -> bool:
        """Whether the plugin does not tell any two Nodes apart."""
        return self._raw is None or isinstance(self._raw, int)

    @property
    def size_bytes(self) -> int:
        """The memory that its arrays take."""
        return sum(a.nbytes for a in (self._raw, self.shares) if isinstance(a, np.ndarray))

    def reset(self) -> None:
        """Forget all raw scores, and the arrays: the number of rows may have changed."""
        self._raw = None
        self._extremes = self._constant_of = None
        self.shares = 0

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

    def at(self, rows: RowArray) -> Int64Array:
        """Give what is added to the totals of some rows."""
        if isinstance(self.shares, int):
            return np.full(len(rows), self.shares, dtype=np.int64)
        return self.shares[rows]

    def normalize(self, feasible: BoolArray, rows: Rows) -> bool:
        """Bring `shares` up to date after `rows` changed; whether they changed elsewhere, too."""
        raw = self._raw
        if raw is None or isinstance(raw, int):
            value = raw or 0
            if value != self._constant_of:
                one = np.array([value], dtype=np.int64)
                self.shares = int(self.plugin.normalize(one, value, value)[0]) * self.weight
                self._constant_of = value
            return True
        self._constant_of = None
        if not feasible.any():
            # Nothing to compare with yet; as an array, so that it is looked at once there is.
            self._extremes = None
            self.shares = np.zeros(len(raw), dtype=np.int64)
            return False
        among = raw[feasible]
        extremes = (int(among.min()), int(among.max()))
        if extremes == self._extremes and not isinstance(self.shares, int):
            self.shares[rows] = self.plugin.normalize(raw[rows], *extremes) * self.weight
            return False
        self._extremes = extremes
        self.shares = self.plugin.normalize(raw, *extremes) * self.weight
        return True
