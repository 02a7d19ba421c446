"""What a log shows of records."""

import logging
from collections.abc import Iterable

from kubeio.logs import TextFormatter


def lines_of(records: Iterable[logging.LogRecord]) -> list[str]:
    """Give the lines, without time and level."""
    return [TextFormatter().format(record).split(maxsplit=2)[2] for record in records]
