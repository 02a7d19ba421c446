"""An API server that keeps objects as manifests and tells of them, kind by kind, in order.

What is told of one kind and what of another may come in any order, and what a watch has not
told yet may be left out but for the newest of each object, as after a list.
"""

from collections import deque
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

import msgspec

from scheduler_svc.core.cluster_objects import object_key
from scheduler_svc.core.events import (
    Event,
    NodeDeleted,
    NodeUpserted,
    ObjectDeleted,
    ObjectUpserted,
    PodDeleted,
    PodUpserted,
)
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Node, Pod
from scheduler_svc.core.pods import PodInterner
from scheduler_svc.shell.views.object_views import WATCHED_KINDS
from tests.property.whole_objects import Manifest

_WATCHED: Final = {watched.kind.value: watched for watched in WATCHED_KINDS}


def key_of(manifest: Manifest) -> str:
    """Give the key of an object."""
    metadata = manifest["metadata"]
    return object_key(metadata.get("namespace", ""), metadata["name"])


class ApiServer:
    """The objects by kind and key; `watches` has what is still to be told of each kind."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Manifest]] = {}
        self.watches: dict[str, deque[tuple[str, Event]]] = {}
        self._version = 0
        self._interner = PodInterner()

    def next_number(self) -> int:
        """Give a number that no object has got."""
        self._version += 1
        return self._version

    def all(self, kind: str) -> list[Manifest]:
        """Give all objects of a kind, the oldest first."""
        return list(self.objects.get(kind, {}).values())

    def get(self, kind: str, key: str) -> Manifest | None:
        """Give an object."""
        return self.objects.get(kind, {}).get(key)

    def put(self, kind: str, manifest: Manifest) -> Manifest:
        """Create an object, or take its new version."""
        key, known = key_of(manifest), self.objects.setdefault(kind, {})
        self._version += 1
        metadata = manifest["metadata"]
        metadata.setdefault("uid", f"uid-{kind}-{metadata['name']}-{self._version}")
        metadata["resourceVersion"] = str(self._version)
        known[key] = manifest
        self._tell(kind, key, self.event(kind, manifest))
        return manifest

    def change(self, kind: str, manifest: Manifest, change: Callable[[Manifest], object]) -> None:
        """Put a changed copy in an object's place."""
        copy = deepcopy(manifest)
        change(copy)
        self.put(kind, copy)

    def delete(self, kind: str, key: str) -> None:
        """Delete an object, if it is there."""
        gone = self.objects.get(kind, {}).pop(key, None)
        if gone is None:
            return
        if kind == "Pod":
            event: Event = PodDeleted(gone["metadata"]["uid"])
        elif kind == "Node":
            event = NodeDeleted(key)
        else:
            event = ObjectDeleted(_WATCHED[kind].kind, key)
        self._tell(kind, key, event)

    def event(self, kind: str, manifest: Mapping[str, Any]) -> Event:
        """Give what the scheduler is told of an object."""
        if kind == "Pod":
            return PodUpserted(self._interner.intern(msgspec.convert(manifest, Pod)))
        if kind == "Node":
            return NodeUpserted(NodeInfo.from_node(msgspec.convert(manifest, Node)))
        watched = _WATCHED[kind]
        return ObjectUpserted(watched.kind, msgspec.convert(manifest, watched.object_type))

    def _tell(self, kind: str, key: str, event: Event) -> None:
        self.watches.setdefault(kind, deque()).append((key, event))

    def take(self, kind: str) -> Event | None:
        """Give what is to be told next of a kind."""
        watch = self.watches.get(kind)
        return watch.popleft()[1] if watch else None

    def list_anew(self, kind: str) -> None:
        """Leave out all but the newest of each object; ends are told last."""
        watch = self.watches.get(kind)
        if not watch or kind == "Pod":
            return
        newest = dict(watch)
        ordered = sorted(newest.items(), key=lambda told: isinstance(told[1], ENDS))
        self.watches[kind] = deque(ordered)


ENDS: Final = (PodDeleted, NodeDeleted, ObjectDeleted)
