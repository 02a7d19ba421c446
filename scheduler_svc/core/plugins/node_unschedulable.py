"""NodeUnschedulable: a cordoned Node takes no Pod that does not tolerate it.

Source: pkg/scheduler/framework/plugins/nodeunschedulable, v1.36.3.
"""

from collections.abc import Sequence

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
from scheduler_svc.core.taints import UNSCHEDULABLE_TAINT, is_tolerated

REASON = "node(s) were unschedulable"


class NodeUnschedulable(PreFilterPlugin, FilterPlugin, EnqueueExtensions):
    """Rejects Nodes with `spec.unschedulable` unless the Pod tolerates the taint for it.

    Upstream has no PreFilter here; ours only leaves the Filter out where it has no say.
    """

    name = "NodeUnschedulable"
    filter_scope = Scope.SPEC

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Skip for a Pod that tolerates node.kubernetes.io/unschedulable:NoSchedule."""
        del cluster
        if is_tolerated(UNSCHEDULABLE_TAINT, pod.shape.tolerations):
            return PreFilterResult(SKIP)
        return PreFilterResult()

    def filter(self, state: None, nodes: NodeView) -> BoolArray:
        """Pass Nodes that are not cordoned."""
        del state
        return ~nodes.columns.unschedulable[nodes.rows]

    def rejections(self, state: None, nodes: NodeView) -> Sequence[Rejection]:
        """One reason for all."""
        del state
        status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON,))
        return [Rejection.of_all(status, nodes)]

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when a Node comes or is uncordoned, or the Pod comes to tolerate it."""
        node = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        pod = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_TOLERATION)
        return [
            EventRegistration(node, _node_takes_pods, is_by_shape=True),
            EventRegistration(pod, _pod_tolerates),
        ]


def _node_takes_pods(_pod: PodInfo, old: NodeInfo | None, new: NodeInfo) -> QueueingHint:
    opened = not new.unschedulable and (old is None or old.unschedulable)
    return QueueingHint.QUEUE if opened else QueueingHint.SKIP


def _pod_tolerates(pod: PodInfo, _old: PodInfo, new: PodInfo) -> QueueingHint:
    if new.uid == pod.uid and is_tolerated(UNSCHEDULABLE_TAINT, new.shape.tolerations):
        return QueueingHint.QUEUE
    return QueueingHint.SKIP
