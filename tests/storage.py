"""Storage objects and Pods that use them, for tests: say what matters, the rest is plain."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from scheduler_svc.core.affinity_objects import LabelSelector
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ApiObject, ObjectKind
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import NodeSelector, NodeSelectorTerm, OwnerReference
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.storage_objects import (
    BIND_COMPLETED,
    SELECTED_NODE,
    AttachmentSource,
    ClaimReference,
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    CSISource,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    Phase,
    ResourceRequests,
    StorageClass,
    StorageMeta,
    TopologyRequirement,
    TopologyTerm,
    VolumeAttachment,
    VolumeAttachmentSpec,
    VolumeNodeAffinity,
    VolumeNodeResources,
)
from scheduler_svc.core.volume_objects import (
    EphemeralVolumeSource,
    PersistentVolumeClaimVolumeSource,
    Volume,
)
from tests.builders import make_cache, make_pod_info, term, where

HOSTNAME = "kubernetes.io/hostname"
DRIVER = "csi.example.com"
KINDS: dict[type[ApiObject], ObjectKind] = {
    PersistentVolume: ObjectKind.PERSISTENT_VOLUME,
    PersistentVolumeClaim: ObjectKind.PERSISTENT_VOLUME_CLAIM,
    StorageClass: ObjectKind.STORAGE_CLASS,
    CSINode: ObjectKind.CSI_NODE,
    CSIDriver: ObjectKind.CSI_DRIVER,
    CSIStorageCapacity: ObjectKind.CSI_STORAGE_CAPACITY,
    VolumeAttachment: ObjectKind.VOLUME_ATTACHMENT,
}


def meta(name: str, namespace: str = "", **more: Any) -> StorageMeta:
    """Build an identity; the uid is `uid-` and the name."""
    return StorageMeta(name=name, namespace=namespace, uid=f"uid-{name}", **more)


def make_volume(
    name: str = "pv",
    *,
    size: str | None = "1Gi",
    storage_class: str = "slow",
    on: str | NodeSelectorTerm | None = None,
    claim: str | None = None,
    phase: str = "Available",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    is_terminating: bool = False,
    **spec: Any,
) -> PersistentVolume:
    """Build a volume, reached from the Node or the Nodes `on`, kept for `claim` of default."""
    if isinstance(on, str):
        on = term(where(HOSTNAME, "In", on))
    reference = None if claim is None else ClaimReference("default", claim, f"uid-{claim}")
    return PersistentVolume(
        meta(
            name,
            labels=dict(labels or {}),
            annotations=None if annotations is None else dict(annotations),
            deletion_timestamp="2026-01-01T00:00:00Z" if is_terminating else None,
        ),
        PersistentVolumeSpec(
            capacity=None if size is None else {"storage": size},
            access_modes=spec.pop("access_modes", ("ReadWriteOnce",)),
            storage_class_name=storage_class,
            claim_ref=spec.pop("claim_ref", reference),
            node_affinity=spec.pop(
                "node_affinity", None if on is None else VolumeNodeAffinity(NodeSelector((on,)))
            ),
            **spec,
        ),
        Phase(phase),
    )


def csi(handle: str, driver: str = DRIVER) -> CSISource:
    """Build the source of a volume of a CSI driver."""
    return CSISource(driver, handle)


def make_claim(
    name: str = "data",
    *,
    size: str | None = "1Gi",
    storage_class: str | None = "slow",
    volume: str = "",
    is_bound: bool | None = None,
    selected_node: str | None = None,
    phase: str = "Pending",
    namespace: str = "default",
    annotations: Mapping[str, str] | None = None,
    owner: str = "",
    is_terminating: bool = False,
    selector: LabelSelector | None = None,
    **spec: Any,
) -> PersistentVolumeClaim:
    """Build a claim; with a `volume` it is fully bound unless told otherwise."""
    notes = dict(annotations or {})
    if is_bound if is_bound is not None else volume:
        notes[BIND_COMPLETED] = "yes"
    if selected_node is not None:
        notes[SELECTED_NODE] = selected_node
    owners = (OwnerReference(kind="Pod", uid=owner, controller=True),) if owner else ()
    return PersistentVolumeClaim(
        meta(
            name,
            namespace,
            annotations=notes or None,
            owner_references=owners,
            deletion_timestamp="2026-01-01T00:00:00Z" if is_terminating else None,
        ),
        PersistentVolumeClaimSpec(
            access_modes=spec.pop("access_modes", ("ReadWriteOnce",)),
            storage_class_name=storage_class,
            volume_name=volume,
            selector=selector,
            resources=None if size is None else ResourceRequests({"storage": size}),
            **spec,
        ),
        Phase(phase),
    )


def make_class(
    name: str = "slow",
    *,
    provisioner: str = "kubernetes.io/no-provisioner",
    mode: str | None = "WaitForFirstConsumer",
    topologies: Sequence[Mapping[str, Sequence[str]]] = (),
) -> StorageClass:
    """Build a class that waits for a consumer; `topologies` are terms of labels and values."""
    terms = tuple(
        TopologyTerm(tuple(TopologyRequirement(k, tuple(v)) for k, v in one.items()))
        for one in topologies
    )
    return StorageClass(meta(name), provisioner, mode, terms)


def make_csi_node(
    name: str, limits: Mapping[str, int | None] | None = None, *, migrated: str | None = None
) -> CSINode:
    """Build a CSINode with limits by driver, None for a driver without; `migrated` plugins."""
    drivers = tuple(
        CSINodeDriver(driver, None if limit is None else VolumeNodeResources(limit))
        for driver, limit in (limits or {}).items()
    )
    key = "storage.alpha.kubernetes.io/migrated-plugins"
    annotations = None if migrated is None else {key: migrated}
    return CSINode(meta(name, annotations=annotations), CSINodeSpec(drivers))


def make_driver(name: str = DRIVER, *, tells_capacity: bool | None = True) -> CSIDriver:
    """Build a CSIDriver."""
    return CSIDriver(meta(name), CSIDriverSpec(tells_capacity))


def make_capacity(
    name: str = "room",
    *,
    storage_class: str = "made",
    topology: LabelSelector | None = None,
    capacity: str | None = None,
    largest: str | None = None,
) -> CSIStorageCapacity:
    """Build what a driver tells of its room."""
    return CSIStorageCapacity(meta(name, "default"), storage_class, topology, capacity, largest)


def make_attachment(
    name: str, node: str, volume: str | None, *, attacher: str = DRIVER
) -> VolumeAttachment:
    """Build a VolumeAttachment."""
    spec = VolumeAttachmentSpec(attacher, node, AttachmentSource(volume))
    return VolumeAttachment(meta(name), spec)


def claiming(*claims: str) -> tuple[Volume, ...]:
    """Build volumes v0, v1 … of claims."""
    return tuple(
        Volume(
            name=f"v{number}",
            persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=name),
        )
        for number, name in enumerate(claims)
    )


def ephemeral(name: str = "scratch") -> Volume:
    """Build a volume for which a claim is made."""
    return Volume(name=name, ephemeral=EphemeralVolumeSource())


def pod_with(*volumes: Volume, name: str = "p", node: str = "", **more: Any) -> PodInfo:
    """Build a Pod with volumes."""
    return msgspec.structs.replace(make_pod_info(name, node=node, **more), volumes=volumes)


def pod_claiming(*claims: str, name: str = "p", node: str = "", **more: Any) -> PodInfo:
    """Build a Pod with claims."""
    return pod_with(*claiming(*claims), name=name, node=node, **more)


def tell(cluster: Cluster, *objects: Any) -> None:
    """Have a cluster told of objects."""
    for object_ in objects:
        cluster.objects[KINDS[type(object_)]].upsert(object_)


def untell(cluster: Cluster, *objects: Any) -> None:
    """Have a cluster told that objects are gone."""
    for object_ in objects:
        namespace, name = object_.metadata.namespace, object_.metadata.name
        cluster.objects[KINDS[type(object_)]].delete(f"{namespace}/{name}".removeprefix("/"))


def make_storage_cache(
    nodes: Iterable[NodeInfo] = (), objects: Iterable[Any] = (), pods: Iterable[PodInfo] = ()
) -> Cache:
    """Build a cache whose cluster has objects, and Pods on its Nodes."""
    cache = make_cache(nodes)
    tell(cache.cluster, *objects)
    for pod in pods:
        cache.upsert(pod)
    return cache


def make_storage_cluster(
    nodes: Iterable[NodeInfo] = (), objects: Iterable[Any] = (), pods: Iterable[PodInfo] = ()
) -> Cluster:
    """Build a cluster with objects, and Pods on its Nodes."""
    return make_storage_cache(nodes, objects, pods).cluster
