"""Whom the change of an object concerns, among Pods that wait for others to do their part."""

from collections.abc import Collection
from typing import Final

from scheduler_svc.core.cluster_objects import ObjectName

_NOBODY: Final[dict[str, None]] = {}


class AwaitedObjects:
    """Pods, by uid, that wait for certain objects, or for any. Each operation: O(its objects)."""

    def __init__(self) -> None:
        self._objects: dict[str, frozenset[ObjectName]] = {}
        self._waiting: dict[ObjectName, dict[str, None]] = {}
        self._waiting_for_any: dict[str, None] = {}

    def add(self, uid: str, objects: Collection[ObjectName] | None) -> None:
        """Have a Pod wait for these objects (None: for any), no longer for others."""
        self.discard(uid)
        if objects is None:
            self._waiting_for_any[uid] = None
            return
        names = self._objects[uid] = frozenset(objects)
        for name in names:
            self._waiting.setdefault(name, {})[uid] = None

    def discard(self, uid: str) -> None:
        """Forget a Pod, whether or not it waits."""
        self._waiting_for_any.pop(uid, None)
        for name in self._objects.pop(uid, ()):
            waiting = self._waiting[name]
            del waiting[uid]
            if not waiting:
                del self._waiting[name]

    def concerned(self, name: ObjectName) -> list[str]:
        """Give the Pods that wait for an object."""
        return [*self._waiting_for_any, *self._waiting.get(name, _NOBODY)]
