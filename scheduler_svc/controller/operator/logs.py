"""kopf's log lines: what is wrong, and the rest only for who looks for it."""

import logging
from typing import Final

DEBUGGING: Final = logging.DEBUG
_EXPECTED: Final = "OS signals are ignored"
"""A warning of each start: kopf runs beside the main thread, and signals are the process's."""


def quiet_logs() -> None:
    """Have kopf tell of each object that it hands on at ``-v 10`` only, else of trouble."""
    is_debugging = logging.getLogger().isEnabledFor(DEBUGGING)
    logging.getLogger("kopf").setLevel(logging.NOTSET if is_debugging else logging.WARNING)
    logging.getLogger("kopf._core.reactor.running").addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(_EXPECTED)
