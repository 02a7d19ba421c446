"""Node state as columns: one array element a Node, so that a decision is a few array operations.

Amounts are int64, resource-major `(R, N)` and C-contiguous. `free` is allocatable
minus requested and is kept up to date with every Pod; it is negative where a Node is
over its allocatable. The first two resources are CPU and memory *as scored*: with
defaults for containers that request nothing (see `resources`).

A Node's row does not move while the Node is known. A Node that is deleted while Pods
are still on it, or that Pods name before it is seen, has a row that is not live.

Two change logs tell which rows have a new specification or new usage, so that a
cached evaluation brings up to date only those.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.changes import ChangeLog, RowArray
from scheduler_svc.core.images import ImageIndex
from scheduler_svc.core.labels import BoolArray, Int32Array, LabelColumn, Rows
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Taint
from scheduler_svc.core.ports import PortIndex
from scheduler_svc.core.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Requests

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]
_Scalar = TypeVar("_Scalar", bound=np.generic)

SCORED_CPU: Final = 0
SCORED_MEMORY: Final = 1
PODS_ROW: Final = 2
CPU_ROW: Final = 3
MEMORY_ROW: Final = 4
EPHEMERAL_STORAGE_ROW: Final = 5
# Always zero: what a resource looks like that no Node has ever offered.
UNKNOWN_ROW: Final = 6

_FIXED: Final = {
    PODS: PODS_ROW,
    CPU: CPU_ROW,
    MEMORY: MEMORY_ROW,
    EPHEMERAL_STORAGE: EPHEMERAL_STORAGE_ROW,
}
# 2^53 / 100: beyond that a hundredfold amount is not exact in float64.
FLOAT_LIMIT: Final = 90_071_992_547_409
_FIRST_CAPACITY: Final = 64
_FIXED_COUNT: Final = 7
# Distinct requests; all are forgotten beyond that.
_MAX_VECTORS: Final = 16384
# Changes of which the amounts are kept: more than there are between two Pods of most classes.
_RECENT_CHANGES: Final = 1024


class NodeColumns:
    """The state of all Nodes, by row.

    Plugins read and never write: `live` and `unschedulable` bool `(N,)`; `allocatable` and
    `free` int64 `(R, N)`; `room` and `divisors` float64 `(R, N)`: the free amounts, and the
    allocatable ones with 1 for 0, of use while `is_exact_in_float`;
    `taint_codes` int32 `(N,)`, indices into `taint_sets`. N is the capacity: rows beyond the
    known Nodes are not live. `largest_amount` is the most that any Node ever offered.
    """

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.names: list[str] = []
        self.infos: list[NodeInfo | None] = []
        self.images = ImageIndex()
        self.ports = PortIndex(_FIRST_CAPACITY)
        self.taint_sets: list[tuple[Taint, ...]] = [()]
        self.usage_log = ChangeLog()
        self.spec_log = ChangeLog()
        self.node_count = 0
        self.live: BoolArray = np.zeros(_FIRST_CAPACITY, dtype=np.bool_)
        self.unschedulable: BoolArray = np.zeros(_FIRST_CAPACITY, dtype=np.bool_)
        self.taint_codes: Int32Array = np.zeros(_FIRST_CAPACITY, dtype=np.int32)
        self.allocatable: Int64Array = np.zeros((_FIXED_COUNT, _FIRST_CAPACITY), dtype=np.int64)
        self.free: Int64Array = np.zeros((_FIXED_COUNT, _FIRST_CAPACITY), dtype=np.int64)
        self.room: Float64Array = np.zeros((_FIXED_COUNT, _FIRST_CAPACITY))
        self.divisors: Float64Array = np.ones((_FIXED_COUNT, _FIRST_CAPACITY))
        self.largest_amount = 0
        self._offering_counts = [0] * _FIXED_COUNT
        self._resource_rows = dict(_FIXED)
        self._taint_code_of: dict[tuple[Taint, ...], int] = {(): 0}
        self._labels: dict[str, LabelColumn] = {}
        self._vacant_rows: list[int] = []
        self._vectors: dict[Requests, Int64Array] = {}
        self._growth_listeners: list[Callable[[int], None]] = []
        self._recent = _RecentAmounts(_FIXED_COUNT)

    def on_growth(self, listener: Callable[[int], None]) -> None:
        """Call `listener` with the new capacity whenever there is room for more Nodes."""
        self._growth_listeners.append(listener)

    @property
    def capacity(self) -> int:
        """N: the length of every column."""
        return len(self.live)

    @property
    def is_exact_in_float(self) -> bool:
        """Whether a hundred times any allocatable amount is a whole number in float64, too.

        What is requested may be more: it rounds to something that is still too much.
        """
        return self.largest_amount < FLOAT_LIMIT

    @property
    def resource_names(self) -> tuple[str, ...]:
        """The names of the resources; a longer tuple than before means that rows were added."""
        return tuple(self._resource_rows)

    def resource_row(self, name: str) -> int:
        """Give the row of resource `name`; `UNKNOWN_ROW` if no Node or bound Pod ever named it."""
        return self._resource_rows.get(name, UNKNOWN_ROW)

    def _make_resource_row(self, name: str) -> int:
        row = self._resource_rows.get(name)
        if row is None:
            row = self._resource_rows[name] = len(self.allocatable)
            blank = np.zeros((1, self.capacity), dtype=np.int64)
            self.allocatable = np.concatenate([self.allocatable, blank])
            self.free = np.concatenate([self.free, blank])
            self.room = np.concatenate([self.room, np.zeros((1, self.capacity))])
            self.divisors = np.concatenate([self.divisors, np.ones((1, self.capacity))])
            self._offering_counts.append(0)
            self._vectors.clear()
            self._recent = _RecentAmounts(len(self.allocatable))
        return row

    def vector(self, requests: Requests) -> Int64Array:
        """Give `requests`, and one Pod, as an int64 column `(R,)`. Cached: do not write."""
        vector = self._vectors.get(requests)
        if vector is not None:
            return vector
        scalars = [(self._make_resource_row(name), amount) for name, amount in requests.scalars]
        vector = np.zeros(len(self.allocatable), dtype=np.int64)
        vector[:_FIXED_COUNT] = (
            requests.nonzero_milli_cpu,
            requests.nonzero_memory_bytes,
            1,
            requests.milli_cpu,
            requests.memory_bytes,
            requests.ephemeral_storage_bytes,
            0,
        )
        for row, amount in scalars:
            vector[row] = amount
        if len(self._vectors) == _MAX_VECTORS:
            self._vectors.clear()
        self._vectors[requests] = vector
        return vector

    def row_for(self, name: str) -> int:
        """Give the row of Node `name`; one that is not live is made for an unknown name."""
        row = self.rows.get(name)
        if row is not None:
            return row
        if self._vacant_rows:
            row = self._vacant_rows.pop()
            self.names[row] = name
        else:
            row = len(self.infos)
            if row == self.capacity:
                # By a half: rows that no Node has yet cost time in every cycle.
                self._grow(row + row // 2)
            self.infos.append(None)
            self.names.append(name)
        self.rows[name] = row
        return row

    def rows_of(self, names: Iterable[str]) -> RowArray:
        """Give the rows of the Nodes that have one, intp, in the order of `names`."""
        known = [self.rows[name] for name in names if name in self.rows]
        return np.array(known, dtype=np.intp)

    def has_node(self, name: str) -> bool:
        """Whether the Node exists: one that is gone keeps its row while Pods are left on it."""
        row = self.rows.get(name)
        return row is not None and bool(self.live[row])

    def release_row(self, row: int) -> None:
        """Give back the row of a Node that is neither known nor has Pods."""
        del self.rows[self.names[row]]
        self._vacant_rows.append(row)

    def set_node(self, info: NodeInfo) -> NodeInfo | None:
        """Store a new or changed Node; gives what was known of it before. O(R + labels in use)."""
        row = self.row_for(info.name)
        old = self.infos[row]
        if old == info:
            return old
        self.node_count += old is None
        self.images.replace(row, old.images if old else (), info.images)
        self.infos[row] = info
        self.live[row] = True
        self.unschedulable[row] = info.unschedulable
        self.taint_codes[row] = self._taint_code(info.taints)
        self._set_allocatable(row, dict(info.allocatable))
        for key, column in self._labels.items():
            column.set(row, info.labels.get(key))
        self.spec_log.append(row)
        return old

    def remove_node(self, name: str) -> NodeInfo | None:
        """Forget a Node's facts, not its Pods; gives what was known of it."""
        row = self.rows.get(name)
        old = None if row is None else self.infos[row]
        if row is None or old is None:
            return None
        self.node_count -= 1
        self.images.replace(row, old.images, ())
        self.infos[row] = None
        self.live[row] = False
        self.unschedulable[row] = False
        self.taint_codes[row] = 0
        self._set_allocatable(row, {})
        for column in self._labels.values():
            column.set(row, None)
        self.spec_log.append(row)
        return old

    def add_usage(self, row: int, requests: Requests, sign: int) -> None:
        """Count one Pod in (`sign` 1) or out (-1). O(R)."""
        # The vector comes first: it may make new resource rows.
        vector = self.vector(requests)
        # A view of its own: an augmented assignment to a part writes that twice.
        free = self.free[:, row]
        if sign > 0:
            free -= vector
        else:
            free += vector
        # Anew, not by addition: what is out of range for a while must not leave an error.
        self.room[:, row] = free
        self._recent.append(self.usage_log.position, free, self.divisors[:, row])
        self.usage_log.append(row)

    def used_since(self, position: int, rows: RowArray) -> "NodeView":
        """Give a view of all `rows` that `usage_log` has since `position`.

        Of a row that is there several times only the last entry is sure to be of now. Not for
        rows that may have a new specification as well.
        """
        view = NodeView(self, rows)
        view.know_amounts(self._recent.since(position, len(rows)))
        return view

    def free_up(self, rows: RowArray, amounts: Int64Array) -> None:
        """Add int64 `(R, K)` to what is free on K different rows; in no log, for what would be.

        The amounts may lack resources that have come since.
        """
        self.free[: len(amounts), rows] += amounts
        self.room[:, rows] = self.free[:, rows]

    def label_column(self, key: str) -> LabelColumn:
        """Give the codes of one label; the first use of a key costs O(N)."""
        column = self._labels.get(key)
        if column is None:
            column = self._labels[key] = LabelColumn(self.capacity)
            for row, info in enumerate(self.infos):
                if info is not None:
                    column.set(row, info.labels.get(key))
        return column

    def is_offered_everywhere(self, rows: tuple[int, ...]) -> bool:
        """Whether every live Node offers some of each resource."""
        counts, node_count = self._offering_counts, self.node_count
        # A loop: twice as fast as all() for so few.
        for row in rows:  # noqa: SIM110
            if counts[row] != node_count:
                return False
        return True

    def _taint_code(self, taints: tuple[Taint, ...]) -> int:
        code = self._taint_code_of.get(taints)
        if code is None:
            code = self._taint_code_of[taints] = len(self.taint_sets)
            self.taint_sets.append(taints)
        return code

    def _set_allocatable(self, row: int, amounts: dict[str, int]) -> None:
        for name in amounts:
            self._make_resource_row(name)
        column = np.zeros(len(self.allocatable), dtype=np.int64)
        column[SCORED_CPU] = amounts.get(CPU, 0)
        column[SCORED_MEMORY] = amounts.get(MEMORY, 0)
        for name, amount in amounts.items():
            column[self._resource_rows[name]] = amount
        before = self.allocatable[:, row]
        for changed in np.flatnonzero((column > 0) != (before > 0)):
            self._offering_counts[changed] += 1 if column[changed] > 0 else -1
        self.largest_amount = max(self.largest_amount, int(column.max()))
        self.free[:, row] += column - before
        self.room[:, row] = self.free[:, row]
        self.allocatable[:, row] = column
        self.divisors[:, row] = np.maximum(column, 1)

    def _grow(self, capacity: int) -> None:
        self.live = _padded(self.live, capacity)
        self.unschedulable = _padded(self.unschedulable, capacity)
        self.taint_codes = _padded(self.taint_codes, capacity)
        self.allocatable = _padded(self.allocatable, capacity)
        self.free = _padded(self.free, capacity)
        self.room = _padded(self.room, capacity)
        self.divisors = np.maximum(_padded(self.divisors, capacity), 1)
        self.ports.grow(capacity)
        for column in self._labels.values():
            column.grow(capacity)
        for listener in self._growth_listeners:
            listener(capacity)


