"""How many Bindings to have under way at once: additive increase, multiplicative decrease.

More at once lets etcd write several in one batch; too many make the API server refuse
(429), or let everything wait. The limit grows by one a round (as many answers as the
limit is high) while it is what holds us up and answers take no longer than they did;
it falls by a third when the server refuses or does not answer in time, and, down to
half of the start, when answers take much longer than the best rounds did. Answers to
what was sent before a fall say nothing about the new limit and cause no second one.
"""

from typing import Final

START: Final = 32
LOWEST: Final = 1
HIGHEST: Final = 256


class AdaptiveLimit:
    """The limit and what it learns; times are seconds of one monotonic clock."""

    def __init__(self, start: int = START, *, lowest: int = LOWEST, highest: int = HIGHEST) -> None:
        self._limit = float(min(max(start, lowest), highest))

    @property
    def value(self) -> int:
        """How many may be under way now."""
        return int(self._limit)
