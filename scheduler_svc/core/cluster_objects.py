"""Objects beside Nodes and Pods that decisions depend on, as the API server tells them."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Protocol

from scheduler_svc.core.objects import ObjectMeta


class ObjectKind(StrEnum):
    """The kinds that are kept."""

    NAMESPACE = "Namespace"
    SERVICE = "Service"
    REPLICATION_CONTROLLER = "ReplicationController"
    REPLICA_SET = "ReplicaSet"
    STATEFUL_SET = "StatefulSet"
    POD_DISRUPTION_BUDGET = "PodDisruptionBudget"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "StorageClass"
    CSI_NODE = "CSINode"
    CSI_DRIVER = "CSIDriver"
    CSI_STORAGE_CAPACITY = "CSIStorageCapacity"
    VOLUME_ATTACHMENT = "VolumeAttachment"
    RESOURCE_CLAIM = "ResourceClaim"
    RESOURCE_SLICE = "ResourceSlice"
    DEVICE_CLASS = "DeviceClass"
    POD_GROUP = "PodGroup"
    BUILT_IN_POD_GROUP = "scheduling.k8s.io/PodGroup"


class ApiObject(Protocol):
    """An object with an identity."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its name, namespace and uid."""


# (object before, object after); None for one that was not there, or is no more.
Listener = Callable[[Any, Any], None]


ObjectName = tuple[ObjectKind, str]
"""Which object: its kind and key (`object_key`)."""


def object_key(namespace: str, name: str) -> str:
    """Give the key of an object: namespace/name, or the name alone without a namespace."""
    return f"{namespace}/{name}" if namespace else name


class ObjectStore:
    """The objects of one kind by key (`object_key`); `version` changes with each of them."""

    def __init__(self) -> None:
        self.by_key: dict[str, Any] = {}
        self.version = 0
        self.listeners: list[Listener] = []

    def get(self, namespace: str, name: str) -> Any:
        """Give an object, None if there is none of that name."""
        return self.by_key.get(object_key(namespace, name))

    def upsert(self, new: ApiObject) -> Any:
        """Take in a new or changed object; gives what was known before."""
        key = object_key(new.metadata.namespace, new.metadata.name)
        old = self.by_key.get(key)
        self.by_key[key] = new
        self._changed(old, new)
        return old

    def delete(self, key: str) -> Any:
        """Take in that an object is gone; gives what was known of it."""
        old = self.by_key.pop(key, None)
        if old is not None:
            self._changed(old, None)
        return old

    def _changed(self, old: Any, new: Any) -> None:
        self.version += 1
        for listener in self.listeners:
            listener(old, new)


class ClusterObjects:
    """A store for each kind."""

    def __init__(self) -> None:
        self.stores = {kind: ObjectStore() for kind in ObjectKind}

    def __getitem__(self, kind: ObjectKind) -> ObjectStore:
        return self.stores[kind]