class _RecentAmounts:
    """Room and divisors of Nodes as of the last changes of usage, in the order of those.

    What has changed is read some 50 times, once a class: so it lies together, and is cut out
    and not gathered from all Nodes' arrays.
    """

    def __init__(self, resource_count: int) -> None:
        self._room: Float64Array = np.zeros((resource_count, _RECENT_CHANGES))
        self._divisors: Float64Array = np.zeros((resource_count, _RECENT_CHANGES))
        # Positions in the log of the first change that is kept, and after the last.
        self._start = self._end = 0

    def append(self, position: int, room: Int64Array, divisors: Float64Array) -> None:
        """Keep the amounts, `(R,)` each, of the change at a position; forget those after it."""
        if not self._start <= position <= self._end:
            self._start = position
        index = position - self._start
        if index == _RECENT_CHANGES:
            half = index // 2
            for amounts in (self._room, self._divisors):
                amounts[:, :half] = amounts[:, half:]
            self._start += half
            index -= half
        self._room[:, index] = room
        self._divisors[:, index] = divisors
        self._end = position + 1

    def since(self, position: int, count: int) -> tuple[Float64Array, Float64Array] | None:
        """Give the amounts, `(R, count)` each, of the last changes; None if some are forgotten."""
        if position < self._start or position + count != self._end:
            return None
        start, end = position - self._start, self._end - self._start
        return self._room[:, start:end], self._divisors[:, start:end]


