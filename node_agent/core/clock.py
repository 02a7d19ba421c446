"""Time as an argument: the core never reads a clock."""

from typing import Final

import msgspec

NANOSECONDS: Final = 1_000_000_000
"""In a second."""


class Now(msgspec.Struct, frozen=True, gc=False):
    """One reading of both clocks of the node.

    `monotonic_seconds` orders and measures; `wall_nanoseconds` (Unix time) is compared with
    what other programs wrote, and jumps when the node's clock is set.
    """

    monotonic_seconds: float
    wall_nanoseconds: int

    @property
    def wall_seconds(self) -> float:
        """Unix time in seconds; exact to about 0.2 µs only."""
        return self.wall_nanoseconds / NANOSECONDS
