"""VolumeZone: a Pod goes where the zone of its volumes is.

Source: pkg/scheduler/framework/plugins/volumezone/volume_zone.go and
k8s.io/cloud-provider/volume/helpers/zones.go, v1.36.3.
"""

from collections.abc import Hashable, Sequence
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    QueueingHint,
)
from scheduler_svc.core.framework.interface import (
    EnqueueExtensions,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    Rejection,
    Scope,
)
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.objects import Requirement
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SKIP, SUCCESS, Code, Status
from scheduler_svc.core.storage_objects import (
    WAIT_FOR_FIRST_CONSUMER,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from scheduler_svc.core.volumes.claims import claims_of, names_claim
from scheduler_svc.core.volumes.cluster_volumes import ClusterVolumes
from scheduler_svc.core.volumes.migration import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    ZONE_DELIMITER,
)

REASON: Final = "node(s) had no available volume zone"

_LABELS: Final = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_TODAYS: Final = {BETA_ZONE: ZONE, BETA_REGION: REGION}


class VolumeTopology(msgspec.Struct, frozen=True, gc=False):
    """A label that a Node of the volume's zone or region has, with one of the values."""

    key: str
    values: tuple[str, ...]


class VolumeZone(PreFilterPlugin, FilterPlugin, EnqueueExtensions):
    """Rejects Nodes in other zones or regions than those that the Pod's volumes are labelled with.

    Nodes without any such label pass.
    """

    name = "VolumeZone"
    projection_fields = frozenset({"volumes"})
    filter_scope = Scope.SPEC

    def projection(self, pod: PodInfo, cluster: Cluster) -> Hashable:
        """Give the claims, and of each its volume or its class."""
        if not pod.volumes:
            return None
        volumes, read = cluster.volumes, list[Hashable]()
        for named in claims_of(pod):
            if not named.is_ephemeral:
                claim = volumes.claims.told(f"{pod.namespace}/{named.name}")
                read.append(named.name if claim is None else claim)
                if claim is not None and claim.spec.volume_name:
                    read.append(volumes.persistent_volumes.assumed.told(claim.spec.volume_name))
                elif claim is not None:
                    read.append(volumes.storage_class(claim.storage_class))
        return tuple(read)

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Collect where the volumes are; Skip if none of them says so."""
        topologies: list[VolumeTopology] = []
        for named in claims_of(pod):
            if named.is_ephemeral:
                continue
            found = _topologies_of_claim(cluster.volumes, pod.namespace, named.name)
            if isinstance(found, Status):
                return PreFilterResult(found)
            topologies += found
        return PreFilterResult(SUCCESS, tuple(topologies)) if topologies else PreFilterResult(SKIP)

    def filter(self, state: tuple[VolumeTopology, ...], nodes: NodeView) -> BoolArray:
        """Pass Nodes that agree in all labels, and those without any. O(labels x K)."""
        unlabelled = ~np.any([_has(key, nodes) for key in _LABELS], axis=0)
        agrees = np.ones(nodes.count, dtype=np.bool_)
        for topology in state:
            agrees &= _agreeing(topology, nodes)
        mask: BoolArray = unlabelled | agrees
        return mask

    def rejections(self, state: tuple[VolumeTopology, ...], nodes: NodeView) -> Sequence[Rejection]:
        """One reason for all."""
        del state
        return [Rejection.of_all(_unresolvable(REASON), nodes)]

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when a Node, the Pod's claim, a volume's zone or a delaying class comes."""
        added, updated = ActionType.ADD, ActionType.UPDATE
        node = ClusterEvent(EventResource.NODE, added | ActionType.UPDATE_NODE_LABEL)
        claim = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, added | updated)
        volume = ClusterEvent(EventResource.PERSISTENT_VOLUME, added | updated)
        return [
            EventRegistration(
                ClusterEvent(EventResource.STORAGE_CLASS, added), _delaying_class_came
            ),
            EventRegistration(node),
            EventRegistration(claim, _own_claim_changed),
            EventRegistration(volume, _topology_changed),
        ]


def _topologies_of_claim(
    volumes: ClusterVolumes, namespace: str, name: str
) -> list[VolumeTopology] | Status:
    if not name:
        return _unresolvable("PersistentVolumeClaim had no name")
    claim = volumes.claims.told(f"{namespace}/{name}")
    if claim is None:
        return _unresolvable(f'persistentvolumeclaim "{name}" not found')
    volume_name = claim.spec.volume_name
    if not volume_name:
        return _without_volume(volumes, claim)
    volume = volumes.persistent_volumes.assumed.told(volume_name)
    if volume is None:
        return _unresolvable(f'persistentvolume "{volume_name}" not found')
    return _topologies(volume)


def _without_volume(
    volumes: ClusterVolumes, claim: PersistentVolumeClaim
) -> list[VolumeTopology] | Status:
    name = claim.storage_class
    if not name:
        return _unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
    storage_class = volumes.storage_class(name)
    if storage_class is None:
        return _unresolvable(f'storageclass.storage.k8s.io "{name}" not found')
    if storage_class.volume_binding_mode is None:
        return _unresolvable(f'VolumeBindingMode not set for StorageClass "{name}"')
    if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        return []
    return _unresolvable("PersistentVolume had no name")


def _topologies(volume: PersistentVolume) -> list[VolumeTopology]:
    labels = volume.metadata.labels or {}
    topologies = []
    for key in _LABELS:
        values = tuple(value.strip() for value in labels.get(key, "").split(ZONE_DELIMITER))
        # A label with an empty part says nothing.
        if all(values):
            topologies.append(VolumeTopology(key, values))
    return topologies


def _agreeing(topology: VolumeTopology, nodes: NodeView) -> BoolArray:
    key, today = topology.key, _TODAYS.get(topology.key)
    agrees = _match(key, topology.values, nodes)
    if today is not None:
        agrees |= ~_has(key, nodes) & _match(today, topology.values, nodes)
    return agrees


def _match(key: str, values: tuple[str, ...], nodes: NodeView) -> BoolArray:
    return nodes.columns.label_column(key).match(Requirement(key, "In", values), nodes.rows)


def _has(key: str, nodes: NodeView) -> BoolArray:
    return nodes.columns.label_column(key).match(Requirement(key, "Exists"), nodes.rows)


def _unresolvable(reason: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))


def _own_claim_changed(
    pod: PodInfo, _old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> QueueingHint:
    is_own = names_claim(pod, new, with_ephemeral=False)
    return QueueingHint.QUEUE if is_own else QueueingHint.SKIP


def _delaying_class_came(_pod: PodInfo, _old: None, new: StorageClass) -> QueueingHint:
    delays = new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
    return QueueingHint.QUEUE if delays else QueueingHint.SKIP


def _topology_changed(
    _pod: PodInfo, old: PersistentVolume | None, new: PersistentVolume
) -> QueueingHint:
    changed = old is None or _topologies(old) != _topologies(new)
    return QueueingHint.QUEUE if changed else QueueingHint.SKIP
