"""VolumeBinding: a Pod goes where its volumes can be, and waits until it has them.

::

    PreFilter ─▶ claims that can never be bound: no Node helps
    Filter ────▶ bound: is the volume reached? else: is there one to bind, or room to make one?
    Reserve ───▶ assumed: PV kept for the claim, Node selected for what is to be made
    PreBind ───▶ written, then waited for: the PV controller or a provisioner binds the claims
    Unreserve ─▶ what has not been written yet is taken back

Source: pkg/scheduler/framework/plugins/volumebinding/{volume_binding,binder}.go, v1.36.3.
Differences: an assumption that is taken back, a CSIDriver that is gone or stops telling its
capacity, for any Pod with claims, are reasons to try again. Scores (an alpha feature) are
left out.
"""

from collections.abc import Collection, Hashable, Sequence
from typing import Final

import numpy as np

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectName
from scheduler_svc.core.columns import Int64Array, NodeView
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
    PreBindPlugin,
    PreBindWork,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Rejection,
    ReservePlugin,
    Scope,
    ScorePlugin,
)
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SKIP, SUCCESS, Code, Status
from scheduler_svc.core.storage_objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from scheduler_svc.core.volumes.claims import claims_of, names_claim
from scheduler_svc.core.volumes.pod_claims import read_for, sort_claims
from scheduler_svc.core.volumes.pod_volumes import REASONS, PodVolumes
from scheduler_svc.core.volumes.reservation import Reservation

DEFAULT_BIND_TIMEOUT_SECONDS: Final = 600
TIMEOUT_ERROR: Final = "binding volumes: context deadline exceeded"
# Hints are asked at once, and Reserve follows soon, so that the last few are enough.
_REMEMBERED: Final = 64


