"""Keeps a consumer's view of one resource equal to the API server's: list, then watch.

    list ──► watch ──► (ended, dropped, silent, 429, 5xx, no JSON) ──► wait ──► watch
      ▲        │
      └────────┴── 410, or the resourceVersion is refused

The consumer is told of changes in order, `Upserted` and `Deleted`, and gets a `Listed`
mark after each list. The reflector keeps uid and resourceVersion of every object it
has told of, nothing else; by them a list after a gap becomes a difference: what is
gone is `Deleted`, what is unchanged is not told again, and an object made anew under
an old name is `Deleted` and `Upserted`. So nothing is lost in a gap, however long.

One decode for each event, straight into the caller's msgspec struct. Pages of lists
and bursts of events are worked off in slices of a few milliseconds.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kubeio.client import KubeClient
from kubeio.resources import ResourcePath

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Upserted(Generic[T]):
    """An object exists, in this state."""

    object: T


@dataclass(frozen=True, slots=True)
class Deleted:
    """An object that was `Upserted` is gone (or no longer matches the selector)."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Listed:
    """Everything that existed at `resource_version` has been told."""

    resource_version: str


ReflectorEvent = Upserted[T] | Deleted | Listed


@dataclass(slots=True)
class ReflectorStatistics:
    """What a reflector has lived through; counts since the start.

    Attributes
    ----------
    listed
        True once the first list is complete.
    object_count
        Objects known now.
    undecodable_count
        Of these, objects whose newest state could not be decoded.
    event_count
        Watch events that told something.
    lists, watches
        Times each was begun again, by reason: ``start``, ``expired``, ``ended``,
        ``idle``, ``lost``, ``refused``, ``malformed``…
    decode_failure_count
        Objects that could not be decoded, each time.
    last_byte_at, last_event_at
        Monotonic seconds of the clock given; None before the first.
    """

    listed: bool = False
    object_count: int = 0
    undecodable_count: int = 0
    event_count: int = 0
    lists: dict[str, int] = field(default_factory=dict)
    watches: dict[str, int] = field(default_factory=dict)
    decode_failure_count: int = 0
    last_byte_at: float | None = None
    last_event_at: float | None = None


class Reflector(Generic[T]):
    """Lists and watches one resource for ever.

    Parameters
    ----------
    client
        Its ``reads`` and ``watches`` lanes are used.
    resource
        What to watch.
    object_type
        The msgspec struct to decode each object into. It must have a ``metadata`` with
        ``namespace``, ``name``, ``uid`` and ``resource_version`` (str, "" where absent).
    deliver
        Gets every event, in order, in the event loop; must not block.
    convert
        Makes a T of the decoded struct; a ValueError from it counts as undecodable.
        None where the struct is what the consumer wants.
    field_selector, label_selector
        As the API takes them; "" for all.
    page_size
        Objects in a page of a list.
    seed
        Of the jitter.
    clock
        Monotonic seconds.
    sleep
        Replaced by tests.
    """

    def __init__(
        self,
        client: KubeClient,
        resource: ResourcePath,
        object_type: type[Any],
        deliver: Callable[[ReflectorEvent[T]], None],
        *,
        convert: Callable[[Any], T] | None = None,
        field_selector: str = "",
        label_selector: str = "",
        page_size: int = 500,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        raise NotImplementedError

    @property
    def statistics(self) -> ReflectorStatistics:
        """Counts and times; do not write."""
        raise NotImplementedError

    def problem(self, *, max_silence_seconds: float = 120.0) -> str | None:
        """Say why the view may not be relied on, None if it may: for ``/readyz``."""
        raise NotImplementedError

    async def run(self) -> None:
        """List and watch until cancelled; errors are logged and tried again."""
        raise NotImplementedError
