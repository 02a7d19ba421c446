"""The volumes set aside for a Pod that has been given a Node: assumed, written, awaited.

Source: pkg/scheduler/framework/plugins/volumebinding/binder.go (`AssumePodVolumes`,
`bindAPIUpdate`, `checkBindings`), v1.36.3. Differences: what is so already is not written;
whether a write of ours has been seen shows in the assumption, which it ends; another claim of
the same name is not waited for, nor a volume that is kept for another claim.
"""

import msgspec

from scheduler_svc.core.cluster_objects import ObjectKind, ObjectName
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.status import SUCCESS, Code, Status
from scheduler_svc.core.storage_objects import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    ClaimReference,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageMeta,
)
from scheduler_svc.core.volumes.cluster_volumes import ClusterVolumes
from scheduler_svc.core.volumes.pod_volumes import NodeDecision, StaticBinding
from scheduler_svc.core.volumes.reach import reach_of
from scheduler_svc.core.volumes.writes import KeepVolume, ObjectVersion, SelectNode, VolumeWrites

WAIT = Status(Code.WAIT)


class Reservation:
    """What one Pod has been promised on one Node."""

    def __init__(self, volumes: ClusterVolumes, node_name: str, decision: NodeDecision) -> None:
        self._volumes = volumes
        self._node_name = node_name
        self._decision = decision
        self._kept: list[tuple[PersistentVolume, PersistentVolumeClaim]] = []
        self._selected: list[PersistentVolumeClaim] = []

    def assume(self) -> None:
        """Let the others see what is going to be."""
        for binding in self._decision.bindings:
            kept = _kept(binding)
            if kept is not binding.volume:
                self._volumes.persistent_volumes.assumed.assume(kept)
                self._kept.append((kept, binding.claim))
        for claim in self._decision.provisions:
            if claim.selected_node != self._node_name:
                metadata = _annotated(claim.metadata, SELECTED_NODE, self._node_name)
                selected = msgspec.structs.replace(claim, metadata=metadata)
                self._volumes.claims.assume(selected)
                self._selected.append(selected)

    def revert(self) -> None:
        """Take back what has not been seen to be so."""
        for kept, _ in self._kept:
            self._volumes.persistent_volumes.assumed.revert(kept)
        for selected in self._selected:
            self._volumes.claims.revert(selected)

    def writes(self) -> VolumeWrites:
        """Give what has to be written."""
        return VolumeWrites(
            keep=tuple(
                KeepVolume(
                    _version(kept.metadata),
                    _version(claim.metadata),
                    by_controller=kept.metadata.annotation(BOUND_BY_CONTROLLER) is not None,
                )
                for kept, claim in self._kept
            ),
            select=tuple(
                SelectNode(_version(claim.metadata), self._node_name) for claim in self._selected
            ),
        )

    def progress(self, node: NodeInfo | None) -> Status:
        """Say whether every claim has its volume: success, Wait, or what went wrong."""
        if node is None:
            name = self._node_name
            return _error(f'failed to get node "{name}": node "{name}" not found')
        for binding in self._decision.bindings:
            status = self._progress_of_binding(binding, node)
            if status.code is not Code.SUCCESS:
                return status
        for claim in self._decision.provisions:
            status = self._progress_of_provision(claim, node)
            if status.code is not Code.SUCCESS:
                return status
        return SUCCESS

    def awaited(self) -> set[ObjectName]:
        """Give the objects on which the progress depends as things are."""
        names: set[ObjectName] = set()
        for binding in self._decision.bindings:
            names.add((ObjectKind.PERSISTENT_VOLUME, binding.volume.name))
            names.add((ObjectKind.PERSISTENT_VOLUME_CLAIM, binding.claim.key))
        for provided in self._decision.provisions:
            names.add((ObjectKind.PERSISTENT_VOLUME_CLAIM, provided.key))
            claim = self._volumes.claims.told(provided.key)
            if claim is not None and claim.spec.volume_name:
                names.add((ObjectKind.PERSISTENT_VOLUME, claim.spec.volume_name))
        return names

    def _progress_of_binding(self, binding: StaticBinding, node: NodeInfo) -> Status:
        known = self._volumes.persistent_volumes.assumed
        volume = known.told(binding.volume.name)
        claim = self._volumes.claims.told(binding.claim.key)
        if volume is None:
            name = binding.volume.name
            return _error(f'failed to check binding: persistentvolumes "{name}" not found')
        if claim is None or claim.metadata.uid != binding.claim.metadata.uid:
            key = binding.claim.key
            return _error(f'failed to check binding: persistentvolumeclaims "{key}" not found')
        if known.get(volume.name) is not volume:
            # What we have written is not to be seen yet.
            return WAIT
        unreachable = self._unreachable(volume, node)
        if unreachable is not None:
            return unreachable
        reference = volume.spec.claim_ref
        if reference is None or not reference.uid:
            return _error(f'ClaimRef got reset for pv "{volume.name}"')
        if reference.uid != claim.metadata.uid:
            return _error(f'pv "{volume.name}" is kept for another claim')
        return SUCCESS if claim.is_fully_bound else WAIT

    def _progress_of_provision(self, provided: PersistentVolumeClaim, node: NodeInfo) -> Status:
        claim = self._volumes.claims.told(provided.key)
        if claim is None or claim.metadata.uid != provided.metadata.uid:
            key = provided.key
            return _error(
                f'failed to check provisioning pvc: persistentvolumeclaims "{key}" not found'
            )
        name = claim.metadata.name
        if claim.selected_node != self._node_name:
            newest = self._volumes.claims.get(provided.key) or claim
            if newest.selected_node == self._node_name:
                # What we have written is not to be seen yet.
                return WAIT
            if claim.metadata.annotations is None:
                return _error(f'selectedNode annotation reset for PVC "{name}"')
            return _error(f'provisioning failed for PVC "{name}"')
        if claim.spec.volume_name:
            volume = self._volumes.persistent_volumes.assumed.told(claim.spec.volume_name)
            if volume is None:
                # The claim may be told of before its volume is.
                return WAIT
            unreachable = self._unreachable(volume, node)
            if unreachable is not None:
                return unreachable
        return SUCCESS if claim.is_fully_bound else WAIT

    def _unreachable(self, volume: PersistentVolume, node: NodeInfo) -> Status | None:
        reach = reach_of(volume)
        own = reach.own
        if reach.plugin is not None and reach.plugin in self._migrated(node.name):
            if reach.migrated is None:
                return _error(f"failed to translate pv to csi: {reach.error}")
            own = reach.migrated
        if own.includes(node.labels):
            return None
        return _error(
            f'pv "{volume.name}" node affinity doesn\'t match node "{node.name}": '
            "no matching NodeSelectorTerms"
        )

    def _migrated(self, node_name: str) -> frozenset[str]:
        found: CSINode | None = self._volumes.objects[ObjectKind.CSI_NODE].by_key.get(node_name)
        return frozenset() if found is None else found.migrated_plugins


def _kept(binding: StaticBinding) -> PersistentVolume:
    """Give a volume as it is once it is kept for a claim: itself, if it is already."""
    volume, claim = binding.volume, binding.claim.metadata
    metadata, reference = volume.metadata, volume.spec.claim_ref
    if reference is not None and reference.uid == claim.uid:
        return volume
    if reference is None:
        metadata = _annotated(metadata, BOUND_BY_CONTROLLER, "yes")
    spec = msgspec.structs.replace(
        volume.spec, claim_ref=ClaimReference(claim.namespace, claim.name, claim.uid)
    )
    return msgspec.structs.replace(volume, metadata=metadata, spec=spec)


def _annotated(metadata: StorageMeta, key: str, value: str) -> StorageMeta:
    annotations = {**(metadata.annotations or {}), key: value}
    return msgspec.structs.replace(metadata, annotations=annotations)


def _version(metadata: StorageMeta) -> ObjectVersion:
    return ObjectVersion(metadata.namespace, metadata.name, metadata.uid, metadata.resource_version)


def _error(text: str) -> Status:
    return Status(Code.ERROR, (f"binding volumes: {text}",))