def _padded(array: npt.NDArray[_Scalar], length: int) -> npt.NDArray[_Scalar]:
    padded = np.zeros((*array.shape[:-1], length), dtype=array.dtype)
    padded[..., : array.shape[-1]] = array
    return padded


class NodeView:
    """Some rows of the columns, as plugins see them; each array is cut out once.

    `rows` is a slice or intp `(K,)`. Every array a plugin returns for this view
    has length K.
    """

    __slots__ = ("_allocatable", "_divisors", "_free", "_room", "columns", "count", "rows")

    def __init__(self, columns: NodeColumns, rows: Rows) -> None:
        self.columns = columns
        self.rows = rows
        self.count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        self._free: Int64Array | None = None
        self._allocatable: Int64Array | None = None
        self._divisors: Float64Array | None = None
        self._room: Float64Array | None = None

    def know_amounts(self, amounts: tuple[Float64Array, Float64Array] | None) -> None:
        """Take `room` and `divisors` from where they lie together, if they do."""
        if amounts is not None:
            self._room, self._divisors = amounts

    @property
    def free(self) -> Int64Array:
        """Allocatable minus requested, int64 `(R, K)`, read-only."""
        if self._free is None:
            self._free = _cut(self.columns.free, self.rows)
        return self._free

    @property
    def allocatable(self) -> Int64Array:
        """What the Nodes offer, int64 `(R, K)`, read-only."""
        if self._allocatable is None:
            self._allocatable = _cut(self.columns.allocatable, self.rows)
        return self._allocatable

    @property
    def room(self) -> Float64Array:
        """The free amounts as float64 `(R, K)`, read-only."""
        if self._room is None:
            self._room = _cut(self.columns.room, self.rows)
        return self._room

    @property
    def divisors(self) -> Float64Array:
        """The allocatable amounts, 1 where there is none, float64 `(R, K)`, read-only."""
        if self._divisors is None:
            self._divisors = _cut(self.columns.divisors, self.rows)
        return self._divisors


def _cut(array: npt.NDArray[_Scalar], rows: Rows) -> npt.NDArray[_Scalar]:
    return array[:, rows] if isinstance(rows, slice) else array.take(rows, axis=1)
