"""How long to wait before the next try: exponential, spread out, from a seed."""

import random
from typing import Final

FIRST_SECONDS: Final = 0.2
LIMIT_SECONDS: Final = 30.0
RETRY_AFTER_SPREAD: Final = 0.2


class Jitter:
    """Random numbers that spread clients out; equal seeds give equal numbers."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - spreads load, keeps no secret

    def between(self, low: float, high: float) -> float:
        """Give a number in [low, high]."""
        return self._random.uniform(low, high)


class Backoff:
    """Delays that double from `first_seconds` to `limit_seconds`, each cut by up to half."""

    def __init__(
        self,
        jitter: Jitter,
        *,
        first_seconds: float = FIRST_SECONDS,
        limit_seconds: float = LIMIT_SECONDS,
    ) -> None:
        self._jitter = jitter
        self._first = first_seconds
        self._limit = limit_seconds
        self._step = first_seconds

    def reset(self) -> None:
        """Start from `first_seconds` again."""
        self._step = self._first

    def next_delay(self, retry_after_seconds: float | None = None) -> float:
        """Give the seconds to wait now, and make the next delay longer.

        Parameters
        ----------
        retry_after_seconds
            What the server asked for; the delay is at least that, and up to a fifth
            longer, so that those who were refused together do not return together.
        """
        delay = self._jitter.between(self._step / 2, self._step)
        self._step = min(2 * self._step, self._limit)
        if retry_after_seconds is None:
            return delay
        asked = retry_after_seconds * self._jitter.between(1.0, 1.0 + RETRY_AFTER_SPREAD)
        return max(delay, asked)
