"""VolumeRestrictions: disks that one Pod of a Node has for itself, claims of one Pod alone.

Source: pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go,
v1.36.3. Difference: the end of a Pod of another namespace, with a disk that the waiting Pod
wants, is a reason to try again.
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
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SKIP, SUCCESS, Code, Status
from scheduler_svc.core.storage_objects import READ_WRITE_ONCE_POD, PersistentVolumeClaim
from scheduler_svc.core.volumes.claims import claims_of, names_claim
from scheduler_svc.core.volumes.cluster_volumes import ClusterVolumes
from scheduler_svc.core.volumes.disks import DiskUse, disks_of, disturb

REASON_DISK: Final = "node(s) had no available disk"
REASON_CLAIM: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)


class RestrictedVolumes(msgspec.Struct, frozen=True):
    """A Pod's disks, and its claims that no other Pod may use.

    `conflict_count` claims were in use, in all `use_count` times, when the Pod was looked at.
    As upstream, each use that has gone since takes one conflict away.
    """

    volumes: ClusterVolumes
    namespace: str
    disks: list[DiskUse]
    claims: tuple[str, ...]
    conflict_count: int
    use_count: int

    @property
    def has_conflict(self) -> bool:
        """Whether another Pod uses one of the claims now."""
        return self.conflict_count + _uses(self.volumes, self) - self.use_count > 0


class VolumeRestrictions(PreFilterPlugin, FilterPlugin, EnqueueExtensions):
    """Rejects Nodes whose Pods use the same disk, and all while a claim is another Pod's."""

    name = "VolumeRestrictions"
    projection_fields = frozenset({"volumes"})
    filter_scope = Scope.CLUSTER

    def projection(self, pod: PodInfo, cluster: Cluster) -> Hashable:
        """Give the disks, the claims, and how often those of one Pod alone are in use."""
        if not pod.volumes:
            return None
        volumes, read = cluster.volumes, list[Hashable]([tuple(disks_of(pod))])
        for named in claims_of(pod):
            if not named.is_ephemeral:
                claim = volumes.claims.told(f"{pod.namespace}/{named.name}")
                read.append(named.name if claim is None else claim)
                if claim is not None and _is_exclusive(claim):
                    read.append(volumes.claim_uses(pod.namespace, named.name))
        return tuple(read)

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Skip without disks and as long as no claim is taken; reject if a claim is missing."""
        volumes, exclusive = cluster.volumes, dict[str, None]()
        for named in claims_of(pod):
            if named.is_ephemeral:
                continue
            claim = volumes.claims.told(f"{pod.namespace}/{named.name}")
            if claim is None:
                reason = f'persistentvolumeclaim "{named.name}" not found'
                status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))
                return PreFilterResult(status)
            if _is_exclusive(claim):
                exclusive[named.name] = None
        uses = [volumes.claim_uses(pod.namespace, name) for name in exclusive]
        conflict_count, disks = sum(count > 0 for count in uses), disks_of(pod)
        if not disks and not conflict_count:
            return PreFilterResult(SKIP)
        state = RestrictedVolumes(
            volumes, pod.namespace, disks, tuple(exclusive), conflict_count, sum(uses)
        )
        return PreFilterResult(SUCCESS, state)

    def filter(self, state: RestrictedVolumes, nodes: NodeView) -> BoolArray:
        """Pass Nodes where the disks are free, none while a claim is taken. O(Pods with a disk)."""
        if state.has_conflict:
            return np.zeros(nodes.count, dtype=np.bool_)
        return ~_disturbed(state, nodes)

    def is_concerned_by(self, state: RestrictedVolumes, pod: PodInfo) -> bool:
        """Whether a Pod has volumes at all."""
        del state
        return bool(pod.volumes)

    def rejections(self, state: RestrictedVolumes, nodes: NodeView) -> Sequence[Rejection]:
        """Name the disk, which is looked at first, or the claim."""
        disturbed = _disturbed(state, nodes)
        return [
            Rejection(Status(Code.UNSCHEDULABLE, (REASON_DISK,)), disturbed),
            Rejection(Status(Code.UNSCHEDULABLE, (REASON_CLAIM,)), ~disturbed),
        ]

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when a Pod with a wanted volume goes, a Node comes, or the Pod's claim."""
        pod = ClusterEvent(EventResource.POD, ActionType.DELETE)
        node = ClusterEvent(EventResource.NODE, ActionType.ADD)
        claim = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD)
        return [
            EventRegistration(pod, _volume_freed),
            EventRegistration(node),
            EventRegistration(claim, _own_claim_came),
        ]


def _is_exclusive(claim: PersistentVolumeClaim) -> bool:
    return READ_WRITE_ONCE_POD in claim.spec.access_modes


def _uses(volumes: ClusterVolumes, state: RestrictedVolumes) -> int:
    return sum(volumes.claim_uses(state.namespace, name) for name in state.claims)


def _disturbed(state: RestrictedVolumes, nodes: NodeView) -> BoolArray:
    mask = np.zeros(nodes.columns.capacity, dtype=np.bool_)
    mask[state.volumes.disks.rows_disturbing(state.disks)] = True
    return mask[nodes.rows]


def _volume_freed(pod: PodInfo, old: PodInfo, _new: None) -> QueueingHint:
    # A Pod that was never given a Node used nothing, unless a Node was nominated for it.
    if not old.node_name and not old.nominated_node_name:
        return QueueingHint.SKIP
    if disturb(pod, old):
        return QueueingHint.QUEUE
    own, freed = (
        {claim.name for claim in claims_of(of) if not claim.is_ephemeral} for of in (pod, old)
    )
    shares = pod.namespace == old.namespace and not own.isdisjoint(freed)
    return QueueingHint.QUEUE if shares else QueueingHint.SKIP


def _own_claim_came(pod: PodInfo, _old: None, new: PersistentVolumeClaim) -> QueueingHint:
    is_own = names_claim(pod, new, with_ephemeral=False)
    return QueueingHint.QUEUE if is_own else QueueingHint.SKIP
