"""Go's unstable sort, step by step: where items tie, its result depends on each step.

So does what becomes of an order that is none, such as that of Pods that have not started: each
counts as starting now, and so before the one that is looked at after it.

Source: Go's sort package (`Slice`, zsortfunc.go), 1.26.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_MOST_INSERTED: Final = 12
_FEWEST_FOR_A_NINTHER: Final = 50
_FEWEST_SHIFTED: Final = 50
_MOST_SWAPS: Final = 12
_MOST_SHIFTS: Final = 5
_UINT64: Final = 2**64 - 1


def go_sorted(items: list[T], less: Callable[[T, T], bool]) -> list[T]:
    """Give the items in the order in which Go's `sort.Slice` leaves them.

    Cost: O(n log n) calls of `less`, O(n) where they are in order already.
    """
    sorting = _Sorting(list(items), less)
    sorting.sort(0, len(items), len(items).bit_length())
    return sorting.items


class _Hint(Enum):
    INCREASING = auto()
    DECREASING = auto()
    UNKNOWN = auto()


class _Sorting(Generic[T]):
    """A list on its way to be in order; `a` and `b` are where a part of it begins and ends."""

    def __init__(self, items: list[T], less: Callable[[T, T], bool]) -> None:
        self.items = items
        self._less_item = less

    def _less(self, i: int, j: int) -> bool:
        return self._less_item(self.items[i], self.items[j])

    def _swap(self, i: int, j: int) -> None:
        self.items[i], self.items[j] = self.items[j], self.items[i]

    def sort(self, a: int, b: int, limit: int) -> None:
        """Sort a part by pattern-defeating quicksort; by heapsort after `limit` bad pivots."""
        was_balanced = was_partitioned = True
        while True:
            length = b - a
            if length <= _MOST_INSERTED:
                self._insert(a, b)
                return
            if limit == 0:
                self._sort_as_heap(a, b)
                return
            if not was_balanced:
                self._break_patterns(a, b)
                limit -= 1
            pivot, hint = self._choose_pivot(a, b)
            if hint is _Hint.DECREASING:
                self.items[a:b] = self.items[a:b][::-1]
                pivot, hint = (b - 1) - (pivot - a), _Hint.INCREASING
            likely = was_balanced and was_partitioned and hint is _Hint.INCREASING
            if likely and self._insert_some(a, b):
                return
            if a > 0 and not self._less(a - 1, pivot):
                a = self._partition_equal(a, b, pivot)
                continue
            middle, was_partitioned = self._partition(a, b, pivot)
            left, right = middle - a, b - middle
            was_balanced = min(left, right) >= length // 8
            if left < right:
                self.sort(a, middle, limit)
                a = middle + 1
            else:
                self.sort(middle + 1, b, limit)
                b = middle

    def _insert(self, a: int, b: int) -> None:
        for i in range(a + 1, b):
            self._shift_down(i, a)

    def _shift_down(self, i: int, lowest: int) -> None:
        while i > lowest and self._less(i, i - 1):
            self._swap(i, i - 1)
            i -= 1

    def _sort_as_heap(self, a: int, b: int) -> None:
        count = b - a
        for i in range((count - 1) // 2, -1, -1):
            self._sift_down(i, count, a)
        for i in range(count - 1, -1, -1):
            self._swap(a, a + i)
            self._sift_down(0, i, a)

    def _sift_down(self, root: int, end: int, first: int) -> None:
        while (child := 2 * root + 1) < end:
            if child + 1 < end and self._less(first + child, first + child + 1):
                child += 1
            if not self._less(first + root, first + child):
                return
            self._swap(first + root, first + child)
            root = child

    def _partition(self, a: int, b: int, pivot: int) -> tuple[int, bool]:
        """Put what is less before the pivot; give its place, and whether all was so before."""
        self._swap(a, pivot)
        i, j = self._narrow(a + 1, b - 1, a)
        if i > j:
            self._swap(j, a)
            return j, True
        while i <= j:
            self._swap(i, j)
            i, j = self._narrow(i + 1, j - 1, a)
        self._swap(j, a)
        return j, False

    def _narrow(self, i: int, j: int, pivot: int) -> tuple[int, int]:
        while i <= j and self._less(i, pivot):
            i += 1
        while i <= j and not self._less(j, pivot):
            j -= 1
        return i, j

    def _partition_equal(self, a: int, b: int, pivot: int) -> int:
        """Put what equals the pivot first, where nothing is less; give where that ends."""
        self._swap(a, pivot)
        i, j = a + 1, b - 1
        while True:
            while i <= j and not self._less(a, i):
                i += 1
            while i <= j and self._less(a, j):
                j -= 1
            if i > j:
                return i
            self._swap(i, j)
            i, j = i + 1, j - 1

    def _insert_some(self, a: int, b: int) -> bool:
        """Shift a few items; tell whether all are in order now."""
        i = a + 1
        for _ in range(_MOST_SHIFTS):
            while i < b and not self._less(i, i - 1):
                i += 1
            if i == b:
                return True
            if b - a < _FEWEST_SHIFTED:
                return False
            self._swap(i, i - 1)
            if i - a >= 2:
                # Down to the beginning of all, as Go does.
                self._shift_down(i - 1, 0)
            j = i + 1
            while j < b and self._less(j, j - 1):
                self._swap(j, j - 1)
                j += 1
        return False

    def _break_patterns(self, a: int, b: int) -> None:
        length = b - a
        random, modulus = length, 1 << length.bit_length()
        middle = a + length // 4 * 2
        for place in range(middle - 1, middle + 2):
            random ^= random << 13 & _UINT64
            random ^= random >> 7
            random ^= random << 17 & _UINT64
            other = random & (modulus - 1)
            self._swap(place, a + (other - length if other >= length else other))

    def _choose_pivot(self, a: int, b: int) -> tuple[int, _Hint]:
        """Give a place in the middle of things, and what they look like; there are 13 or more."""
        quarter, swaps = (b - a) // 4, [0]
        i, j, k = a + quarter, a + quarter * 2, a + quarter * 3
        if b - a >= _FEWEST_FOR_A_NINTHER:
            i, j, k = (self._median(at - 1, at, at + 1, swaps) for at in (i, j, k))
        j = self._median(i, j, k, swaps)
        if swaps[0] == 0:
            return j, _Hint.INCREASING
        return j, _Hint.DECREASING if swaps[0] == _MOST_SWAPS else _Hint.UNKNOWN

    def _median(self, a: int, b: int, c: int, swaps: list[int]) -> int:
        a, b = self._in_order(a, b, swaps)
        b, c = self._in_order(b, c, swaps)
        a, b = self._in_order(a, b, swaps)
        return b

    def _in_order(self, a: int, b: int, swaps: list[int]) -> tuple[int, int]:
        if self._less(b, a):
            swaps[0] += 1
            return b, a
        return a, b
