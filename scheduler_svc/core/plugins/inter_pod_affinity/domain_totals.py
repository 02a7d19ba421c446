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

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import Float64Array, NodeColumns
from scheduler_svc.core.labels import BoolArray, LabelColumn
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

    Of at least one term.
    Nodes without the key of a term get nothing of it, and Pods on them count for nobody.
    Cost of `refresh`: O(Pods that came or went) for keys that no two Nodes share the value of,
    some 8 µs a key for others; O(N) a term where a Node's label or much else has changed.
    """

    __slots__ = ("_parts", "_totals")

    def __init__(self, columns: NodeColumns, terms: Iterable[CountedTerm]) -> None:
        self._parts = _parts(columns, terms)
        self._totals: Float64Array | None = None

    def refresh(self) -> Float64Array:
        """Bring the totals up to date and give them: read-only."""
        totals = self._totals
        if totals is None or not all(part.follow() for part in self._parts):
            for part in self._parts:
                part.count()
            self._totals = np.sum([part.by_row(part.table) for part in self._parts], axis=0)
            return self._totals
        for part in self._parts:
            changes = part.changes
            if part.is_unique:
                for row, change in changes.items():
                    totals[row] += change
            elif any(changes.values()):
                table = np.zeros(len(part.table))
                for domain, change in changes.items():
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

    __slots__ = ("_masks", "_parts")

    def __init__(self, columns: NodeColumns, terms: Iterable[CountedTerm]) -> None:
        self._parts = _parts(columns, terms)
        self._masks: list[BoolArray] = []

    def refresh(self) -> BoolArray:
        """Bring the mask up to date and give it: read-only."""
        if not self._masks or not all(part.follow() for part in self._parts):
            for part in self._parts:
                part.count()
            self._masks = [part.by_row(part.table > 0) for part in self._parts]
        else:
            for index, part in enumerate(self._parts):
                self._follow(index, part)
        present, *others = self._masks
        for other in others:
            present = present | other
        return present

    def _follow(self, index: int, part: "_Part") -> None:
        for domain, change in part.changes.items():
            count = part.table.item(domain)
            is_present = count > 0
            if is_present == (count - change > 0):
                continue
            if not part.is_unique:
                self._masks[index] = part.by_row(part.table > 0)
                return
            self._masks[index][domain] = is_present


def _parts(columns: NodeColumns, terms: Iterable[CountedTerm]) -> list["_Part"]:
    by_key = attrgetter("topology_key")
    return [
        _Part(columns.label_column(key), list(of_key))
        for key, of_key in groupby(sorted(terms, key=by_key), by_key)
    ]


class _Part:
    """The terms of one topology key: their Pods by domain, weighted.

    A Node's domain is its number: the code of its label, or the Node's own row where no two
    have the same value (`is_unique`). The last entry of `table`, for Nodes without the label,
    stays 0. `changes` are those of the last `follow`, by domain.
    """

    __slots__ = (
        "_column",
        "_domains",
        "_positions",
        "_terms",
        "_version",
        "changes",
        "is_unique",
        "table",
    )

    def __init__(self, column: LabelColumn, terms: list[CountedTerm]) -> None:
        self._column = column
        self._terms = terms
        self._positions = [-1] * len(terms)
        self._version = -1
        self._domains: RowArray = np.zeros(0, dtype=np.intp)
        self.changes: dict[int, int] = {}
        self.is_unique = False
        self.table: Float64Array = np.zeros(1)

    def by_row(self, table: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
        """Give the entry of `table` for each Node's domain."""
        return table[:-1] if self.is_unique else table.take(self._domains)

    def count(self) -> None:
        """Count everything anew."""
        column = self._column
        self._version = column.version
        codes = column.codes
        rows = np.flatnonzero(codes >= 0)
        self.is_unique = bool(np.bincount(codes[rows], minlength=1).max() <= 1)
        domain_count = len(codes) if self.is_unique else len(column.values)
        self._domains = np.full(len(codes), domain_count, dtype=np.intp)
        self._domains[rows] = rows if self.is_unique else codes[rows]
        self.table = np.zeros(domain_count + 1)
        for index, term in enumerate(self._terms):
            tally = term.counter.tally
            self._positions[index] = tally.log.position
            if tally.total:
                weights = tally.counts[rows]
                sums = np.bincount(self._domains[rows], weights, minlength=domain_count)
                self.table[:-1] += term.weight * sums

    def follow(self) -> bool:
        """Bring the table up to date by what changed; False if it has to be counted anew."""
        changes: dict[int, int] = {}
        self.changes = changes
        if self._version != self._column.version:
            return False
        absent = len(self.table) - 1
        for index, term in enumerate(self._terms):
            log = term.counter.tally.log
            position = log.position
            if position == self._positions[index]:
                continue
            changed = log.since(self._positions[index])
            if changed is None or len(changed) > _MAX_CHANGES:
                return False
            self._positions[index] = position
            for encoded in changed.tolist():
                domain = self._domains.item(encoded >> 1)
                if domain != absent:
                    weight = -term.weight if encoded & 1 else term.weight
                    changes[domain] = changes.get(domain, 0) + weight
        for domain, change in changes.items():
            self.table[domain] += change
        return True

    def is_anything_counted(self) -> bool:
        """Whether there are Pods on Nodes with the key."""
        has_key = self._column.codes >= 0
        return any(
            bool(term.counter.tally.counts[has_key].any())
            for term in self._terms
            if term.counter.tally.total
        )
