"""How many Bindings to have under way at once: additive increase, multiplicative decrease.

More at once lets etcd write several in one batch; too many make the API server refuse
(429), or let everything wait. In rounds of as many answers as the limit is high, while
the limit is what holds Bindings up:

* answers as quick as ever (at most twice the best round): one more;
* much slower (over eight times): a third less, but not below half of the start, or
  another client's load would silence us;
* refused, or no answer in time: a third less at once;
* below half of the start: one more, however slow, and not to be measured by: the quick
  answers that so few get would keep us there.

Answers to what was sent before a fall say nothing about the new limit, so they change
nothing. The best round is forgotten slowly, since servers change.
"""

from math import inf
from typing import Final

START: Final = 32
LOWEST: Final = 1
HIGHEST: Final = 256
_FALL_FACTOR: Final = 2 / 3
_FLAT_FACTOR: Final = 2.0
_SLOW_FACTOR: Final = 8.0
_FORGETTING_FACTOR: Final = 1.01


class AdaptiveLimit:
    """The limit and what it learns; times are seconds of one monotonic clock.

    Parameters
    ----------
    start
        The first limit; brought into [`lowest`, `highest`].
    """

    def __init__(self, start: int = START, *, lowest: int = LOWEST, highest: int = HIGHEST) -> None:
        self._lowest = lowest
        self._highest = highest
        self._limit = float(min(max(start, lowest), highest))
        self._slow_floor = self._limit / 2
        self._fell_seconds = -inf
        self._best_mean_seconds = inf
        self._round_count = 0
        self._round_seconds = 0.0

    @property
    def value(self) -> int:
        """How many may be under way now."""
        return int(self._limit)

    def succeeded(self, *, sent_seconds: float, now_seconds: float, is_limiting: bool) -> None:
        """Learn from an answer; `is_limiting`: others wait for their turn."""
        if not is_limiting or sent_seconds <= self._fell_seconds:
            return
        self._round_count += 1
        self._round_seconds += now_seconds - sent_seconds
        if self._round_count < self._limit:
            return
        mean_seconds = self._round_seconds / self._round_count
        self._begin_round()
        if self._limit < self._slow_floor:
            self._limit = min(self._limit + 1, self._slow_floor)
            return
        best_seconds = min(mean_seconds, self._best_mean_seconds * _FORGETTING_FACTOR)
        self._best_mean_seconds = best_seconds
        if mean_seconds <= _FLAT_FACTOR * best_seconds:
            self._limit = min(self._limit + 1, float(self._highest))
        elif mean_seconds > _SLOW_FACTOR * best_seconds and self._limit > self._slow_floor:
            self._fall(max(self._limit * _FALL_FACTOR, self._slow_floor), now_seconds)

    def overloaded(self, *, sent_seconds: float, now_seconds: float) -> None:
        """Learn that a request was refused with 429, or not answered in time."""
        if sent_seconds > self._fell_seconds:
            self._fall(self._limit * _FALL_FACTOR, now_seconds)

    def _fall(self, limit: float, now_seconds: float) -> None:
        self._limit = max(limit, float(self._lowest))
        self._fell_seconds = now_seconds
        self._begin_round()

    def _begin_round(self) -> None:
        self._round_count = 0
        self._round_seconds = 0.0
