"""What the volume plugins say of one Pod on one Node, the slow and plain way.

Written from the specification (sections 2.13 to 2.15), Node by Node and object by object.
"""

from collections.abc import Iterator

import msgspec

from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Requirement
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.storage_objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from scheduler_svc.core.volume_objects import Volume

UNREACHABLE = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_ROOM = "node(s) did not have enough free storage"
VOLUME_GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
NO_DISK = "node(s) had no available disk"
CLAIM_TAKEN = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)
NO_ZONE = "node(s) had no available volume zone"
TOO_MANY = "node(s) exceed max volume count"
ZONES = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)


class StorageWorld(msgspec.Struct):
    """Everything, in lists. Claims are those of the namespace default."""

    nodes: list[NodeInfo]
    pods: list[PodInfo]
    volumes: list[PersistentVolume]
    claims: list[PersistentVolumeClaim]
    classes: list[StorageClass]
    csi_nodes: list[CSINode]
    drivers: list[CSIDriver]
    capacities: list[CSIStorageCapacity]
    attachments: list[VolumeAttachment]

    def volume(self, name: str) -> PersistentVolume | None:
        return next((v for v in self.volumes if v.metadata.name == name), None)

    def claim(self, name: str) -> PersistentVolumeClaim | None:
        return next((c for c in self.claims if c.metadata.name == name), None)

    def storage_class(self, name: str) -> StorageClass | None:
        return next((c for c in self.classes if c.metadata.name == name), None)

    def claims_of(self, pod: PodInfo) -> list[PersistentVolumeClaim]:
        return [claim for name in claim_names(pod) if (claim := self.claim(name)) is not None]

    def pods_on(self, node: NodeInfo) -> list[PodInfo]:
        return [pod for pod in self.pods if pod.node_name == node.name]


def claim_names(pod: PodInfo) -> list[str]:
    sources = (volume.persistent_volume_claim for volume in pod.volumes)
    return [source.claim_name for source in sources if source is not None]


def pre_filter(world: StorageWorld, pod: PodInfo) -> str:
    """Say what keeps the Pod from every Node; "" for nothing."""
    for name in claim_names(pod):
        if world.claim(name) is None:
            return f'persistentvolumeclaim "{name}" not found'
    for claim in world.claims_of(pod):
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{claim.metadata.name}" is being deleted'
    for claim in world.claims_of(pod):
        if not is_bound(claim) and not is_delayed(world, claim):
            return "pod has unbound immediate PersistentVolumeClaims"
    for claim in world.claims_of(pod):
        name = claim.spec.volume_name
        if name and world.volume(name) is None:
            return f'persistentvolume "{name}" not found'
    return ""


def rejection(world: StorageWorld, pod: PodInfo, node: NodeInfo) -> list[str]:
    """Give the reasons of the first plugin that rejects the Node; none where the Pod may run."""
    if any(conflicts(mine, theirs) for mine, theirs in pairs(world, pod, node)):
        return [NO_DISK]
    if is_taken(world, pod):
        return [CLAIM_TAKEN]
    if exceeds(world, pod, node):
        return [TOO_MANY]
    return binding_reasons(world, pod, node) or zone_reasons(world, pod, node)


def pairs(world: StorageWorld, pod: PodInfo, node: NodeInfo) -> Iterator[tuple[Volume, Volume]]:
    for other in world.pods_on(node):
        for mine in pod.volumes:
            for theirs in other.volumes:
                yield mine, theirs


def conflicts(mine: Volume, theirs: Volume) -> bool:
    if mine.aws_elastic_block_store and theirs.aws_elastic_block_store:
        ids = {mine.aws_elastic_block_store.volume_id, theirs.aws_elastic_block_store.volume_id}
        return len(ids) == 1
    if mine.gce_persistent_disk and theirs.gce_persistent_disk:
        a, b = mine.gce_persistent_disk, theirs.gce_persistent_disk
        return a.pd_name == b.pd_name and not (a.read_only and b.read_only)
    if mine.rbd and theirs.rbd:
        same = (mine.rbd.pool, mine.rbd.image) == (theirs.rbd.pool, theirs.rbd.image)
        met = set(mine.rbd.monitors) & set(theirs.rbd.monitors)
        return same and bool(met) and not (mine.rbd.read_only and theirs.rbd.read_only)
    return False


