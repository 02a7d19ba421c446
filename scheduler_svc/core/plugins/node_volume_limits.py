"""NodeVolumeLimits: a Node takes so many volumes of a CSI driver.

Source: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go, v1.36.3. Differences:
a limit that is gone, a new Node and a change of the Pod's claim are reasons to try again.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
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
from scheduler_svc.core.storage_objects import CSINode, PersistentVolumeClaim, VolumeAttachment
from scheduler_svc.core.volume_objects import Volume
from scheduler_svc.core.volumes.claims import claims_of, names_claim, ownership_error
from scheduler_svc.core.volumes.cluster_volumes import ClusterVolumes
from scheduler_svc.core.volumes.counted_volumes import resolve_claim
from scheduler_svc.core.volumes.migration import (
    CSIVolume,
    Untranslatable,
    inline_csi_volume,
)

REASON: Final = "node(s) exceed max volume count"


class NewVolumes(msgspec.Struct):
    """The volumes that a Pod would bring to a Node.

    `status` is set where they cannot be told; on Nodes with a CSINode only, if it `needs_csi`.
    `failure`: what was found to be wrong on the first by name of the Nodes asked about.
    """

    all: ClusterVolumes
    volumes: tuple[CSIVolume, ...]
    status: Status | None = None
    needs_csi: bool = False
    failure: Status | None = None
    failed_node: str = ""

    def fail(self, status: Status, node_names: Iterable[str]) -> None:
        """Note an error on some Nodes."""
        for name in node_names:
            if self.failure is None or name < self.failed_node:
                self.failure, self.failed_node = status, name


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin, EnqueueExtensions):
    """Rejects Nodes that cannot take the Pod's volumes besides those they have.

    With `upstream_quirks` a Pod whose volumes make no sense fails the attempts of all other
    Pods with volumes on its Node, if that has limits; else such volumes are not counted.
    """

    name = "NodeVolumeLimits"
    projection_fields = frozenset({"volumes"})
    filter_scope = Scope.CLUSTER
    asks_candidates_only = True

    def __init__(self, *, upstream_quirks: bool = True) -> None:
        self._follows_quirks = upstream_quirks

    def projection(self, pod: PodInfo, cluster: Cluster) -> Hashable:
        """Give the volumes that the Pod's claims and its own volumes count as."""
        if not pod.volumes:
            return None
        state = _new_volumes(pod, cluster.volumes)
        return state.volumes, state.status

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Skip without volumes that are counted."""
        if not any(_may_count(volume) for volume in pod.volumes):
            return PreFilterResult(SKIP)
        return PreFilterResult(SUCCESS, _new_volumes(pod, cluster.volumes))

    def filter(self, state: NewVolumes, nodes: NodeView) -> BoolArray | None:
        """Pass Nodes that can take them. O(N for each driver)."""
        if state.status is not None:
            failing = (_failing(state) & nodes.columns.live)[nodes.rows]
            if state.status.code is Code.ERROR:
                state.fail(state.status, _names(nodes, failing))
            return ~failing
        if not state.volumes:
            return None
        fits: BoolArray = ~state.all.attached.exceeding(state.volumes)[nodes.rows]
        for fault, failing in self._faults(state, nodes):
            state.fail(fault, _names(nodes, failing))
            fits &= ~failing
        return fits

    def _faults(self, state: NewVolumes, nodes: NodeView) -> Iterator[tuple[Status, BoolArray]]:
        """Give what is wrong with Pods that are there already; by Node, bool `(K,)` each."""
        if not self._follows_quirks or not state.volumes:
            return
        faulty = state.all.faulty_pods
        for row in sorted(faulty.rows):
            asked = np.arange(nodes.columns.capacity)[nodes.rows] == row
            if asked.any() and state.all.attached.is_limited(row):
                yield _error(faulty.fault(row)), asked

    def is_concerned_by(self, state: NewVolumes, pod: PodInfo) -> bool:
        """Whether a Pod has volumes at all."""
        del state
        return bool(pod.volumes)

    def rejections(self, state: NewVolumes, nodes: NodeView) -> Sequence[Rejection]:
        """One reason for all, but for Nodes with faulty Pods."""
        if state.status is not None:
            return [Rejection.of_all(state.status, nodes)]
        rejections = [Rejection(*fault) for fault in self._faults(state, nodes)]
        rest = np.ones(nodes.count, dtype=np.bool_)
        for rejection in rejections:
            rest &= ~rejection.nodes
        return [*rejections, Rejection(Status(Code.UNSCHEDULABLE, (REASON,)), rest)]

    def failure(self, state: NewVolumes) -> Status | None:
        """Give a volume's fault, if it shows on a Node that was asked about."""
        return state.failure

    def forget_failure(self, state: NewVolumes) -> None:
        """Begin anew."""
        state.failure = None

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when limits grow, volumes go, or the Pod's claim changes."""
        added, deleted, updated = ActionType.ADD, ActionType.DELETE, ActionType.UPDATE
        claim = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, added | updated)
        return [
            EventRegistration(ClusterEvent(EventResource.CSI_NODE, added | deleted)),
            EventRegistration(ClusterEvent(EventResource.CSI_NODE, updated), _limit_grew),
            EventRegistration(ClusterEvent(EventResource.NODE, added)),
            EventRegistration(ClusterEvent(EventResource.POD, deleted), _volumes_freed),
            EventRegistration(claim, _own_claim_changed),
            EventRegistration(
                ClusterEvent(EventResource.VOLUME_ATTACHMENT, deleted), _volume_detached
            ),
        ]


