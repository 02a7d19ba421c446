"""How many Pods of a kind are on each Node, kept with every Pod that comes or goes.

A `PodQuery` says which Pods; whoever needs its counts holds a `PodCounter`, and they are
kept for as long as somebody does. Pods alike in namespace and labels are one group, so
that a Pod that no query wants costs one look-up. A new query finds its groups by a label
that it demands, for keys that have been asked for before: O(groups with that label + their
Nodes), else O(groups). A new group finds its queries by namespace and label: O(labels).
"""

import weakref
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.changes import ChangeLog, RowArray
from scheduler_svc.core.label_selectors import Selector
from scheduler_svc.core.labels import Int32Array, LabelColumn
from scheduler_svc.core.pods import Labels, PodInfo

_LOG_CAPACITY: Final = 1024
_SPARE_TALLIES: Final = 64

GroupKey = tuple[str, Labels, bool]
# A namespace, None for all, and a label that Pods must have, if there is one.
_Home = tuple[str | None, tuple[str, str] | None]


class PodTerm(msgspec.Struct, frozen=True):
    """Pods of some namespaces (None: of all) that a selector matches."""

    namespaces: frozenset[str] | None
    selector: Selector


class PodQuery(msgspec.Struct, frozen=True):
    """Pods that every term matches, of which there is at least one; perhaps no terminating ones."""

    terms: tuple[PodTerm, ...]
    counts_terminating: bool = True

    def matches(self, namespace: str, labels: dict[str, str], *, is_terminating: bool) -> bool:
        """Whether Pods of a group count."""
        if is_terminating and not self.counts_terminating:
            return False
        # A loop: half the cost of all() for one or two.
        for term in self.terms:
            if term.namespaces is not None and namespace not in term.namespaces:
                return False
            if not term.selector.matches(labels):
                return False
        return True


class Tally:
    """Counts by row, int32 `(N,)`, their sum, and a log of changes (`decode_changes`)."""

    __slots__ = ("counts", "log", "total")

    def __init__(self, row_count: int) -> None:
        self.counts: Int32Array = np.zeros(row_count, dtype=np.int32)
        self.log = ChangeLog(_LOG_CAPACITY)
        self.total = 0

    def add(self, row: int, count: int) -> None:
        """Count `count` more, or fewer, on the Node of `row`."""
        self.counts[row] += count
        self.total += count
        if count == 1:
            self.log.append(2 * row)
            return
        encoded = 2 * row if count > 0 else 2 * row + 1
        for _ in range(abs(count)):
            self.log.append(encoded)

    def add_unread(self, rows: Mapping[int, int]) -> None:
        """Count many at once, by row, before anybody reads the log."""
        count = len(rows)
        self.counts[np.fromiter(rows, np.intp, count)] += np.fromiter(
            rows.values(), np.int32, count
        )
        self.total += sum(rows.values())

    def grow(self, row_count: int) -> None:
        """Make room for more rows."""
        grown = np.zeros(row_count, dtype=np.int32)
        grown[: len(self.counts)] = self.counts
        self.counts = grown


def decode_changes(encoded: RowArray) -> tuple[RowArray, RowArray]:
    """Give rows and signs (1 or -1) of a stretch of a tally's log."""
    return encoded >> 1, 1 - 2 * (encoded & 1)


class PodCounter:
    """A hold on the counts of a query: they are kept while it lives."""

    __slots__ = ("__weakref__", "query", "tally")

    def __init__(self, query: PodQuery, tally: Tally) -> None:
        self.query, self.tally = query, tally


class _Group:
    """Pods alike in what queries ask: how many are on each row, and who counts them."""

    __slots__ = ("rows", "tallies")

    def __init__(self, tallies: list[Tally]) -> None:
        self.rows: dict[int, int] = {}
        self.tallies = tallies


