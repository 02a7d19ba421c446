"""A heap whose items can be found, removed and moved by a key.

An entry is a flat tuple: sort key, serial number, identifier, item. `heapq` then
compares in C and stops before the item, since serial numbers differ; this is five
times faster than a heap in Python with an index map, which is why removed and
superseded entries are not taken out: they stay until they surface, and when they are
more than the live ones the heap is rebuilt from those, so that each is paid for once.
"""

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")
SortKey = tuple[Any, ...]

# Below this many dead entries rebuilding is not worth its while.
_SLACK: Final = 64


class KeyedHeap(Generic[T]):
    """A priority queue of items with identifiers; the smallest `sort_key(item)` comes first.

    The order of items with equal keys is that of their pushes. `push` and `pop` cost
    O(log n), `remove` and `peek` O(1) amortised.
    """

    def __init__(self, sort_key: Callable[[T], SortKey]) -> None:
        self._sort_key = sort_key
        self._serial = 0
        self._live: dict[str, tuple[Any, ...]] = {}
        self._heap: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, uid: str) -> bool:
        return uid in self._live

    def __iter__(self) -> Iterator[T]:
        """Give the items in the order of their pushes."""
        return (entry[-1] for entry in self._live.values())

    def push(self, uid: str, item: T) -> None:
        """Add the item, or put it where its present sort key belongs."""
        self._serial += 1
        entry = (*self._sort_key(item), self._serial, uid, item)
        self._live[uid] = entry
        heappush(self._heap, entry)
        self._shed()

    def get(self, uid: str) -> T | None:
        """Find an item."""
        entry = self._live.get(uid)
        return None if entry is None else entry[-1]

    def remove(self, uid: str) -> T | None:
        """Take an item out, wherever it is in the order."""
        entry = self._live.pop(uid, None)
        if entry is None:
            return None
        self._shed()
        item: T = entry[-1]
        return item

    def peek(self) -> T | None:
        """Look at the first item."""
        heap, live = self._heap, self._live
        while heap:
            entry = heap[0]
            if live.get(entry[-2]) is entry:
                item: T = entry[-1]
                return item
            heappop(heap)
        return None

    def pop(self) -> T | None:
        """Take the first item out."""
        heap, live = self._heap, self._live
        while heap:
            entry = heappop(heap)
            uid = entry[-2]
            if live.get(uid) is entry:
                del live[uid]
                item: T = entry[-1]
                return item
        return None

    def _shed(self) -> None:
        if len(self._heap) > 2 * len(self._live) + _SLACK:
            self._heap = list(self._live.values())
            heapify(self._heap)
