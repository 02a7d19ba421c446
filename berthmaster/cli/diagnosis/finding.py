"""One thing that was found: how bad it is, what it is, why it matters and what to type next."""

from enum import StrEnum
from typing import Final

import msgspec

OBJECTS_TOLD: Final = 20
"""Of the objects that a finding is about, so many are named; `count` has them all."""

SETTLING_SECONDS: Final = 30.0
"""What has lasted for less may pass by itself."""


class Severity(StrEnum):
    """How bad it is; names appear in the JSON.

    `OK`: as it should be. `NOTE`: worth knowing, nothing is wrong. `WARNING`: it may become a
    problem, or it is not clear whether it is one. `PROBLEM`: something does not work now.
    """

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return _WORST_FIRST.index(self)


_WORST_FIRST: Final = (Severity.PROBLEM, Severity.WARNING, Severity.NOTE, Severity.OK)


class Area(StrEnum):
    """What it is about, in the order in which findings of one severity are told."""

    SCHEDULER = "scheduler"
    PENDING = "pending"
    RUNNING = "running"
    NODES = "nodes"
    AGENTS = "agents"
    EVENTS = "events"
    RIGHTS = "rights"


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What was found.

    Attributes
    ----------
    check
        A stable name for it, in kebab case.
    what, why
        One sentence each.
    next_command
        What to type next; "" where nothing is to be done.
    count
        How many objects it is about; `objects` names the first of them.
    since_seconds
        How long the oldest of them has been so; None where that is not known.
    detail
        Lines that add to `what`: messages, shares.
    """

    check: str
    severity: Severity
    area: Area
    what: str
    why: str = ""
    next_command: str = ""
    count: int = 0
    objects: tuple[str, ...] = ()
    since_seconds: float | None = None
    detail: tuple[str, ...] = ()
