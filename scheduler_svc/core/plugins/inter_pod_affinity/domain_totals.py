"""How many Pods of some kinds there are in the domains of each Node, weighted and added up.

It is a sum over pairs of a kind of Pods and a topology key, so a Pod that comes or goes changes
it by its weight on the Nodes of one domain: that is all that is done while few do.
"""

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import Final, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_svc.core.columns import Float64Array, NodeColumns
from scheduler_svc.core.labels import BoolArray, Int32Array, LabelColumn
from scheduler_svc.core.pod_counts import Tally

# Of one tally. Each costs 0.3 µs; to count anew costs 30 µs at 5,000 Nodes.
_MAX_CHANGES: Final = 64

_Scalar = TypeVar("_Scalar", bound=np.generic)


class Counter(Protocol):
    """A hold on counts by row."""

    tally: Tally


class CountedTerm(msgspec.Struct, frozen=True, eq=False):
    """Some Pods, the key of the domains in which they count, and how much one of them counts."""

    counter: Counter
    topology_key: str
    weight: int = 1


class DomainTotals:
    """The weighted number of Pods in the domains of each Node: float64 `(N,)`, whole numbers.

    Of at least one term. Nodes without the key of a term get nothing of it, and Pods on them
    count for nobody. `size_bytes` is the memory of all counts, those that others hold as well.
    Cost of `refresh`: O(Pods that came or went) for keys that no two Nodes share the value of,
    some 8 µs a key for others; O(N) a term where a Node's label or much else has changed.
    """

    __slots__ = ("_parts", "_totals", "size_bytes")

    def __init__(self, columns: NodeColumns, terms: Iterable[CountedTerm]) -> None:
        self._parts = _parts(columns, terms)
        self._totals: Float64Array | None = None
        self.size_bytes = 0

    def refresh(self) -> Float64Array:
        """Bring the totals up to date and give them: read-only."""
        totals = self._totals
        changes = None if totals is None else _follow(self._parts)
        if totals is None or changes is None:
            counts = [part.by_row(part.count()) for part in self._parts]
            self._totals = first = np.array(counts[0])
            for other in counts[1:]:
                first += other
            self.size_bytes = first.nbytes + _tally_bytes(self._parts)
            return first
        for part, by_domain in zip(self._parts, changes, strict=True):
            if part.is_unique:
                for row, change in by_domain.items():
                    totals[row] += change
            elif any(by_domain.values()):
                table = np.zeros(part.domain_count + 1)
                for domain, change in by_domain.items():
                    table[domain] = change
                totals += part.by_row(table)
        return totals

    def is_anything_counted(self) -> bool:
        """Whether any Pod counts anywhere, even if weights cancel out."""
        return any(part.is_anything_counted() for part in self._parts)


class DomainPresence:
    """Whether there are Pods in the domains of each Node: bool `(N,)`.

    Of at least one term; weights are positive.
    Cost of `refresh`: O(Pods that came or went), some 8 µs a key where one is the first or
    last of a domain that several Nodes share.
    """

    __slots__ = ("_masks", "_parts", "_tables", "size_bytes")

    def __init__(self, columns: NodeColumns, terms: Iterable[CountedTerm]) -> None:
        self._parts = _parts(columns, terms)
        self._tables: list[Int32Array] = []
        self._masks: list[BoolArray] = []
        self.size_bytes = 0

    def refresh(self) -> BoolArray:
        """Bring the mask up to date and give it: read-only."""
        changes = _follow(self._parts) if self._masks else None
        if changes is None:
            self._tables = [part.count().astype(np.int32) for part in self._parts]
            self._masks = [
                part.by_row(table > 0)
                for part, table in zip(self._parts, self._tables, strict=True)
            ]
            own = sum(array.nbytes for array in (*self._tables, *self._masks))
            self.size_bytes = own + _tally_bytes(self._parts)
        else:
            for index, by_domain in enumerate(changes):
                if by_domain:
                    self._change(index, by_domain)
        present, *others = self._masks
        for other in others:
            present = present | other
        return present

    def _change(self, index: int, changes: dict[int, int]) -> None:
        part, table = self._parts[index], self._tables[index]
        is_moved = False
        for domain, change in changes.items():
            before = table.item(domain)
            table[domain] = before + change
            if (before > 0) != (before + change > 0):
                is_moved = True
                if part.is_unique:
                    self._masks[index][domain] = before == 0
        if is_moved and not part.is_unique:
            self._masks[index] = part.by_row(table > 0)