def is_taken(world: StorageWorld, pod: PodInfo) -> bool:
    exclusive = {
        claim.metadata.name
        for claim in world.claims_of(pod)
        if "ReadWriteOncePod" in claim.spec.access_modes
    }
    return any(exclusive & set(claim_names(other)) for other in world.pods if other.node_name)


def counted(world: StorageWorld, pod: PodInfo) -> set[tuple[str, str]]:
    """Give driver and handle of each volume of a Pod that counts."""
    found = set()
    for claim in world.claims_of(pod):
        volume = world.volume(claim.spec.volume_name)
        storage_class = world.storage_class(claim.storage_class)
        if volume is not None:
            if volume.spec.csi is not None:
                found.add((volume.spec.csi.driver, volume.spec.csi.volume_handle))
        elif storage_class is not None and storage_class.provisioner:
            found.add((storage_class.provisioner, f"unbound {claim.metadata.name}"))
    for inline in pod.volumes:
        if inline.aws_elastic_block_store is not None:
            found.add(("ebs.csi.aws.com", inline.aws_elastic_block_store.volume_id))
        if inline.gce_persistent_disk is not None:
            found.add(("pd.csi.storage.gke.io", inline.gce_persistent_disk.pd_name))
    return found


def exceeds(world: StorageWorld, pod: PodInfo, node: NodeInfo) -> bool:
    csi_node = next((c for c in world.csi_nodes if c.metadata.name == node.name), None)
    if csi_node is None:
        return False
    used = set().union(*(counted(world, other) for other in world.pods_on(node)))
    attached = set()
    for attachment in world.attachments:
        name = attachment.spec.source.persistent_volume_name
        volume = None if name is None else world.volume(name)
        if attachment.spec.node_name == node.name and volume is not None and volume.spec.csi:
            attached.add((attachment.spec.attacher, volume.spec.csi.volume_handle))
    new = counted(world, pod) - used
    for driver in csi_node.spec.drivers:
        if driver.allocatable is None or driver.allocatable.count is None:
            continue
        present = sum(name == driver.name for name, _ in used | attached)
        wanted = sum(name == driver.name for name, _ in new)
        if wanted and present + wanted > driver.allocatable.count:
            return True
    return False


def zone_reasons(world: StorageWorld, pod: PodInfo, node: NodeInfo) -> list[str]:
    if not any(key in node.labels for key in ZONES):
        return []
    for claim in world.claims_of(pod):
        volume = world.volume(claim.spec.volume_name)
        labels = (volume.metadata.labels or {}) if volume is not None else {}
        for key in ZONES:
            zones = [part.strip() for part in labels.get(key, "").split("__")]
            if not all(zones):
                continue
            today = key.replace("failure-domain.beta", "topology")
            if node.labels.get(key, node.labels.get(today)) not in zones:
                return [NO_ZONE]
    return []


def binding_reasons(world: StorageWorld, pod: PodInfo, node: NodeInfo) -> list[str]:
    reasons = bound_reasons(world, pod, node)
    delayed = [claim for claim in world.claims_of(pod) if not is_bound(claim)]
    if any(claim.selected_node not in (None, node.name) for claim in delayed):
        return sorted([*reasons, NO_VOLUME])
    to_make = [claim for claim in delayed if claim.selected_node is not None]
    taken: set[str] = set()
    for claim in sorted(
        (c for c in delayed if c.selected_node is None), key=lambda c: c.nano_bytes
    ):
        volume = match(world, claim, node, taken)
        if volume is None:
            to_make.append(claim)
        else:
            taken.add(volume.metadata.name)
    for claim in to_make:
        reason = cannot_make(world, claim, node)
        if reason:
            return sorted([*reasons, reason])
    return reasons


