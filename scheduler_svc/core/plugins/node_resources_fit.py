"""NodeResourcesFit: the Node must have room for the Pod; how much is left ranks it.

Source: pkg/scheduler/framework/plugins/noderesources/fit.go, v1.36.3.
"""

from collections.abc import Hashable, Mapping, Sequence
from itertools import compress
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import Float64Array, Int64Array, NodeColumns, NodeView
from scheduler_svc.core.device_objects import DeviceClass
from scheduler_svc.core.devices.extended_resources import CLASS_PREFIX
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
    PreScorePlugin,
    Rejection,
    Scope,
    ScorePlugin,
)
from scheduler_svc.core.framework.resource_scoring import (
    LeastAllocated,
    ScoredResources,
    ScoringStrategy,
    selection,
)
from scheduler_svc.core.labels import BoolArray, is_everywhere
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Requests, is_extended
from scheduler_svc.core.status import SUCCESS, Code, Status

TOO_MANY_PODS = "Too many pods"
_POD_DELETE: Final = ClusterEvent(EventResource.POD, ActionType.DELETE)
_POD_SCALE_DOWN: Final = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_SCALE_DOWN)


class FitState(msgspec.Struct, frozen=True):
    """What a class needs: names and rows of A resources, amounts `(A, 1)`; Pods first.

    `delegated` are positions of extended resources that a DeviceClass stands for: a Node that
    offers none of them may have devices, which DynamicResources looks after.
    """

    names: tuple[str, ...]
    rows: list[int] | slice
    amounts: Int64Array
    float_amounts: Float64Array
    delegated: tuple[int, ...] = ()


