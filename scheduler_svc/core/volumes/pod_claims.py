"""Sorts a Pod's claims: those with a volume, those that wait for its Node, and what is amiss.

Source: pkg/scheduler/framework/plugins/volumebinding/{volume_binding,binder}.go
(`podHasPVCs`, `GetPodVolumeClaims`), v1.36.3.
"""

from collections.abc import Hashable
from typing import Final

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code, Status
from scheduler_svc.core.storage_objects import WAIT_FOR_FIRST_CONSUMER, PersistentVolumeClaim
from scheduler_svc.core.volumes.claims import PodVolumeClaim, claims_of, ownership_error
from scheduler_svc.core.volumes.cluster_volumes import ClusterVolumes
from scheduler_svc.core.volumes.migration import in_tree_plugin
from scheduler_svc.core.volumes.pod_volumes import PodClaims

UNBOUND_IMMEDIATE: Final = "pod has unbound immediate PersistentVolumeClaims"
_LOST: Final = "Lost"


def sort_claims(pod: PodInfo, volumes: ClusterVolumes) -> PodClaims | Status:
    """Give the Pod's claims as they are now, or why it cannot be placed at all."""
    named = claims_of(pod)
    for one in named:
        fault = _fault(pod, one, volumes)
        if fault:
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (fault,))
    bound, delayed = [], []
    has_immediate = False
    for claim in filter(None, (volumes.claim(pod.namespace, one.name) for one in named)):
        if claim.is_fully_bound:
            bound.append(claim)
            continue
        is_delayed = _is_delayed(claim, volumes)
        if isinstance(is_delayed, Status):
            return is_delayed
        if is_delayed:
            delayed.append(claim)
        has_immediate |= not is_delayed
    if has_immediate:
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (UNBOUND_IMMEDIATE,))
    return PodClaims(tuple(bound), tuple(delayed))


def read_for(pod: PodInfo, volumes: ClusterVolumes) -> Hashable:
    """Give what `sort_claims` and `PodVolumes` read for a Pod, but for Nodes.

    None for a Pod without claims.
    """
    read: list[Hashable] = []
    for one in claims_of(pod):
        claim = volumes.claim(pod.namespace, one.name)
        if claim is None:
            read.append(one.name)
            continue
        read += [claim, pod.uid if one.is_ephemeral else ""]
        if claim.is_fully_bound:
            read += _read_of_bound(claim, volumes)
        else:
            read += _read_of_unbound(claim, volumes)
    return tuple(read) or None


def _read_of_bound(claim: PersistentVolumeClaim, volumes: ClusterVolumes) -> list[Hashable]:
    volume = volumes.persistent_volumes.get(claim.spec.volume_name)
    if volume is None or in_tree_plugin(volume) is None:
        return [volume]
    return [volume, volumes.objects[ObjectKind.CSI_NODE].version]


def _read_of_unbound(claim: PersistentVolumeClaim, volumes: ClusterVolumes) -> list[Hashable]:
    name = claim.storage_class
    storage_class = volumes.storage_class(name)
    if storage_class is None:
        return [name]
    driver = volumes.objects[ObjectKind.CSI_DRIVER].by_key.get(storage_class.provisioner)
    return [
        storage_class,
        volumes.persistent_volumes.of_class(name).version,
        driver,
        volumes.capacities.of_class(name).version,
    ]


def _fault(pod: PodInfo, named: PodVolumeClaim, volumes: ClusterVolumes) -> str:
    """Say what keeps a Pod from using a claim; "" for nothing."""
    name = named.name
    claim = volumes.claims.told(f"{pod.namespace}/{name}")
    if claim is None:
        if named.is_ephemeral:
            return (
                "waiting for ephemeral volume controller to create the "
                f'persistentvolumeclaim "{name}"'
            )
        return f'persistentvolumeclaim "{name}" not found'
    if claim.status.phase == _LOST:
        volume = claim.spec.volume_name
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{name}" is being deleted'
    return ownership_error(pod, claim) if named.is_ephemeral else ""


def _is_delayed(claim: PersistentVolumeClaim, volumes: ClusterVolumes) -> bool | Status:
    name = claim.storage_class
    storage_class = volumes.storage_class(name) if name else None
    if storage_class is None:
        return False
    if storage_class.volume_binding_mode is None:
        return Status(Code.ERROR, (f'VolumeBindingMode not set for StorageClass "{name}"',))
    is_delaying = storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
    # A claim that names its volume, but has not got it yet, waits for the controller.
    return is_delaying and not claim.spec.volume_name