class VolumeBinding(
    PreFilterPlugin,
    FilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    ReservePlugin,
    PreBindPlugin,
    EnqueueExtensions,
):
    """Finds, reserves and binds the volumes of a Pod's claims.

    `bind_timeout_seconds` is how long a Pod that has a Node waits for its volumes.
    """

    name = "VolumeBinding"
    projection_fields = frozenset({"volumes"})
    filter_scope = Scope.SPEC
    score_scope = Scope.SPEC

    def __init__(self, bind_timeout_seconds: float = DEFAULT_BIND_TIMEOUT_SECONDS) -> None:
        self._bind_timeout_seconds = bind_timeout_seconds
        self._reservations: dict[str, Reservation] = {}
        # What PreFilter has found lately, by what it has read.
        self._found: dict[Hashable, PodVolumes] = {}
        self._reverted: dict[str, None] = {}

    def attach(self, cluster: Cluster) -> None:
        """Share what is kept of Pods on their way with the plugin of every other profile."""
        self._reservations = cluster.volumes.reservations
        self._reverted = cluster.volumes.reverted

    def projection(self, pod: PodInfo, cluster: Cluster) -> Hashable:
        """Give the objects that decide where the Pod's volumes are or can be."""
        return read_for(pod, cluster.volumes) if pod.volumes else None

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Skip without claims; reject where one can have no volume wherever the Pod goes."""
        if not claims_of(pod):
            return PreFilterResult(SKIP)
        found = self._find(pod, cluster)
        return (
            PreFilterResult(found) if isinstance(found, Status) else PreFilterResult(SUCCESS, found)
        )

    def _find(self, pod: PodInfo, cluster: Cluster) -> PodVolumes | Status:
        read = read_for(pod, cluster.volumes)
        found = self._found.get(read)
        if found is None or found.errors or found.columns is not cluster.columns:
            claims = sort_claims(pod, cluster.volumes)
            if isinstance(claims, Status):
                return claims
            found = self._found[read] = PodVolumes(cluster.volumes, claims)
            if len(self._found) > _REMEMBERED:
                del self._found[next(iter(self._found))]
        return found

    def filter(self, state: PodVolumes, nodes: NodeView) -> BoolArray:
        """Pass Nodes where every claim has its volume, or would get one."""
        state.refresh()
        fits: BoolArray = state.obstacles[nodes.rows] == 0
        for rows, _ in state.errors:
            fits &= ~rows[nodes.rows]
            state.asked[nodes.rows] = True
        return fits

    def rejections(self, state: PodVolumes, nodes: NodeView) -> Sequence[Rejection]:
        """Give all that stands in the way on each Node."""
        obstacles = state.obstacles[nodes.rows]
        failed = np.zeros(nodes.count, dtype=np.bool_)
        result = []
        for rows, text in state.errors:
            result.append(Rejection(_failure(text), rows[nodes.rows]))
            failed |= rows[nodes.rows]
        for found in np.unique(obstacles[~failed]).tolist():
            reasons = tuple(text for obstacle, text in REASONS.items() if found & obstacle)
            status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)
            result.append(Rejection(status, (obstacles == found) & ~failed))
        return result

    def failure(self, state: PodVolumes) -> Status | None:
        """Give the fault of a volume on the first Node, of those asked about, where it shows."""
        if not state.errors:
            return None
        columns, faults = state.columns, dict[str, str]()
        for rows, text in state.errors:
            for row in np.flatnonzero(rows & state.asked & columns.live):
                faults.setdefault(columns.names[row], text)
        return _failure(faults[min(faults)]) if faults else None

    def pre_score(self, pod: PodInfo, cluster: Cluster) -> tuple[Status, None]:
        """Skip, as upstream does unless it is told to score capacity."""
        del pod, cluster
        return SKIP, None

    def score(self, state: None, nodes: NodeView) -> Int64Array:
        """Prefer no Node."""
        del state
        return np.zeros(nodes.count, dtype=np.int64)

    def reserve(self, pod: PodInfo, node_name: str, cluster: Cluster) -> Status:
        """Assume what is to become of the claims that have no volume yet."""
        if not pod.volumes or not claims_of(pod):
            return SUCCESS
        found = self._find(pod, cluster)
        if isinstance(found, Status):
            return found
        if found.has_unbound:
            decision = found.decision(cluster.columns.rows[node_name])
            reservation = Reservation(cluster.volumes, node_name, decision)
            reservation.assume()
            self._reservations[pod.uid] = reservation
        return SUCCESS

    def unreserve(self, pod: PodInfo, node_name: str, cluster: Cluster) -> None:
        """Take back what was assumed and has not been seen to be so."""
        del node_name, cluster
        reservation = self._reservations.pop(pod.uid, None)
        if reservation is not None:
            reservation.revert()
            self._reverted[pod.uid] = None
            if len(self._reverted) > _REMEMBERED:
                del self._reverted[next(iter(self._reverted))]

    def pre_bind(self, pod: PodInfo, node_name: str, cluster: Cluster) -> PreBindWork | Status:
        """Have it written; Skip where every claim had its volume."""
        del node_name, cluster
        reservation = self._reservations.get(pod.uid)
        if reservation is None:
            return SKIP
        return PreBindWork(reservation.writes(), self._bind_timeout_seconds, TIMEOUT_ERROR)

    def pre_bind_progress(self, pod: PodInfo, node_name: str, cluster: Cluster) -> Status:
        """Wait for the claims to be bound; an error where that will not come about."""
        columns, row = cluster.columns, cluster.columns.rows.get(node_name)
        node = None if row is None else columns.infos[row]
        status = self._reservations[pod.uid].progress(node)
        if status.code is Code.SUCCESS:
            del self._reservations[pod.uid]
        return status

    def awaited_objects(
        self, pod: PodInfo, node_name: str, cluster: Cluster
    ) -> Collection[ObjectName]:
        """Give the claims and volumes that the Pod waits for."""
        del node_name, cluster
        return self._reservations[pod.uid].awaited()

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when storage objects or Nodes change, or a reservation is taken back."""
        added, updated, deleted = ActionType.ADD, ActionType.UPDATE, ActionType.DELETE
        node = ClusterEvent(EventResource.NODE, added | ActionType.UPDATE_NODE_LABEL)
        claim = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, added | updated)
        volume = ClusterEvent(EventResource.PERSISTENT_VOLUME, added | updated)
        storage_class = ClusterEvent(EventResource.STORAGE_CLASS, added | updated)
        csi_node = ClusterEvent(EventResource.CSI_NODE, added | updated)
        driver = ClusterEvent(EventResource.CSI_DRIVER, updated | deleted)
        capacity = ClusterEvent(EventResource.CSI_STORAGE_CAPACITY, added | updated)
        return [
            EventRegistration(storage_class, _topologies_changed),
            EventRegistration(claim, _own_claim_changed),
            EventRegistration(volume),
            EventRegistration(node),
            EventRegistration(csi_node, _migration_changed),
            EventRegistration(driver, _capacity_untold),
            EventRegistration(capacity, _room_grew),
            EventRegistration(ClusterEvent(EventResource.POD, deleted), self._was_reverted),
        ]

    def _was_reverted(self, _pod: PodInfo, old: PodInfo, _new: None) -> QueueingHint:
        return QueueingHint.QUEUE if old.uid in self._reverted else QueueingHint.SKIP


def _failure(text: str) -> Status:
    return Status(Code.ERROR, (f'running "VolumeBinding" filter plugin: {text}',))


def _own_claim_changed(
    pod: PodInfo, _old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> QueueingHint:
    return QueueingHint.QUEUE if names_claim(pod, new) else QueueingHint.SKIP


def _topologies_changed(_pod: PodInfo, old: StorageClass | None, new: StorageClass) -> QueueingHint:
    changed = old is None or old.allowed_topologies != new.allowed_topologies
    return QueueingHint.QUEUE if changed else QueueingHint.SKIP


def _migration_changed(_pod: PodInfo, old: CSINode | None, new: CSINode) -> QueueingHint:
    changed = old is None or old.migrated_plugins != new.migrated_plugins
    return QueueingHint.QUEUE if changed else QueueingHint.SKIP


def _capacity_untold(_pod: PodInfo, old: CSIDriver, new: CSIDriver | None) -> QueueingHint:
    ended = old.tells_capacity and not (new is not None and new.tells_capacity)
    return QueueingHint.QUEUE if ended else QueueingHint.SKIP


def _room_grew(
    _pod: PodInfo, old: CSIStorageCapacity | None, new: CSIStorageCapacity
) -> QueueingHint:
    before = None if old is None else old.limit_nano_bytes
    now = new.limit_nano_bytes
    grew = old is None or (now is not None and (before is None or now > before))
    return QueueingHint.QUEUE if grew else QueueingHint.SKIP
