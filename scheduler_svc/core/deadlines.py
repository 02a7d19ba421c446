"""Deadlines of many that wait, of which most never come to be due."""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Final

_KEPT: Final = 64


class Deadlines:
    """Deadlines (monotonic seconds) by uid. Each operation: O(log n) amortized.

    `holds` says of a uid and a deadline whether it still counts; what does not is dropped when
    its turn comes, or when there is too much of it.
    """

    def __init__(self, holds: Callable[[str, float], bool]) -> None:
        self._holds = holds
        self._heap: list[tuple[float, str]] = []
        self._limit = _KEPT

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, uid: str, seconds: float) -> None:
        """Add a deadline that holds."""
        heappush(self._heap, (seconds, uid))
        if len(self._heap) > self._limit:
            self._heap = [(when, who) for when, who in self._heap if self._holds(who, when)]
            heapify(self._heap)
            self._limit = 2 * len(self._heap) + _KEPT

    def earliest(self) -> float | None:
        """Give the earliest that holds."""
        while self._heap:
            seconds, uid = self._heap[0]
            if self._holds(uid, seconds):
                return seconds
            heappop(self._heap)
        return None

    def take_due(self, now_seconds: float) -> list[str]:
        """Take those that are over; give whose they were, the earliest first."""
        due: list[str] = []
        while self._heap and self._heap[0][0] <= now_seconds:
            seconds, uid = heappop(self._heap)
            if self._holds(uid, seconds):
                due.append(uid)
        return due
