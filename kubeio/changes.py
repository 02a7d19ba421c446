"""What a reflector tells its consumer, and what it counts."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class Upserted(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """An object exists, in this state."""

    object: T


class Deleted(msgspec.Struct, frozen=True, gc=False):
    """An object that was `Upserted` is gone, or no longer matches the selector."""

    namespace: str
    name: str
    uid: str


class Listed(msgspec.Struct, frozen=True, gc=False):
    """Everything that existed at `resource_version` has been told.

    Of a resource that the API server does not serve: nothing, at "".
    """

    resource_version: str


ReflectorEvent = Upserted[T] | Deleted | Listed


@dataclass(slots=True)
class ReflectorStatistics:
    """What a reflector has lived through; counts since the start.

    Attributes
    ----------
    listed
        True once the first list is complete, or there is nothing to list.
    is_unserved
        True while the API server does not know the resource, which so counts as empty.
    object_count
        Objects known now.
    undecodable_count
        Of these, objects whose newest state cannot be decoded: the consumer has an
        older state of them, or none.
    event_count
        Watch events of objects, whether or not they told anything new.
    lists
        Lists begun, by reason: ``start``, ``expired``, ``invalid``, ``fruitless``, ``rewound``,
        ``unserved`` (looking again for what the API server did not serve).
    endings
        Lists and watches that ended, by reason: ``ended`` (as asked), ``silent``,
        ``lost``, ``connect``, ``expired``, ``throttled``, ``malformed`` and others.
    decode_failure_count
        Objects that could not be decoded, each time they came.
    last_byte_at, last_event_at
        Monotonic seconds, by the reflector's clock; None before the first. A healthy
        watch gets a bookmark about once a minute.
    last_problem
        Why the last list or watch failed; "" since the next one that worked.
    """

    listed: bool = False
    is_unserved: bool = False
    object_count: int = 0
    undecodable_count: int = 0
    event_count: int = 0
    lists: dict[str, int] = field(default_factory=dict)
    endings: dict[str, int] = field(default_factory=dict)
    decode_failure_count: int = 0
    last_byte_at: float | None = None
    last_event_at: float | None = None
    last_problem: str = ""
