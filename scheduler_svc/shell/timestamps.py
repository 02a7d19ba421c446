"""Times as Kubernetes and our annotations write them, from Unix seconds."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

_NANOSECONDS: Final = 1_000_000_000
_MICROSECONDS: Final = 1_000_000


def to_nanoseconds(seconds: float) -> int:
    """Convert without the error of multiplying Unix time, whose floats are 256 ns apart then."""
    whole_seconds = int(seconds)
    return whole_seconds * _NANOSECONDS + round((seconds - whole_seconds) * _NANOSECONDS)


def format_time(unix_seconds: float) -> str:
    """Write a ``metav1.Time``: ``2026-11-29T12:00:00Z``."""
    return f"{_format_second(int(unix_seconds))}Z"


def format_micro_time(unix_seconds: float) -> str:
    """Write a ``metav1.MicroTime``: always six digits, which the API server insists on."""
    whole_seconds, microseconds = divmod(round(unix_seconds * _MICROSECONDS), _MICROSECONDS)
    return f"{_format_second(whole_seconds)}.{microseconds:06d}Z"


@lru_cache(maxsize=64)
def _format_second(unix_seconds: int) -> str:
    """Most of a time's cost; those of a burst share their second."""
    return datetime.fromtimestamp(unix_seconds, UTC).isoformat()[:-6]
