"""Counts by key and row, of which most are zero."""

from collections.abc import KeysView
from typing import Final, Generic, TypeVar

K = TypeVar("K")

_NOWHERE: Final[dict[int, int]] = {}


class RowCounts(Generic[K]):
    """How often each key occurs on each row; what occurs nowhere takes no memory."""

    __slots__ = ("by_key",)

    def __init__(self) -> None:
        self.by_key: dict[K, dict[int, int]] = {}

    def add(self, key: K, row: int, change: int) -> int:
        """Add to a count, which never gets negative; gives what it is now."""
        rows = self.by_key.setdefault(key, {})
        count = rows.get(row, 0) + change
        if count:
            rows[row] = count
        else:
            rows.pop(row, None)
            if not rows:
                del self.by_key[key]
        return count

    def rows(self, key: K) -> KeysView[int]:
        """Give the rows on which a key occurs."""
        return self.by_key.get(key, _NOWHERE).keys()
