"""A warning about what was given up, once a minute at most: a flood must not flood the log."""

import asyncio
import logging
from collections import Counter
from typing import Final

from kubeio.logs import fields

INTERVAL_SECONDS: Final = 60.0


class Complaints:
    """Counts what was dropped, by reason, and warns: at once, then of what came since.

    Parameters
    ----------
    message
        Fixed text to search for, ``Dropped events``.
    expected
        Reasons that are counted and never warned of.
    """

    def __init__(
        self,
        logger: logging.Logger,
        message: str,
        *,
        expected: frozenset[str] = frozenset(),
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        self._logger = logger
        self._message = message
        self._expected = expected
        self._interval_seconds = interval_seconds
        self._unsaid: Counter[str] = Counter()
        self._last_text = ""
        self._timer: asyncio.TimerHandle | None = None
        self.counts: Counter[str] = Counter()

    def add(self, reason: str, text: str = "") -> None:
        """Note one; `text` is what the server said, or whatever helps to find the cause."""
        self.counts[reason] += 1
        if reason in self._expected:
            return
        self._unsaid[reason] += 1
        self._last_text = text
        if self._timer is None:
            self._say()

    @property
    def is_waiting(self) -> bool:
        """Whether the next one will not be told of at once."""
        return self._timer is not None

    def close(self) -> None:
        """Say what is unsaid."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._unsaid:
            self._log()

    def _say(self) -> None:
        self._timer = None
        if self._unsaid:
            self._log()
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._interval_seconds, self._say)

    def _log(self) -> None:
        values: dict[str, object] = {
            "count": self._unsaid.total(),
            "reasons": ",".join(sorted(self._unsaid)),
        }
        if self._last_text:
            values["last"] = self._last_text
        self._unsaid.clear()
        self._logger.warning(self._message, extra=fields(**values))
