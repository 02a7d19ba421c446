"""Log lines: a fixed message that can be searched for, and key=value fields.

Verbosity is klog's: ``-v 0`` shows what everybody should see, 2 the usual life of a Pod,
3 each step of it, 10 everything. A level of verbosity is a level of stdlib's logging
below INFO, so that a line nobody wants costs one look-up (0.1 µs).

    2026-11-29T21:18:52.123Z INFO  Attempting to schedule pod  pod=default/a uid=6f2c…
"""

import logging
import sys
import time
from enum import StrEnum
from typing import Any, Final, TextIO

import msgspec

MAX_VERBOSITY: Final = 10


class LogFormat(StrEnum):
    """For people, or for programs: one JSON object a line."""

    TEXT = "text"
    JSON = "json"


def verbosity_level(verbosity: int) -> int:
    """Give stdlib's level of klog's ``V(verbosity)``."""
    return logging.INFO - min(max(verbosity, 0), MAX_VERBOSITY)


V2: Final = verbosity_level(2)
V3: Final = verbosity_level(3)
V4: Final = verbosity_level(4)
V5: Final = verbosity_level(5)


def fields(**values: object) -> dict[str, Any]:
    """Give `values` as the ``extra`` of a logging call."""
    return {"fields": values}


def configure_logging(
    *, verbosity: int = 0, format_: LogFormat = LogFormat.TEXT, stream: TextIO | None = None
) -> None:
    """Send every line of the process to `stream`, stderr if None, in one format."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(JsonFormatter() if format_ is LogFormat.JSON else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(verbosity_level(verbosity))


class TextFormatter(logging.Formatter):
    """Time (UTC), level, message, fields; a traceback follows on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record as one line."""
        level = "INFO" if record.levelno <= logging.INFO else record.levelname
        line = f"{_time(record)} {level:<5} {_one_line(record.getMessage())}"
        values: dict[str, object] = getattr(record, "fields", {})
        if values:
            line += "  " + " ".join(f"{name}={_shown(value)}" for name, value in values.items())
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


class JsonFormatter(logging.Formatter):
    """``ts``, ``level``, ``v``, ``logger``, ``msg``, then the fields; klog's names."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record as one JSON object."""
        is_info = record.levelno <= logging.INFO
        document: dict[str, object] = {
            "ts": _time(record),
            "level": "info" if is_info else record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        if is_info:
            document["v"] = logging.INFO - record.levelno
        document |= getattr(record, "fields", {})
        if record.exc_info:
            document["stacktrace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(document, enc_hook=str).decode()


def _time(record: logging.LogRecord) -> str:
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{moment}.{int(record.msecs):03d}Z"


def _one_line(text: str) -> str:
    """Keep what others may have written, such as an object's name, from starting a line."""
    return text if text.isprintable() else msgspec.json.encode(text).decode()[1:-1]


def _shown(value: object) -> str:
    """Write a value bare where it is one word, else as JSON does."""
    text = value if isinstance(value, str) else str(value)
    if text and text.isprintable() and not any(sign in text for sign in ' ="'):
        return text
    return msgspec.json.encode(text).decode()