def _new_volumes(pod: PodInfo, volumes: ClusterVolumes) -> NewVolumes:
    found: dict[CSIVolume, None] = {}
    claims = iter(claims_of(pod))
    for volume in pod.volumes:
        if volume.persistent_volume_claim is None and volume.ephemeral is None:
            counted = inline_csi_volume(volume)
            if isinstance(counted, Untranslatable):
                text = f"converting volume({volume.name}) from inline to csi: {counted.reason}"
                return NewVolumes(volumes, (), _error(text), needs_csi=True)
        else:
            named = next(claims)
            key = f"{pod.namespace}/{named.name}"
            claim = volumes.claims.told(key)
            if claim is None:
                reason = f'looking up PVC {key}: persistentvolumeclaim "{named.name}" not found'
                status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))
                return NewVolumes(volumes, (), status)
            text = ownership_error(pod, claim) if named.is_ephemeral else ""
            if text:
                return NewVolumes(volumes, (), _error(text))
            counted = resolve_claim(volumes.objects, key).volume
        if counted is not None:
            found[counted] = None
    return NewVolumes(volumes, tuple(found))


def _names(nodes: NodeView, mask: BoolArray) -> Iterator[str]:
    rows = np.arange(nodes.columns.capacity)[nodes.rows][mask]
    return (nodes.columns.names[row] for row in rows)


def _error(text: str) -> Status:
    return Status(Code.ERROR, (f'running "NodeVolumeLimits" filter plugin: {text}',))


def _failing(state: NewVolumes) -> BoolArray:
    if state.needs_csi:
        return state.all.attached.has_csi_node
    return np.ones(state.all.columns.capacity, dtype=np.bool_)


def _may_count(volume: Volume) -> bool:
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or inline_csi_volume(volume) is not None
    )


def _limit_grew(_pod: PodInfo, old: CSINode, new: CSINode) -> QueueingHint:
    limits = {driver.name: driver.limit for driver in new.spec.drivers}
    grew = any(
        driver.limit is not None and _is_more(limits.get(driver.name), driver.limit)
        for driver in old.spec.drivers
    )
    return QueueingHint.QUEUE if grew else QueueingHint.SKIP


def _is_more(limit: int | None, than: int) -> bool:
    return limit is None or limit > than


def _volumes_freed(_pod: PodInfo, old: PodInfo, _new: None) -> QueueingHint:
    if not old.node_name and not old.nominated_node_name:
        return QueueingHint.SKIP
    frees = any(_may_count(volume) for volume in old.volumes)
    return QueueingHint.QUEUE if frees else QueueingHint.SKIP


def _own_claim_changed(
    pod: PodInfo, _old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> QueueingHint:
    return QueueingHint.QUEUE if names_claim(pod, new) else QueueingHint.SKIP


def _volume_detached(pod: PodInfo, old: VolumeAttachment, _new: None) -> QueueingHint:
    for volume in pod.volumes:
        counted = inline_csi_volume(volume)
        if isinstance(counted, CSIVolume) and counted.driver == old.spec.attacher:
            return QueueingHint.QUEUE
    return QueueingHint.QUEUE if claims_of(pod) else QueueingHint.SKIP
