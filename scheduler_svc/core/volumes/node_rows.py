"""Which Nodes meet requirements on their labels, found by value rather than by Node.

A local volume names one Node of thousands, and there may be thousands of such volumes: per
label key the rows are kept sorted by value, so that finding those of a value costs nothing
that grows with the Nodes. What was found is kept for as long as the asking object lives
and the labels stay as they are.
"""

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.labels import LabelColumn
from scheduler_svc.core.objects import Requirement

Conjunction = tuple[Requirement, ...]


class _RowsByValue:
    """The rows that have a label, sorted by the code of its value."""

    __slots__ = ("_order", "_starts", "version")

    def __init__(self, column: LabelColumn) -> None:
        self.version = column.version
        self._order: RowArray = np.argsort(column.codes, kind="stable")
        codes = np.arange(len(column.values) + 1)
        self._starts = np.searchsorted(column.codes[self._order], codes)

    def rows(self, code: int) -> RowArray:
        """Give the rows of one value."""
        return self._order[self._starts[code] : self._starts[code + 1]]


class NodeRows:
    """Finds the Nodes that requirements select."""

    def __init__(self, columns: NodeColumns) -> None:
        self._columns = columns
        self._by_value: dict[str, _RowsByValue] = {}
        self._found: weakref.WeakKeyDictionary[Any, tuple[tuple[int, ...], RowArray]] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def position(self) -> int:
        """A number that changes with every Node's specification: rows found may differ."""
        return self._columns.spec_log.position

    def rows_for(self, owner: Any, terms: Sequence[Conjunction]) -> RowArray:
        """Give the rows that one of the terms selects, intp, ascending.

        `terms` must be the same at each call for an `owner`, which is compared by identity.
        A conjunction of nothing selects all rows, also those of no Node.
        """
        columns = self._columns
        versions = (
            columns.capacity,
            *[columns.label_column(r.key).version for term in terms for r in term],
        )
        known = self._found.get(owner)
        if known is not None and known[0] == versions:
            return known[1]
        rows = self.rows(terms)
        self._found[owner] = versions, rows
        return rows

    def rows(self, terms: Sequence[Conjunction]) -> RowArray:
        """Find the rows; O(rows found) for terms that demand a value of some label."""
        found = [self._rows_of(term) for term in terms]
        if len(found) == 1:
            return np.sort(found[0])
        return np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *found]))

    def _rows_of(self, term: Conjunction) -> RowArray:
        rows: RowArray | None = None
        for requirement in sorted(term, key=lambda r: r.operator != "In"):
            column = self._columns.label_column(requirement.key)
            if rows is None and requirement.operator == "In":
                rows = self._rows_with(requirement.key, column, requirement.values)
                continue
            if rows is None:
                rows = np.arange(self._columns.capacity)
            rows = rows[column.match(requirement, rows)]
        return np.arange(self._columns.capacity) if rows is None else rows

    def _rows_with(self, key: str, column: LabelColumn, values: Iterable[str]) -> RowArray:
        by_value = self._by_value.get(key)
        if by_value is None or by_value.version != column.version:
            by_value = self._by_value[key] = _RowsByValue(column)
        codes = [column.code_of(value) for value in dict.fromkeys(values)]
        found = [by_value.rows(code) for code in codes if code is not None]
        return found[0] if len(found) == 1 else np.concatenate([np.zeros(0, np.intp), *found])
