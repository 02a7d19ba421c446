"""NodeDeclaredFeatures: the kubelet must declare the features that a Pod cannot do without.

Source: pkg/scheduler/framework/plugins/nodedeclaredfeatures, v1.36.3.
"""

from collections.abc import Sequence

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
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SKIP, Code, Status

REASON = "node(s) didn't match Pod's required features"


class NodeDeclaredFeatures(PreFilterPlugin, FilterPlugin, EnqueueExtensions):
    """Rejects Nodes whose kubelet lacks a feature that the Pod's specification needs."""

    name = "NodeDeclaredFeatures"
    filter_scope = Scope.SPEC

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Skip for Pods that need none, as most do."""
        del cluster
        if not pod.shape.required_features:
            return PreFilterResult(SKIP)
        return PreFilterResult(state=frozenset(pod.shape.required_features))

    def filter(self, state: frozenset[str], nodes: NodeView) -> BoolArray:
        """Pass Nodes that declare all of them."""
        rows = nodes.rows
        infos = nodes.columns.infos
        found = infos[rows] if isinstance(rows, slice) else [infos[row] for row in rows]
        declared = (info is not None and state.issubset(info.declared_features) for info in found)
        return np.fromiter(declared, dtype=np.bool_, count=nodes.count)

    def rejections(self, state: frozenset[str], nodes: NodeView) -> Sequence[Rejection]:
        """One reason for all."""
        del state
        status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON,))
        return [Rejection.of_all(status, nodes)]

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when a Node comes or declares others, or the Pod needs others."""
        declared = ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE
        node = ClusterEvent(EventResource.NODE, declared)
        pod = ClusterEvent(EventResource.POD, ActionType.UPDATE)
        return [
            EventRegistration(node, _node_declares, is_by_shape=True),
            EventRegistration(pod, _needs_others),
        ]


def _node_declares(pod: PodInfo, _old: NodeInfo | None, new: NodeInfo) -> QueueingHint:
    """Upstream looks again at any change of a Node's features, whether it suffices or not."""
    suffices = set(new.declared_features).issuperset(pod.shape.required_features)
    return QueueingHint.QUEUE if suffices else QueueingHint.SKIP


def _needs_others(pod: PodInfo, old: PodInfo, new: PodInfo) -> QueueingHint:
    changed = old.shape.required_features != new.shape.required_features
    return QueueingHint.QUEUE if new.uid == pod.uid and changed else QueueingHint.SKIP
