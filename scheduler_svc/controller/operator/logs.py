"""kopf's log lines: what is wrong, and the rest only for who looks for it.

An API server that is away is told of by kopf a dozen times a second, with a traceback of its
own code for each watch; one line each, and not the same again within `SAME_SECONDS`, is enough.
"""

import logging
import time
from typing import Final

DEBUGGING: Final = logging.DEBUG
SAME_SECONDS: Final = 30.0
_EXPECTED: Final = "OS signals are ignored"
"""A warning of each start: kopf runs beside the main thread, and signals are the process's."""
_SAME_CHARACTERS: Final = 60
"""Lines that begin alike are the same; after that come numbers of tries, and objects."""


def quiet_logs() -> None:
    """Have kopf tell of all that it does at ``-v 10`` only, else of trouble, and shortly."""
    logger = logging.getLogger("kopf")
    if logging.getLogger().isEnabledFor(DEBUGGING):
        return
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    logger.handlers[:] = [ShortLines()]


class ShortLines(logging.Handler):
    """Hands on to the process's own handlers what is worth a line."""

    def __init__(self) -> None:
        super().__init__()
        self._told_at: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Hand on a record, if it is news."""
        text = record.getMessage()
        if text.startswith(_EXPECTED):
            return
        start, now = text[:_SAME_CHARACTERS], time.monotonic()
        told_at = self._told_at.get(start)
        if told_at is not None and now - told_at < SAME_SECONDS:
            return
        self._told_at = {t: at for t, at in self._told_at.items() if now - at < SAME_SECONDS}
        self._told_at[start] = now
        record.exc_info = record.exc_text = None
        record.msg, record.args = f"kopf: {text}", None
        logging.getLogger().handle(record)
