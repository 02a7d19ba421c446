"""The process's clocks, read in one place and handed to everything that measures or waits.

The monotonic clock goes on while the machine is suspended: a leader that wakes up must
find its Lease expired (`scheduler_svc.core.leaderelection`).
"""

import time

from scheduler_svc.core.clock import Now


def read_monotonic_seconds() -> float:
    """Give the seconds since the machine was started."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def read_now() -> Now:
    """Read both clocks. Cost: 0.3 µs."""
    return Now(time.clock_gettime(time.CLOCK_BOOTTIME), time.time())
