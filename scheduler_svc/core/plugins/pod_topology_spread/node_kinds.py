"""Nodes alike in everything that soft constraints look at: judged once, however many there are."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import Int64Array, NodeColumns
from scheduler_svc.core.labels import ABSENT, BoolArray, LabelColumn
from scheduler_svc.core.pod_counts import Tally

KindArray = npt.NDArray[np.unsignedinteger[Any]]

# Of all rows, the part beyond which it is cheaper to sort all anew than to look at each.
_FEW: Final = 32
_SPARE_KINDS: Final = 64
# Of all rows, how many times more numbers are few enough to look each up.
_SPARSE: Final = 8

_MAX_PATTERNS: Final = 4
_FEW_DIFFERENT: Final = 8

_Kind = tuple[int, ...]


class Trait(NamedTuple):
    """What tells Nodes apart: a label's code, or with a tally the Pods on the Node that has it."""

    column: LabelColumn
    tally: Tally | None = None

    def level(self, row: int) -> int:
        """Give it of one Node; `ABSENT` without the label."""
        code = self.column.codes.item(row)
        if code < 0 or self.tally is None:
            return code
        return self.tally.counts.item(row)

    def levels(self) -> Int64Array:
        """Give it of all Nodes, `(N,)`."""
        codes = self.column.codes
        if self.tally is None:
            return codes.astype(np.int64)
        return np.where(codes >= 0, self.tally.counts, ABSENT).astype(np.int64)


class _Pattern:
    """Some Nodes, a byte a row, not 0 where one is among them; and how many are of each kind."""

    __slots__ = ("counts", "nodes")

    def __init__(self, nodes: bytes, counts: list[int]) -> None:
        self.nodes, self.counts = nodes, counts

    def becomes(self, nodes: BoolArray, of_row: KindArray) -> bool:
        """Turn into the pattern of `nodes` where few Nodes differ; whether it has."""
        if len(nodes) != len(self.nodes):
            return False
        different = np.flatnonzero(np.frombuffer(self.nodes, dtype=np.bool_) != nodes)
        if len(different) > _FEW_DIFFERENT:
            return False
        for row in different.tolist():
            self.counts[of_row[row]] += 1 if nodes[row] else -1
        self.nodes = nodes.tobytes()
        return True


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
        "_patterns",
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
        self._patterns: list[_Pattern] = []
        self._spec_position = -1
        self._tally_positions = [-1] * len(traits)
        self.of_row: KindArray = np.zeros(0, dtype=np.uint8)
        self.levels: Int64Array = np.full((len(traits), 1), ABSENT, dtype=np.int64)
        self.version = 0

    @property
    def size_bytes(self) -> int:
        """The memory its arrays take."""
        patterns = sum(len(pattern.nodes) for pattern in self._patterns)
        return self.of_row.nbytes + self.levels.nbytes + patterns

    def counts(self, nodes: BoolArray) -> list[int]:
        """Give how many of some Nodes are of each kind, 0 for no kind; read-only.

        `nodes` is bool over the first rows. The last few that were asked about are
        remembered, and kept: Nodes become feasible, or not, by whole domains, or a few.
        """
        asked = nodes.tobytes()
        for pattern in self._patterns:
            if pattern.nodes == asked:
                return pattern.counts
        if self._patterns and self._patterns[-1].becomes(nodes, self.of_row):
            return self._patterns[-1].counts
        # Nodes that are left out are of kind 0.
        of_them = self.of_row[: len(nodes)] * nodes.view(np.uint8)
        counts: list[int] = np.bincount(of_them, minlength=self.levels.shape[1]).tolist()
        counts[0] = 0
        if len(self._patterns) == _MAX_PATTERNS:
            del self._patterns[0]
        self._patterns.append(_Pattern(asked, counts))
        return counts

    def refresh(self) -> Sequence[int] | None:
        """Bring the kinds up to date with Nodes and Pods.

        Gives the rows that may be of another kind now, None for all.
        """
        changed = self._changed_rows()
        capacity = self._columns.capacity
        if (
            changed is None
            or len(self.of_row) != capacity
            or _FEW * len(changed) > capacity
            or self.levels.shape[1] > 2 * capacity + _SPARE_KINDS
        ):
            self._sort_all()
            return None
        if changed:
            self._sort(changed)
        return changed

    def _changed_rows(self) -> list[int] | None:
        spec_log = self._columns.spec_log
        changed: list[int] | None = []
        if spec_log.position != self._spec_position:
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
        self._patterns.clear()
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
            self._add_kinds(ids, len(ids) - known_count)
        for row, number in sorted_anew.items():
            former = int(self.of_row[row])
            self.of_row[row] = number
            for pattern in self._patterns:
                if row < len(pattern.nodes) and pattern.nodes[row]:
                    pattern.counts[former] -= 1
                    pattern.counts[number] += 1

    def _add_kinds(self, ids: dict[_Kind, int], added_count: int) -> None:
        absent = (ABSENT,) * len(self._traits)
        self.levels = np.array([absent, *ids], dtype=np.int64).T.copy()
        smallest = np.min_scalar_type(len(ids))
        if smallest.itemsize > self.of_row.itemsize:
            self.of_row = self.of_row.astype(smallest)
        for pattern in self._patterns:
            pattern.counts.extend([0] * added_count)
        self.version += 1


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