def bound_reasons(world: StorageWorld, pod: PodInfo, node: NodeInfo) -> list[str]:
    for claim in filter(is_bound, world.claims_of(pod)):
        volume = world.volume(claim.spec.volume_name)
        if volume is None:
            return [VOLUME_GONE]
        if not reaches(volume, node):
            return [UNREACHABLE]
    return []


def is_bound(claim: PersistentVolumeClaim) -> bool:
    annotations = claim.metadata.annotations or {}
    return bool(claim.spec.volume_name) and "pv.kubernetes.io/bind-completed" in annotations


def is_delayed(world: StorageWorld, claim: PersistentVolumeClaim) -> bool:
    storage_class = world.storage_class(claim.spec.storage_class_name or "")
    mode = None if storage_class is None else storage_class.volume_binding_mode
    return mode == "WaitForFirstConsumer" and not claim.spec.volume_name


def reaches(volume: PersistentVolume, node: NodeInfo) -> bool:
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    return any(
        all(holds(requirement, node.labels) for requirement in term.match_expressions)
        for term in affinity.required.node_selector_terms
        if term.match_expressions
    )


def holds(requirement: Requirement, labels: dict[str, str]) -> bool:
    value = labels.get(requirement.key)
    return {
        "In": value in requirement.values,
        "NotIn": value not in requirement.values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }[requirement.operator]


def order(volume: PersistentVolume) -> tuple[int, tuple[str, ...], bool, str]:
    """Upstream has none among volumes of one size; ours is by modes, local ones first, by name."""
    is_wide = reaches(volume, NodeInfo("", {}))
    return volume.nano_bytes, volume.spec.access_modes, is_wide, volume.metadata.name


def match(
    world: StorageWorld, claim: PersistentVolumeClaim, node: NodeInfo, taken: set[str]
) -> PersistentVolume | None:
    candidates = [
        volume
        for volume in sorted(world.volumes, key=order)
        if volume.metadata.name not in taken
        and volume.spec.storage_class_name == claim.spec.storage_class_name
        and volume.nano_bytes >= claim.nano_bytes
        and (volume.spec.volume_mode or "Filesystem") == (claim.spec.volume_mode or "Filesystem")
        and volume.metadata.deletion_timestamp is None
    ]
    for volume in sorted(candidates, key=lambda v: v.metadata.name):
        if volume.is_kept_for(claim):
            return volume if reaches(volume, node) else None
    for volume in candidates:
        is_open = volume.spec.claim_ref is None and volume.status.phase == "Available"
        has_modes = set(claim.spec.access_modes) <= set(volume.spec.access_modes)
        if is_open and has_modes and reaches(volume, node):
            return volume
    return None


def cannot_make(world: StorageWorld, claim: PersistentVolumeClaim, node: NodeInfo) -> str:
    storage_class = world.storage_class(claim.spec.storage_class_name or "")
    assert storage_class is not None
    if storage_class.provisioner in ("", "kubernetes.io/no-provisioner"):
        return NO_VOLUME
    terms = storage_class.allowed_topologies
    if terms and not any(
        all(node.labels.get(r.key) in r.values for r in term.match_label_expressions)
        for term in terms
    ):
        return NO_VOLUME
    driver = next((d for d in world.drivers if d.metadata.name == storage_class.provisioner), None)
    if driver is None or not driver.spec.storage_capacity:
        return ""
    for capacity in world.capacities:
        if capacity.storage_class_name != storage_class.metadata.name:
            continue
        limit, selector = capacity.limit_nano_bytes, capacity.node_topology
        if limit is None or limit < claim.nano_bytes or selector is None:
            continue
        if all(node.labels.get(k) == v for k, v in (selector.match_labels or {}).items()):
            return ""
    return NO_ROOM
