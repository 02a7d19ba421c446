"""Nodes alike in everything that soft constraints look at: judged once, however many there are."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import Int64Array, NodeColumns
from scheduler_svc.core.labels import ABSENT, LabelColumn
from scheduler_svc.core.pod_counts import Tally

KindArray = npt.NDArray[np.unsignedinteger[Any]]

# Of all rows, the part beyond which it is cheaper to sort all anew than to look at each.
_FEW: Final = 32
_SPARE_KINDS: Final = 64
# Of all rows, how many times more numbers are few enough to look each up.
_SPARSE: Final = 8

_Kind = tuple[int, ...]


class Trait(NamedTuple):
    """What tells Nodes apart: a label's code, or with a tally the Pods on the Node that has it."""

    column: LabelColumn
    tally: Tally | None = None

    def level(self, row: int) -> int:
        """Give it of one Node; `ABSENT` without the label."""
        code = int(self.column.codes[row])
        if code < 0 or self.tally is None:
            return code
        return int(self.tally.counts[row])

    def levels(self) -> Int64Array:
        """Give it of all Nodes, `(N,)`."""
        codes = self.column.codes
        if self.tally is None:
            return codes.astype(np.int64)
        return np.where(codes >= 0, self.tally.counts, ABSENT).astype(np.int64)


class NodeKinds:
    """The kind of each row, `(N,)`, from 1 on, and each kind's levels, int64 `(traits, kinds + 1)`.

    `of_row` is of the smallest unsigned type that holds the kinds; 0 is no kind, and its
    levels are `ABSENT`. Kinds of which no Node is left may be among them. `version` changes
    with `levels`. Cost of `refresh`: 2 µs for each Node that changed; O(N log N) when too
    many have.
    """

    __slots__ = (
        "_columns",
        "_ids",
        "_spec_position",
        "_tally_positions",
        "_traits",
        "levels",
        "of_row",
        "version",
    )

    def __init__(self, columns: NodeColumns, traits: Sequence[Trait]) -> None:
        self._columns, self._traits = columns, traits
        self._ids: dict[_Kind, int] | None = None
        self._spec_position = -1
        self._tally_positions = [-1] * len(traits)
        self.of_row: KindArray = np.zeros(0, dtype=np.uint8)
        self.levels: Int64Array = np.full((len(traits), 1), ABSENT, dtype=np.int64)
        self.version = 0

    @property
    def size_bytes(self) -> int:
        """The memory its arrays take."""
        return self.of_row.nbytes + self.levels.nbytes

    def refresh(self) -> None:
        """Bring the kinds up to date with Nodes and Pods."""
        changed = self._changed_rows()
        capacity = self._columns.capacity
        if (
            changed is None
            or len(self.of_row) != capacity
            or _FEW * len(changed) > capacity
            or self.levels.shape[1] > 2 * capacity + _SPARE_KINDS
        ):
            self._sort_all()
        elif changed:
            self._sort(changed)

    def _changed_rows(self) -> list[int] | None:
        spec_log = self._columns.spec_log
        changed = _listed(spec_log.since(self._spec_position))
        self._spec_position = spec_log.position
        for index, trait in enumerate(self._traits):
            if trait.tally is None:
                continue
            log = trait.tally.log
            position = self._tally_positions[index]
            if log.position != position:
                self._tally_positions[index] = log.position
                counted = _listed(log.since(position))
                if changed is None or counted is None:
                    changed = None
                else:
                    changed += [encoded >> 1 for encoded in counted]
        return changed

    def _sort_all(self) -> None:
        kinds = examples = np.zeros(self._columns.capacity, dtype=np.int64)
        levels = [trait.levels() for trait in self._traits]
        for level in levels:
            # One trait at a time, so that the numbers stay small whatever there is of each.
            kinds, examples = _numbered(kinds * (int(level.max()) + 2) + (level + 1))
        known = [np.concatenate([[ABSENT], level[examples]]) for level in levels]
        self.levels = np.stack(known)
        self.of_row = (kinds + 1).astype(np.min_scalar_type(len(examples)))
        self._ids = None
        self.version += 1

    def _sort(self, rows: Sequence[int]) -> None:
        if self._ids is None:
            kinds = zip(*self.levels[:, 1:].tolist(), strict=True)
            self._ids = {kind: number for number, kind in enumerate(kinds, 1)}
        ids, known_count = self._ids, len(self._ids)
        sorted_anew = {}
        for row in rows:
            kind = tuple([trait.level(row) for trait in self._traits])
            sorted_anew[row] = ids.setdefault(kind, len(ids) + 1)
        if len(ids) > known_count:
            absent = (ABSENT,) * len(self._traits)
            self.levels = np.array([absent, *ids], dtype=np.int64).T.copy()
            smallest = np.min_scalar_type(len(ids))
            if smallest.itemsize > self.of_row.itemsize:
                self.of_row = self.of_row.astype(smallest)
            self.version += 1
        for row, kind_number in sorted_anew.items():
            self.of_row[row] = kind_number


def _listed(rows: RowArray | None) -> list[int] | None:
    return None if rows is None else rows.tolist()


def _numbered(values: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Number the distinct values in order; give each one's number, and an index of each."""
    highest = int(values.max())
    if highest > _SPARSE * len(values):
        _, examples, numbers = np.unique(values, return_index=True, return_inverse=True)
        return numbers, examples
    # A tenth of the cost of sorting.
    example_of = np.full(highest + 1, ABSENT, dtype=np.int64)
    example_of[values] = np.arange(len(values))
    occurs = example_of >= 0
    return (np.cumsum(occurs) - 1)[values], example_of[occurs]