def _parts(columns: NodeColumns, terms: Iterable[CountedTerm]) -> list["_Part"]:
    by_key = attrgetter("topology_key")
    return [
        _Part(columns.label_column(key), list(of_key))
        for key, of_key in groupby(sorted(terms, key=by_key), by_key)
    ]


def _tally_bytes(parts: list["_Part"]) -> int:
    return sum(term.counter.tally.counts.nbytes for part in parts for term in part.terms)


def _follow(parts: list["_Part"]) -> list[dict[int, int]] | None:
    """Give what has changed in each part; None if they have to be counted anew."""
    changes = []
    for part in parts:
        of_part = part.follow()
        if of_part is None:
            return None
        changes.append(of_part)
    return changes


class _Part:
    """The terms of one topology key: their Pods by domain, weighted.

    A Node's domain is a number: the code of its label, or the Node's own row where no two have
    the same value (`is_unique`). The last entry of a table by domain is for Nodes without the
    label, and 0.
    """

    __slots__ = ("_column", "_positions", "_version", "domain_count", "is_unique", "terms")

    def __init__(self, column: LabelColumn, terms: list[CountedTerm]) -> None:
        self._column = column
        self.terms = terms
        self._positions = [-1] * len(terms)
        self._version = -1
        self.domain_count = 0
        self.is_unique = False

    def by_row(self, table: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
        """Give the entry of `table` for each Node's domain."""
        if self.is_unique:
            return table[:-1]
        return table.take(self._column.indices, mode="clip")

    def count(self) -> Float64Array:
        """Count everything anew: a table of whole numbers by domain."""
        column = self._column
        self._version = column.version
        self.is_unique = column.is_unique
        codes = column.codes
        self.domain_count = len(codes) if self.is_unique else len(column.values)
        rows = np.flatnonzero(codes >= 0)
        domains = rows if self.is_unique else codes[rows]
        table = np.zeros(self.domain_count + 1)
        for index, term in enumerate(self.terms):
            tally = term.counter.tally
            self._positions[index] = tally.log.position
            if tally.total:
                sums = np.bincount(domains, tally.counts[rows], minlength=self.domain_count)
                table[:-1] += term.weight * sums
        return table

    def follow(self) -> dict[int, int] | None:
        """Give what has changed, by domain; None if everything has to be counted anew."""
        if self._version != self._column.version:
            return None
        changes: dict[int, int] = {}
        code_of = self._column.codes.item
        for index, term in enumerate(self.terms):
            log = term.counter.tally.log
            position = log.position
            if position == self._positions[index]:
                continue
            changed = log.since(self._positions[index])
            if changed is None or len(changed) > _MAX_CHANGES:
                return None
            self._positions[index] = position
            for encoded in changed.tolist():
                row = encoded >> 1
                code = code_of(row)
                if code >= 0:
                    domain = row if self.is_unique else code
                    weight = -term.weight if encoded & 1 else term.weight
                    changes[domain] = changes.get(domain, 0) + weight
        return changes

    def is_anything_counted(self) -> bool:
        """Whether there are Pods on Nodes with the key."""
        has_key = self._column.codes >= 0
        return any(
            bool(term.counter.tally.counts[has_key].any())
            for term in self.terms
            if term.counter.tally.total
        )
