"""What a reflector's consumer has been told of, and so what to tell it next.

Of each object only uid and resourceVersion are kept, beside its name: enough to turn
a list after a gap into a difference. That is about 270 bytes an object, and another
150 for its name and uid unless the consumer keeps the same strings.
"""

import logging
import sys
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from kubeio.changes import Deleted, ReflectorEvent, ReflectorStatistics, Upserted
from kubeio.decoding import Decoded, Metadata
from kubeio.logs import fields

T = TypeVar("T")
Key = tuple[str, str]

_logger = logging.getLogger(__name__)


class _Entry(msgspec.Struct, gc=False):
    uid: str
    resource_version: str
    """ "" while the newest state could not be decoded."""
    is_told: bool
    """False where the consumer was never told: no state could be decoded."""


class KnownObjects(Generic[T]):
    """Turns decoded objects into the changes that the consumer must be told.

    Parameters
    ----------
    resource
        For log lines.
    deliver
        The consumer.
    statistics
        Counted in.
    """

    def __init__(
        self,
        resource: str,
        deliver: Callable[[ReflectorEvent[T]], None],
        statistics: ReflectorStatistics,
    ) -> None:
        self._resource = resource
        self._deliver = deliver
        self._statistics = statistics
        self._entries: dict[Key, _Entry] = {}
        self._undecodable: dict[Key, str] = {}
        self._listed_keys: set[Key] | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def begin_list(self) -> None:
        """Start to note what is there; an unfinished list before is forgotten."""
        self._listed_keys = set()

    def is_listed_unchanged(self, metadata: Metadata) -> bool:
        """Tell whether the consumer has this very state; notes that it is there."""
        entry = self._entries.get((metadata.namespace, metadata.name))
        if (
            entry is None
            or entry.uid != metadata.uid
            or entry.resource_version != metadata.resource_version
        ):
            return False
        if self._listed_keys is not None:
            self._listed_keys.add((metadata.namespace, metadata.name))
        return True

    def end_list(self) -> None:
        """Tell of everything as deleted that was known and did not come in the list."""
        listed, self._listed_keys = self._listed_keys or set(), None
        for key in [key for key in self._entries if key not in listed]:
            self._forget(key)
        self._update_counts()

    def upsert(self, decoded: Decoded[T]) -> None:
        """Take in an object's state and tell the consumer what is new of it."""
        metadata = decoded.metadata
        key = (metadata.namespace, metadata.name)
        if self._listed_keys is not None:
            self._listed_keys.add(key)
        entry = self._entries.get(key)
        if entry is not None and entry.uid != metadata.uid:
            self._forget(key)
            entry = None
        if decoded.object is None:
            self._note_undecodable(key, metadata.uid, entry, decoded.problem)
        elif entry is None:
            key = (sys.intern(metadata.namespace), metadata.name)
            self._entries[key] = _Entry(metadata.uid, metadata.resource_version, True)
            self._deliver(Upserted(decoded.object))
        elif entry.resource_version != metadata.resource_version:
            entry.resource_version = metadata.resource_version
            entry.is_told = True
            self._undecodable.pop(key, None)
            self._deliver(Upserted(decoded.object))
        self._update_counts()

    def delete(self, metadata: Metadata) -> None:
        """Take in that an object is gone; of an older namesake, nothing."""
        key = (metadata.namespace, metadata.name)
        entry = self._entries.get(key)
        if entry is not None and entry.uid == metadata.uid:
            self._forget(key)
        self._update_counts()

    def _forget(self, key: Key) -> None:
        entry = self._entries.pop(key)
        self._undecodable.pop(key, None)
        if entry.is_told:
            self._deliver(Deleted(*key, entry.uid))

    def _note_undecodable(self, key: Key, uid: str, entry: _Entry | None, problem: str) -> None:
        """Keep the older state, if there is one, so that it does not count as deleted."""
        self._statistics.decode_failure_count += 1
        if entry is None:
            self._entries[key] = _Entry(uid, "", False)
        else:
            entry.resource_version = ""
        if self._undecodable.get(key) != uid:
            self._undecodable[key] = uid
            _logger.error(
                "Cannot decode an object",
                extra=fields(
                    resource=self._resource,
                    namespace=key[0],
                    name=key[1],
                    uid=uid,
                    kept="its older state" if entry and entry.is_told else "nothing",
                    error=problem,
                ),
            )

    def _update_counts(self) -> None:
        self._statistics.object_count = len(self._entries)
        self._statistics.undecodable_count = len(self._undecodable)
