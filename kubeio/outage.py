"""An API server that is away: one finds out that it answers again, for all who share this.

Each reflector asks by itself whether the server is back, ever more slowly. Without this a cluster
would be known in full only half a minute after its API server was restarted.
"""

import asyncio
from typing import Final

from kubeio.backoff import Jitter

TOLD_AGAIN_SECONDS: Final = 30.0
"""So often a failure that goes on is told of in the log."""
RETURN_SPREAD_SECONDS: Final = 1.0
"""All who have waited for the server ask it within so long."""

_LASTING: Final = frozenset({"connect", "unauthorized"})
OF_ALL: Final = _LASTING | {"lost"}
"""Why lists and watches end that befalls those of all resources."""


class Outage:
    """What befalls all lists and watches of an API server at once; seconds are of one clock."""

    def __init__(self) -> None:
        self._told_at: dict[str, float] = {}
        self._began_at: float | None = None
        self._ended = asyncio.Event()

    def is_news(self, reason: str, now: float) -> bool:
        """Take in a failure, for one of `OF_ALL`; tell whether it is news, of any resource."""
        if self._began_at is None and reason in _LASTING:
            self._began_at = now
            self._ended.clear()
        told_at = self._told_at.get(reason)
        if told_at is not None and now - told_at < TOLD_AGAIN_SECONDS:
            return False
        self._told_at[reason] = now
        return True

    def end(self, now: float) -> float | None:
        """Take in an answer; give how long there was none, None if there was nothing the matter."""
        began_at, self._began_at = self._began_at, None
        if began_at is None:
            return None
        self._told_at.clear()
        self._ended.set()
        return now - began_at

    async def pause(self, seconds: float, reason: str, jitter: Jitter) -> None:
        """Wait so long after a failure; in an outage, until shortly after anybody's answer."""
        if reason not in OF_ALL or self._began_at is None:
            await asyncio.sleep(seconds)
            return
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return
        await asyncio.sleep(jitter.between(0.0, RETURN_SPREAD_SECONDS))
