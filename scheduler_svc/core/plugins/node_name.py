"""NodeName: a Pod that names its Node runs nowhere else.

Source: pkg/scheduler/framework/plugins/nodename/node_name.go, v1.36.3.
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
from scheduler_svc.core.status import SKIP, Code, Status

REASON = "node(s) didn't match the requested node name"


class NodeName(PreFilterPlugin, FilterPlugin, EnqueueExtensions):
    """Passes the Node that `spec.nodeName` names; every Node where it names none.

    Upstream has no PreFilter here; ours only leaves the Filter out where it has no say.
    """

    name = "NodeName"
    pod_fields = frozenset({"node_name"})
    filter_scope = Scope.SPEC

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Skip unless the Pod names a Node; the state is that name."""
        del cluster
        return PreFilterResult(state=pod.node_name) if pod.node_name else PreFilterResult(SKIP)

    def filter(self, state: str, nodes: NodeView) -> BoolArray:
        """Pass the named Node only."""
        mask = np.zeros(nodes.columns.capacity, dtype=np.bool_)
        mask[nodes.columns.rows_of([state])] = True
        return mask[nodes.rows]

    def rejections(self, state: str, nodes: NodeView) -> Sequence[Rejection]:
        """One reason for all."""
        del state
        status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON,))
        return [Rejection.of_all(status, nodes)]

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again at every new Node."""
        return [EventRegistration(ClusterEvent(EventResource.NODE, ActionType.ADD))]
