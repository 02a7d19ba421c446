"""Objects as they will be once our writes have been seen: an overlay over a store.

An assumption holds for the version it was made of. Whatever the API server tells of an
object, be it our own write, ends it: there is nothing to expire.

Source: pkg/scheduler/framework/plugins/volumebinding/passive_assume_cache.go, v1.36.3.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from scheduler_svc.core.cluster_objects import ApiObject, ObjectStore, object_key

T = TypeVar("T", bound=ApiObject)


class AssumedObjects(Generic[T]):
    """The objects of one kind, assumed ones in place of those they were made of.

    `on_change` is told the key of each object that is another one than before.
    """

    def __init__(
        self, store: ObjectStore, on_change: Callable[[str], None] = lambda _key: None
    ) -> None:
        self._by_key: dict[str, T] = store.by_key
        self._assumed: dict[str, T] = {}
        self._on_change = on_change
        store.listeners.append(self._told)

    def __len__(self) -> int:
        """Count the assumed ones."""
        return len(self._assumed)

    def get(self, key: str) -> T | None:
        """Give the newest version; None for an object that the API server does not have."""
        return self._assumed.get(key) or self._by_key.get(key)

    def told(self, key: str) -> T | None:
        """Give what the API server has told."""
        return self._by_key.get(key)

    def assume(self, object_: T) -> None:
        """Take an object as if the API server had told of it."""
        key = object_key(object_.metadata.namespace, object_.metadata.name)
        self._assumed[key] = object_
        self._on_change(key)

    def revert(self, object_: T) -> None:
        """Forget an assumption, unless it has ended or another has been made since."""
        key = object_key(object_.metadata.namespace, object_.metadata.name)
        if self._assumed.get(key) is object_:
            del self._assumed[key]
            self._on_change(key)

    def _told(self, old: Any, new: Any) -> None:
        metadata = (new or old).metadata
        key = object_key(metadata.namespace, metadata.name)
        self._assumed.pop(key, None)
        self._on_change(key)
