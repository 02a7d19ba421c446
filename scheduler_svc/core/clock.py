"""Time as an argument: the core never reads a clock."""

import msgspec


class Now(msgspec.Struct, frozen=True, gc=False):
    """One reading of both clocks.

    `monotonic_seconds` orders and measures; `wall_seconds` (Unix time) is only for
    what other programs read, such as timestamps in annotations.
    """

    monotonic_seconds: float
    wall_seconds: float