class PodCounts:
    """All groups of Pods that are on Nodes, and the queries somebody asks of them."""

    def __init__(self, row_count: int) -> None:
        self._row_count = row_count
        self._groups: dict[GroupKey, _Group] = {}
        self._tallies: dict[PodQuery, Tally] = {}
        self._homes: dict[_Home, dict[PodQuery, Tally]] = {}
        # Of the keys of labels that queries demand: the groups, by key and value.
        self._groups_of: dict[str, dict[str, dict[GroupKey, _Group]]] = {}
        self._counters: weakref.WeakValueDictionary[PodQuery, PodCounter] = (
            weakref.WeakValueDictionary()
        )

    def count(self, pod: PodInfo, row: int, sign: int) -> None:
        """Count one Pod in (`sign` 1) or out (-1). O(queries that want it)."""
        key = (pod.namespace, pod.labels, pod.is_terminating)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Group(self._tallies_of(key))
            for label, value in pod.labels:
                if label in self._groups_of:
                    self._groups_of[label].setdefault(value, {})[key] = group
        count = group.rows.get(row, 0) + sign
        if count:
            group.rows[row] = count
        else:
            del group.rows[row]
            if not group.rows:
                self._remove(key)
        for tally in group.tallies:
            tally.add(row, sign)

    def _remove(self, key: GroupKey) -> None:
        del self._groups[key]
        for label, value in key[1]:
            if label in self._groups_of:
                alike = self._groups_of[label][value]
                del alike[key]
                if not alike:
                    del self._groups_of[label][value]

    def counter(self, query: PodQuery) -> PodCounter:
        """Give a hold on the counts of `query`; what a new one costs is said above."""
        counter = self._counters.get(query)
        if counter is None:
            tally = self._tallies.get(query)
            if tally is None:
                self._drop_unheld()
                tally = self._tallies[query] = self._counted(query)
                self._give_home(query, tally)
            counter = self._counters[query] = PodCounter(query, tally)
        return counter

    def grow(self, row_count: int) -> None:
        """Make room for more rows."""
        self._row_count = row_count
        for tally in self._tallies.values():
            tally.grow(row_count)

    def held(self) -> Iterator[tuple[GroupKey, dict[int, int]]]:
        """Give the Pods by group and row, for comparison with a recount."""
        return ((key, group.rows) for key, group in self._groups.items())

    def _counted(self, query: PodQuery) -> Tally:
        tally = Tally(self._row_count)
        for (namespace, labels, is_terminating), group in self._candidates(query):
            if query.matches(namespace, dict(labels), is_terminating=is_terminating):
                group.tallies.append(tally)
                tally.add_unread(group.rows)
        return tally

    def _candidates(self, query: PodQuery) -> Iterator[tuple[GroupKey, _Group]]:
        """Give all groups that the query may match."""
        for term in query.terms:
            for requirement in term.selector.requirements:
                if requirement.operator == "In":
                    by_value = self._by_value(requirement.key)
                    for value in dict.fromkeys(requirement.values):
                        yield from by_value.get(value, {}).items()
                    return
        yield from self._groups.items()

    def _by_value(self, label: str) -> dict[str, dict[GroupKey, _Group]]:
        by_value = self._groups_of.get(label)
        if by_value is None:
            by_value = self._groups_of[label] = {}
            for key, group in self._groups.items():
                for name, value in key[1]:
                    if name == label:
                        by_value.setdefault(value, {})[key] = group
        return by_value

    def _tallies_of(self, key: GroupKey) -> list[Tally]:
        namespace, labels, is_terminating = key
        known = dict(labels)
        return [
            tally
            for home in product((namespace, None), (None, *labels))
            for query, tally in self._homes.get(home, {}).items()
            if query.matches(namespace, known, is_terminating=is_terminating)
        ]

    def _give_home(self, query: PodQuery, tally: Tally) -> None:
        """Put a query where it is found by each Pod that it may want, and by few others."""
        term = query.terms[0]
        namespaces: Sequence[str | None] = [None]
        if term.namespaces is not None:
            namespaces = sorted(term.namespaces)
        labels: Sequence[tuple[str, str] | None] = [None]
        for requirement in term.selector.requirements:
            if requirement.operator == "In":
                labels = [(requirement.key, value) for value in requirement.values]
                break
        for home in product(namespaces, labels):
            self._homes.setdefault(home, {})[query] = tally

    def _drop_unheld(self) -> None:
        if len(self._tallies) < 2 * len(self._counters) + _SPARE_TALLIES:
            return
        self._tallies = {q: t for q, t in self._tallies.items() if q in self._counters}
        self._homes.clear()
        self._groups_of.clear()
        for query, tally in self._tallies.items():
            self._give_home(query, tally)
        kept = set(self._tallies.values())
        for group in self._groups.values():
            group.tallies = [tally for tally in group.tallies if tally in kept]


class DomainSums:
    """A tally summed over the Nodes of each value of a label: int64 `(values + 1,)`.

    The last entry, which the code of an absent label indexes, stays 0. Cost of `refresh`:
    O(Pods that came or went), O(N) after a Node's label has changed.
    """

    __slots__ = ("_position", "_version", "column", "sums", "tally")

    def __init__(self, tally: Tally, column: LabelColumn) -> None:
        self.tally, self.column = tally, column
        self.sums = np.zeros(1, dtype=np.int64)
        self._version = self._position = -1

    def refresh(self) -> bool:
        """Bring the sums up to date; whether any may have changed."""
        position = self.tally.log.position
        if self._version != self.column.version:
            self._sum()
        elif position == self._position:
            return False
        else:
            changes = self.tally.log.since(self._position)
            if changes is None:
                self._sum()
            else:
                self._add(*decode_changes(changes))
        self._position = position
        return True

    def _sum(self) -> None:
        self._version = self.column.version
        codes, counts = self.column.codes, self.tally.counts
        counted = codes >= 0
        length = len(self.column.values) + 1
        sums = np.bincount(codes[counted], weights=counts[counted], minlength=length)
        self.sums = sums.astype(np.int64)

    def _add(self, rows: RowArray, signs: RowArray) -> None:
        np.add.at(self.sums, self.column.codes[rows], signs)
        self.sums[-1] = 0
