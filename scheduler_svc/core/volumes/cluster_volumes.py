"""Everything plugins know of volumes: claims, PersistentVolumes, and what Pods use where."""

from typing import Any

from scheduler_svc.core.cluster_objects import ClusterObjects, ObjectKind, object_key
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.storage_objects import PersistentVolumeClaim, StorageClass
from scheduler_svc.core.volumes.assumed import AssumedObjects
from scheduler_svc.core.volumes.attached_volumes import AttachedVolumes
from scheduler_svc.core.volumes.capacities import StorageCapacities
from scheduler_svc.core.volumes.disks import DisksInUse
from scheduler_svc.core.volumes.faulty_pods import FaultyPods
from scheduler_svc.core.volumes.migrating_nodes import MigratingNodes
from scheduler_svc.core.volumes.node_rows import NodeRows
from scheduler_svc.core.volumes.persistent_volumes import PersistentVolumes


class ClusterVolumes:
    """One view of a cluster's volumes, kept with every object and Pod that comes or goes.

    Only VolumeBinding writes: what it assumes of `claims` and `persistent_volumes`, and what it
    keeps, whichever profile is asked: `reservations` by Pod, and in `reverted` the Pods whose end
    gave back lately a volume that nobody had heard was taken.
    """

    def __init__(self, columns: NodeColumns, objects: ClusterObjects) -> None:
        self.columns = columns
        self.objects = objects
        self.claims = AssumedObjects[PersistentVolumeClaim](
            objects[ObjectKind.PERSISTENT_VOLUME_CLAIM]
        )
        self.persistent_volumes = PersistentVolumes(objects[ObjectKind.PERSISTENT_VOLUME])
        self.capacities = StorageCapacities(objects[ObjectKind.CSI_STORAGE_CAPACITY])
        self.node_rows = NodeRows(columns)
        self.migrating_nodes = MigratingNodes(columns, objects[ObjectKind.CSI_NODE])
        self.disks = DisksInUse()
        self.attached = AttachedVolumes(columns, objects)
        self.faulty_pods = FaultyPods(objects[ObjectKind.PERSISTENT_VOLUME_CLAIM])
        self._claim_uses: dict[str, int] = {}
        self.reservations: dict[str, Any] = {}
        self.reverted: dict[str, None] = {}

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """Give the newest version of a claim, an assumed one perhaps."""
        return self.claims.get(object_key(namespace, name))

    def storage_class(self, name: str) -> StorageClass | None:
        """Give a class."""
        found: StorageClass | None = self.objects[ObjectKind.STORAGE_CLASS].by_key.get(name)
        return found

    def claim_uses(self, namespace: str, name: str) -> int:
        """Count how often Pods on Nodes name a claim."""
        return self._claim_uses.get(object_key(namespace, name), 0)

    def count(self, pod: PodInfo, row: int, sign: int) -> None:
        """Count one Pod's volumes in (`sign` 1) or out (-1). O(its volumes)."""
        for volume in pod.volumes:
            if volume.persistent_volume_claim is not None:
                key = object_key(pod.namespace, volume.persistent_volume_claim.claim_name)
                uses = self._claim_uses.get(key, 0) + sign
                if uses:
                    self._claim_uses[key] = uses
                else:
                    del self._claim_uses[key]
        self.disks.count(pod, row, sign)
        self.attached.count(pod, row, sign)
        self.faulty_pods.count(pod, row, sign)
