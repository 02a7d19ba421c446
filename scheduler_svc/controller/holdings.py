"""Our custom resources as kopf has told of them: the newest state of each that is there.

kopf tells nothing of what was deleted in a gap of its watch, so whoever looks at the whole
list now and then (`census`) takes that out. What our own write has answered is newer than
what kopf tells next; versions are compared, so that an older state never comes back.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from scheduler_svc.controller.custom_resources import CustomResource, ObjectKey

OUR_ANNOTATIONS: Final = "berthmaster.dev/"


class HeldObject(msgspec.Struct, frozen=True, gc=False):
    """What is kept of an object; of its annotations, those in our name."""

    key: ObjectKey
    uid: str
    resource_version: str
    generation: int
    created_at: str
    spec: Mapping[str, Any]
    status: Mapping[str, Any]
    annotations: Mapping[str, str] = {}


def hold(resource: CustomResource, body: Mapping[str, Any]) -> HeldObject:
    """Take what is kept out of an object as the API gives it."""
    metadata = body["metadata"]
    key = ObjectKey(resource, metadata.get("namespace", ""), metadata["name"])
    return HeldObject(
        key=key,
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        generation=metadata.get("generation", 0),
        created_at=metadata.get("creationTimestamp", ""),
        spec=_mapping(body.get("spec")),
        status=_mapping(body.get("status")),
        annotations=_ours(metadata.get("annotations")),
    )


class Holdings:
    """The objects that are there.

    Parameters
    ----------
    on_change
        Is told of each object that came, went or changed.
    """

    def __init__(self, on_change: Callable[[ObjectKey], None]) -> None:
        self._on_change = on_change
        self._objects: dict[ObjectKey, HeldObject] = {}
        self._told_versions: dict[ObjectKey, tuple[str, str]] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: ObjectKey) -> HeldObject | None:
        """Give an object; None if it is not there."""
        return self._objects.get(key)

    def of(self, resource: CustomResource) -> list[HeldObject]:
        """Give all objects of a resource."""
        return [held for held in self._objects.values() if held.key.resource == resource]

    def all(self) -> tuple[HeldObject, ...]:
        """Give all objects."""
        return tuple(self._objects.values())

    def told_version(self, key: ObjectKey) -> tuple[str, str] | None:
        """Give uid and resourceVersion as kopf told them last; None if it never did."""
        return self._told_versions.get(key)

    def tell(self, held: HeldObject) -> None:
        """Take in a state from the watch."""
        self._told_versions[held.key] = (held.uid, held.resource_version)
        self._put(held)

    def wrote(self, held: HeldObject) -> None:
        """Take in the state that a write of ours has given."""
        known = self._objects.get(held.key)
        if known is not None and known.uid == held.uid:
            self._put(held)

    def remove(self, key: ObjectKey, uid: str) -> None:
        """Take in that an object is gone; of a newer namesake, nothing."""
        known = self._objects.get(key)
        if known is None or known.uid != uid:
            return
        del self._objects[key]
        self._told_versions.pop(key, None)
        self._on_change(key)

    def _put(self, held: HeldObject) -> None:
        known = self._objects.get(held.key)
        # kopf handles objects side by side: a namesake's last state may come after its own end.
        if known is not None and not is_newer(held, known):
            return
        self._objects[held.key] = held
        self._on_change(held.key)


def is_newer(held: HeldObject, known: HeldObject) -> bool:
    """Whether a state is another than the known one, and not an older one."""
    return version_number(held.resource_version) > version_number(known.resource_version)


def version_number(resource_version: str) -> int:
    """Give a resourceVersion as the ordered number that it is."""
    return int(resource_version) if resource_version.isdecimal() else 0


def _ours(annotations: object) -> Mapping[str, str]:
    if not isinstance(annotations, Mapping):
        return {}
    return {k: v for k, v in annotations.items() if k.startswith(OUR_ANNOTATIONS)}


def _mapping(value: object) -> Mapping[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}