class NodeResourcesFit(
    PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, EnqueueExtensions
):
    """Filters by every requested resource, scores by a strategy over some.

    Extended resources in `ignored_resources`, or whose part before the slash is in
    `ignored_resource_groups`, are not looked at.
    """

    name = "NodeResourcesFit"
    projection_fields = frozenset({"shape.requests.scalars"})
    filter_scope = Scope.USAGE
    reads_pods = False
    score_scope = Scope.USAGE

    def __init__(
        self,
        strategy: ScoringStrategy | None = None,
        *,
        ignored_resources: frozenset[str] = frozenset(),
        ignored_resource_groups: frozenset[str] = frozenset(),
    ) -> None:
        self._strategy = strategy or LeastAllocated()
        self._ignored_resources = ignored_resources
        self._ignored_groups = ignored_resource_groups
        self._cluster: Cluster | None = None

    def attach(self, cluster: Cluster) -> None:
        """Learn the cluster that the hints look up device classes in."""
        self._cluster = cluster

    def projection(self, pod: PodInfo, cluster: Cluster) -> Hashable:
        """Give the resources that device classes stand for."""
        scalars = pod.shape.requests.scalars
        if not scalars:
            return None
        return tuple(name for name, _ in scalars if cluster.devices.class_of_resource(name))

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """List what the Pod needs; resources with a request of 0 are no need."""
        needs = [(PODS, 1), *self._needs(pod.shape.requests)]
        names = tuple(name for name, _ in needs)
        amounts = np.array([[amount] for _, amount in needs], dtype=np.int64)
        rows = selection([cluster.columns.resource_row(name) for name in names])
        delegated = tuple(
            position
            for position, name in enumerate(names)
            if cluster.devices.class_of_resource(name) is not None
        )
        floats = amounts.astype(np.float64)
        return PreFilterResult(state=FitState(names, rows, amounts, floats, delegated))

    def _needs(self, requests: Requests) -> list[tuple[str, int]]:
        amounts = [
            (CPU, requests.milli_cpu),
            (MEMORY, requests.memory_bytes),
            (EPHEMERAL_STORAGE, requests.ephemeral_storage_bytes),
            *(pair for pair in requests.scalars if not self._is_ignored(pair[0])),
        ]
        return [(name, amount) for name, amount in amounts if amount > 0]

    def _is_ignored(self, name: str) -> bool:
        return is_extended(name) and (
            name in self._ignored_resources or name.split("/", 1)[0] in self._ignored_groups
        )

    def filter(self, state: FitState, nodes: NodeView) -> BoolArray | None:
        """Pass Nodes with room for every need and for one Pod more."""
        if nodes.columns.is_exact_in_float:
            has_room = nodes.room[state.rows] >= state.float_amounts
        else:
            has_room = nodes.free[state.rows] >= state.amounts
        for position in state.delegated:
            has_room[position] |= nodes.allocatable[state.rows][position] == 0
        if is_everywhere(has_room):
            return None
        # A few rows: cheaper one by one than as a reduction.
        fits: BoolArray = has_room[0]
        for row in has_room[1:]:
            fits &= row
        return fits

    def rejections(self, state: FitState, nodes: NodeView) -> Sequence[Rejection]:
        """Name all needs that a Node cannot meet; unresolvable if it never could."""
        offered = nodes.allocatable[state.rows]
        short = nodes.free[state.rows] < state.amounts
        for position in state.delegated:
            short[position] &= offered[position] > 0
        never: BoolArray = np.logical_or.reduce((short & (offered < state.amounts))[1:])
        reasons = [TOO_MANY_PODS, *(f"Insufficient {name}" for name in state.names[1:])]
        kinds = _kinds_of_columns([*short, never])
        result = []
        for kind in range(int(kinds.max(initial=-1)) + 1):
            alike: BoolArray = kinds == kind
            first = int(alike.argmax())
            code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if never[first] else Code.UNSCHEDULABLE
            lacking = tuple(compress(reasons, short[:, first]))
            result.append(Rejection(Status(code, lacking), alike))
        return result

    def pre_score(self, pod: PodInfo, cluster: Cluster) -> tuple[Status, ScoredResources]:
        """Collect the amounts the strategy scores by; Pod-level requests do not count here."""
        requests = pod.shape.container_requests
        resources = ScoredResources.of(
            self._strategy.weights,
            requests,
            cluster.columns,
            with_defaults=True,
            inventory=cluster.devices,
        )
        return SUCCESS, resources

    def score(self, state: ScoredResources, nodes: NodeView) -> Int64Array:
        """Give the strategy's score, 0 to 100."""
        return self._strategy.score(state, nodes)

    def score_version(self, state: ScoredResources, columns: NodeColumns) -> Hashable:
        """Change with the devices that stand for a resource."""
        return state.device_version(columns)

    def asks_version_always(self, state: ScoredResources) -> bool:
        """Devices are taken on no Node in particular."""
        return bool(state.devices)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when room is made that the Pod needs, on a Node that could ever do."""
        node = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE)
        device_class = ClusterEvent(EventResource.DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE)
        return [
            EventRegistration(_POD_DELETE, self._pod_went, is_by_shape=True),
            EventRegistration(_POD_SCALE_DOWN, self._pod_asks_for_less),
            EventRegistration(node, self._node_has_room, is_by_shape=True),
            EventRegistration(device_class, self._class_stands_for, is_by_shape=True),
        ]

    def _pod_went(self, pod: PodInfo, old: PodInfo, _new: None) -> QueueingHint:
        node_name = old.node_name or old.nominated_node_name
        is_of_use = node_name and self._may_ever_fit(pod, node_name)
        return QueueingHint.QUEUE if is_of_use else QueueingHint.SKIP

    def _pod_asks_for_less(self, pod: PodInfo, old: PodInfo, new: PodInfo) -> QueueingHint:
        if new.uid == pod.uid:
            return QueueingHint.QUEUE
        if not new.node_name or not self._may_ever_fit(pod, new.node_name):
            return QueueingHint.SKIP
        before, after = dict(self._needs(old.requests)), dict(self._needs(new.requests))
        for name, _ in self._needs(pod.shape.requests):
            if after.get(name, 0) < before.get(name, 0):
                return QueueingHint.QUEUE
        return QueueingHint.SKIP

    def _may_ever_fit(self, pod: PodInfo, node_name: str) -> bool:
        """Whether a Node offers enough for a Pod that had it alone; yes of an unknown one."""
        if self._cluster is None or node_name not in self._cluster.columns.rows:
            return True
        columns = self._cluster.columns
        offered = columns.allocatable[:, columns.rows[node_name]]
        needs = self._all_needs(pod)
        return self._offers(
            needs, {name: int(offered[columns.resource_row(name)]) for name in needs}
        )

    def _node_has_room(self, pod: PodInfo, old: NodeInfo | None, new: NodeInfo) -> QueueingHint:
        offered, needs = dict(new.allocatable), self._all_needs(pod)
        if not self._offers(needs, offered):
            return QueueingHint.SKIP
        before = {} if old is None else dict(old.allocatable)
        is_news = old is None or any(
            offered.get(name, 0) > before.get(name, 0) or self._is_delegated(name, offered)
            for name in needs
        )
        return QueueingHint.QUEUE if is_news else QueueingHint.SKIP

    def _all_needs(self, pod: PodInfo) -> dict[str, int]:
        return {PODS: 1, **dict(self._needs(pod.shape.requests))}

    def _offers(self, needs: Mapping[str, int], offered: Mapping[str, int]) -> bool:
        """Whether that is enough; of what a DeviceClass stands for a Node need offer nothing."""
        return all(
            amount <= offered.get(name, 0) or self._is_delegated(name, offered)
            for name, amount in needs.items()
        )

    def _is_delegated(self, name: str, offered: Mapping[str, int]) -> bool:
        if self._cluster is None or offered.get(name):
            return False
        return self._cluster.devices.class_of_resource(name) is not None

    def _class_stands_for(
        self, pod: PodInfo, old: DeviceClass | None, new: DeviceClass
    ) -> QueueingHint:
        """Whether a class comes to stand for a resource that the Pod needs."""
        explicit = new.spec.extended_resource_name
        if old is None:
            names = {explicit, f"{CLASS_PREFIX}{new.metadata.name}"}
        elif old.spec.extended_resource_name == explicit:
            return QueueingHint.SKIP
        else:
            names = {explicit}
        needed = any(name in names for name, _ in pod.shape.requests.scalars)
        return QueueingHint.QUEUE if needed else QueueingHint.SKIP


def _kinds_of_columns(table: Sequence[BoolArray]) -> Int64Array:
    """Number the columns of a table from 0 on: those that are equal alike, the least first."""
    kinds = np.zeros(len(table[0]), dtype=np.int64)
    for row in table:
        if row.any() and not row.all():
            kinds = np.unique(2 * kinds + row, return_inverse=True)[1]
    return kinds
