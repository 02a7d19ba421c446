"""Times as Kubernetes and our annotations write them, from Unix seconds."""

from datetime import UTC, datetime
from typing import Final

_NANOSECONDS: Final = 1_000_000_000


def to_nanoseconds(seconds: float) -> int:
    """Convert without the error of multiplying Unix time, whose floats are 256 ns apart then."""
    whole_seconds = int(seconds)
    return whole_seconds * _NANOSECONDS + round((seconds - whole_seconds) * _NANOSECONDS)


def format_time(unix_seconds: float) -> str:
    """Write a ``metav1.Time``: ``2026-11-29T12:00:00Z``."""
    return datetime.fromtimestamp(int(unix_seconds), UTC).isoformat()[:-6] + "Z"


def format_micro_time(unix_seconds: float) -> str:
    """Write a ``metav1.MicroTime``: always six digits, which the API server insists on."""
    return datetime.fromtimestamp(unix_seconds, UTC).isoformat(timespec="microseconds")[:-6] + "Z"
