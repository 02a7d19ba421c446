"""Who a process is, and what its parts ask and tell it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who this process is: `holder` on the Lease, `instance` in decision ids, `seed` of jitter."""

    holder: str
    instance: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What the parts ask and tell the process that they are parts of."""

    may_attempt: Callable[[], bool]
    on_listed: Callable[[], None]
    on_leading: Callable[[], None]
    on_lost: Callable[[], None]
