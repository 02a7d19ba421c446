"""How fast Events may be written while Bindings are in progress.

An Event costs the API server half as much as a Binding, and nobody is kept waiting by a
late one. So while Pods are being bound only a trickle is written, until the oldest Event
has waited for `HOLD_SECONDS`; from then on just as many as it takes for none to wait for
longer than `DEADLINE_SECONDS`. A backlog of `HURRY_COUNT` is written at once, lest the
queue overflow.
"""

from typing import Final

TRICKLE_PER_SECOND: Final = 20.0
HOLD_SECONDS: Final = 15.0
DEADLINE_SECONDS: Final = 27.0
"""For the sending; what is left of 30 s is for the API server."""
HURRY_COUNT: Final = 10_000
_CATCH_UP_SECONDS: Final = 0.05


class EventPace:
    """Spreads Events evenly; times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._next_seconds = 0.0

    def delay_seconds(
        self, now_seconds: float, *, backlog_count: int, oldest_age_seconds: float
    ) -> float:
        """Give how long to wait before the next; 0 if it may be written now."""
        interval_seconds = _interval_seconds(backlog_count, oldest_age_seconds)
        # A rate that has risen since the last one was sent brings the next one forward.
        next_seconds = min(self._next_seconds, now_seconds + interval_seconds)
        return max(0.0, next_seconds - now_seconds)

    def sent(self, now_seconds: float, *, backlog_count: int, oldest_age_seconds: float) -> None:
        """Note that one is written now, of so many."""
        interval_seconds = _interval_seconds(backlog_count, oldest_age_seconds)
        # What was missed by a late timer is made up for, what was missed by pausing is not.
        basis_seconds = max(self._next_seconds, now_seconds - _CATCH_UP_SECONDS)
        self._next_seconds = min(basis_seconds, now_seconds) + interval_seconds


def _interval_seconds(backlog_count: int, oldest_age_seconds: float) -> float:
    left_seconds = DEADLINE_SECONDS - oldest_age_seconds
    if left_seconds <= 0 or backlog_count >= HURRY_COUNT:
        return 0.0
    if oldest_age_seconds < HOLD_SECONDS:
        return 1 / TRICKLE_PER_SECOND
    return 1 / max(TRICKLE_PER_SECOND, backlog_count / left_seconds)
