"""Which objects beside Nodes and Pods are watched, and for which plugins."""

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from kubeio.changes import Deleted, ReflectorEvent, Upserted
from kubeio.decoding import Query
from kubeio.resources import ResourcePath
from scheduler_svc.core.cluster_objects import ObjectKind, object_key
from scheduler_svc.core.device_objects import DeviceClass, ResourceClaim, ResourceSlice
from scheduler_svc.core.disruption_objects import PodDisruptionBudget
from scheduler_svc.core.events import Event, ObjectDeleted, ObjectUpserted
from scheduler_svc.core.group_objects import BuiltInPodGroup, GroupApi, PodGroup
from scheduler_svc.core.objects import Namespace
from scheduler_svc.core.storage_objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from scheduler_svc.core.workload_objects import (
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from scheduler_svc.shell.views.view import View


class WatchedKind(NamedTuple):
    """A kind, where its objects are, what they are decoded into, and the plugins that read them.

    Without `plugins` it is always watched.
    """

    kind: ObjectKind
    resource: ResourcePath
    object_type: type[Any]
    plugins: frozenset[str] | None = None

    @property
    def api_kind(self) -> str:
        """The kind as the API names it; of two APIs with kinds of one name it is the same."""
        return self.kind.value.rpartition("/")[2]

    @property
    def view_name(self) -> str:
        """The resource's plural name; with its group where that alone would be another's."""
        built_in = self.kind is ObjectKind.BUILT_IN_POD_GROUP
        return str(self.resource) if built_in else self.resource.plural


_SPREADING: Final = frozenset({"PodTopologySpread"})
_VOLUMES: Final = frozenset(
    {"NodeVolumeLimits", "VolumeBinding", "VolumeRestrictions", "VolumeZone"}
)
_STORAGE: Final = "storage.k8s.io"
_DEVICES: Final = frozenset({"DynamicResources"})
_DEVICE_GROUP: Final = "resource.k8s.io"
_GANGS: Final = frozenset({"GangScheduling"})

WATCHED_KINDS: Final = (
    WatchedKind(
        ObjectKind.NAMESPACE,
        ResourcePath("", "v1", "namespaces"),
        Namespace,
    ),
    WatchedKind(
        ObjectKind.SERVICE,
        ResourcePath("", "v1", "services"),
        Service,
        _SPREADING,
    ),
    WatchedKind(
        ObjectKind.REPLICATION_CONTROLLER,
        ResourcePath("", "v1", "replicationcontrollers"),
        ReplicationController,
        _SPREADING,
    ),
    WatchedKind(
        ObjectKind.REPLICA_SET,
        ResourcePath("apps", "v1", "replicasets"),
        ReplicaSet,
        _SPREADING,
    ),
    WatchedKind(
        ObjectKind.STATEFUL_SET,
        ResourcePath("apps", "v1", "statefulsets"),
        StatefulSet,
        _SPREADING,
    ),
    WatchedKind(
        ObjectKind.POD_DISRUPTION_BUDGET,
        ResourcePath("policy", "v1", "poddisruptionbudgets"),
        PodDisruptionBudget,
        frozenset({"DefaultPreemption"}),
    ),
    WatchedKind(
        ObjectKind.PERSISTENT_VOLUME,
        ResourcePath("", "v1", "persistentvolumes"),
        PersistentVolume,
        _VOLUMES,
    ),
    WatchedKind(
        ObjectKind.PERSISTENT_VOLUME_CLAIM,
        ResourcePath("", "v1", "persistentvolumeclaims"),
        PersistentVolumeClaim,
        _VOLUMES,
    ),
    WatchedKind(
        ObjectKind.STORAGE_CLASS,
        ResourcePath(_STORAGE, "v1", "storageclasses"),
        StorageClass,
        _VOLUMES,
    ),
    WatchedKind(
        ObjectKind.CSI_NODE,
        ResourcePath(_STORAGE, "v1", "csinodes"),
        CSINode,
        _VOLUMES,
    ),
    WatchedKind(
        ObjectKind.CSI_DRIVER,
        ResourcePath(_STORAGE, "v1", "csidrivers"),
        CSIDriver,
        _VOLUMES,
    ),
    WatchedKind(
        ObjectKind.CSI_STORAGE_CAPACITY,
        ResourcePath(_STORAGE, "v1", "csistoragecapacities"),
        CSIStorageCapacity,
        _VOLUMES,
    ),
    WatchedKind(
        ObjectKind.VOLUME_ATTACHMENT,
        ResourcePath(_STORAGE, "v1", "volumeattachments"),
        VolumeAttachment,
        _VOLUMES,
    ),
    WatchedKind(
        ObjectKind.DEVICE_CLASS,
        ResourcePath(_DEVICE_GROUP, "v1", "deviceclasses"),
        DeviceClass,
        _DEVICES,
    ),
    WatchedKind(
        ObjectKind.RESOURCE_SLICE,
        ResourcePath(_DEVICE_GROUP, "v1", "resourceslices"),
        ResourceSlice,
        _DEVICES,
    ),
    WatchedKind(
        ObjectKind.RESOURCE_CLAIM,
        ResourcePath(_DEVICE_GROUP, "v1", "resourceclaims"),
        ResourceClaim,
        _DEVICES,
    ),
    WatchedKind(
        ObjectKind.POD_GROUP,
        ResourcePath(GroupApi.SCHEDULER_PLUGINS, "v1alpha1", "podgroups"),
        PodGroup,
        _GANGS,
    ),
    WatchedKind(
        ObjectKind.BUILT_IN_POD_GROUP,
        ResourcePath(GroupApi.BUILT_IN, "v1alpha2", "podgroups"),
        BuiltInPodGroup,
        _GANGS,
    ),
)
"""In the order in which they are listed; kinds that no enabled plugin reads are left out."""


def object_views(plugins: Collection[str]) -> Mapping[str, View[Any]]:
    """Give the views that the enabled plugins need, by `WatchedKind.view_name`."""
    return {
        watched.view_name: _view(watched)
        for watched in WATCHED_KINDS
        if watched.plugins is None or not watched.plugins.isdisjoint(plugins)
    }


def _view(watched: WatchedKind) -> View[Any]:
    kind = watched.kind

    def to_event(change: ReflectorEvent[Any]) -> Event | None:
        match change:
            case Upserted(new):
                return ObjectUpserted(kind, new)
            case Deleted():
                return ObjectDeleted(kind, object_key(change.namespace, change.name))
            case _:
                return None

    return View(Query(resource=watched.resource, object_type=watched.object_type), to_event)
