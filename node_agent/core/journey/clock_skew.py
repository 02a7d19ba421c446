"""How far the node's clock is from the API server's, from what both have stamped.

Each piece of evidence bounds the difference. A request that left at s and was answered at r
by the node's clock, with a ``Date`` of D whole seconds, means that the API server's clock
read something in [D, D + 1) in between: the difference lies in (s - D - 1, r - D]. A Pod
received at r whose binding was stamped T bounds it from above only: r - T. Bounds that all
hold at once are intersected, so many answers at different fractions of a second narrow the
second down to about the time of a request.
"""

from collections import deque
from typing import Final

import msgspec

from node_agent.core.clock import NANOSECONDS

EVIDENCE_COUNT: Final = 64
"""Only so many of the newest bounds count: clocks drift."""


class SkewEstimate(msgspec.Struct, frozen=True, gc=False):
    """The node's clock less the API server's: between `low` and `high` (nanoseconds).

    Without a lower bound `low_nanoseconds` is None, and so is the estimate.
    """

    low_nanoseconds: int | None
    high_nanoseconds: int

    @property
    def estimate_nanoseconds(self) -> int | None:
        """The middle."""
        if self.low_nanoseconds is None:
            return None
        return (self.low_nanoseconds + self.high_nanoseconds) // 2

    @property
    def error_nanoseconds(self) -> int | None:
        """How far the truth may be from the estimate."""
        if self.low_nanoseconds is None:
            return None
        return (self.high_nanoseconds - self.low_nanoseconds + 1) // 2


class ClockSkew:
    """Collects bounds. Cost: a few µs for each."""

    def __init__(self) -> None:
        self._bounds: deque[tuple[int | None, int]] = deque(maxlen=EVIDENCE_COUNT)
        self.contradiction_count = 0
        """How often new evidence contradicted all that was known: a clock was set."""

    def add_answer(
        self, sent_nanoseconds: int, received_nanoseconds: int, date_seconds: int
    ) -> None:
        """Take in an answer's ``Date`` (Unix seconds); the others are the node's clock."""
        date = date_seconds * NANOSECONDS
        self._add(sent_nanoseconds - date - NANOSECONDS, received_nanoseconds - date)

    def add_receipt(self, received_nanoseconds: int, stamped_nanoseconds: int) -> None:
        """Take in something that the API server stamped before we received it."""
        self._add(None, received_nanoseconds - stamped_nanoseconds)

    def reset(self) -> None:
        """Forget all: the node's clock was set."""
        self._bounds.clear()

    def estimate(self) -> SkewEstimate | None:
        """Intersect the bounds; None before the first."""
        if not self._bounds:
            return None
        return _intersect(self._bounds)

    def _add(self, low: int | None, high: int) -> None:
        self._bounds.append((low, high))
        estimate = _intersect(self._bounds)
        if estimate.low_nanoseconds is not None and (
            estimate.low_nanoseconds > estimate.high_nanoseconds
        ):
            # The newest word counts: one of the clocks was set, or has drifted this far.
            self.contradiction_count += 1
            self._bounds.clear()
            self._bounds.append((low, high))


def _intersect(bounds: deque[tuple[int | None, int]]) -> SkewEstimate:
    lows = [low for low, _ in bounds if low is not None]
    return SkewEstimate(max(lows, default=None), min(high for _, high in bounds))
