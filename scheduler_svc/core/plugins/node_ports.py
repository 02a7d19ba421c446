"""NodePorts: a host port is given to one Pod of a Node.

Source: pkg/scheduler/framework/plugins/nodeports/node_ports.go, v1.36.3.
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
from scheduler_svc.core.pods import HostPort, PodInfo
from scheduler_svc.core.ports import conflicts
from scheduler_svc.core.status import SKIP, Code, Status

REASON = "node(s) didn't have free ports for the requested pod ports"


class NodePorts(PreFilterPlugin, FilterPlugin, EnqueueExtensions):
    """Rejects Nodes where a host port that the Pod wants is taken."""

    name = "NodePorts"
    filter_scope = Scope.USAGE
    reads_pods = False

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Skip for a Pod that wants no host port; the state is the ports it wants."""
        del cluster
        ports = pod.shape.host_ports
        return PreFilterResult(state=ports) if ports else PreFilterResult(SKIP)

    def filter(self, state: tuple[HostPort, ...], nodes: NodeView) -> BoolArray | None:
        """Pass Nodes where all wanted ports are free."""
        return nodes.columns.ports.free(state, nodes.rows)

    def rejections(self, state: tuple[HostPort, ...], nodes: NodeView) -> Sequence[Rejection]:
        """One reason for all."""
        del state
        status = Status(Code.UNSCHEDULABLE, (REASON,))
        return [Rejection.of_all(status, nodes)]

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when a Pod that holds a wanted port goes, and at every new Node."""
        pod = ClusterEvent(EventResource.POD, ActionType.DELETE)
        node = ClusterEvent(EventResource.NODE, ActionType.ADD)
        return [
            EventRegistration(pod, _wanted_port_freed, is_by_shape=True),
            EventRegistration(node),
        ]


def _wanted_port_freed(pod: PodInfo, old: PodInfo, _new: None) -> QueueingHint:
    # A Pod that was never given a Node held no port, unless a Node was nominated for it.
    if not old.node_name and not old.nominated_node_name:
        return QueueingHint.SKIP
    shared = conflicts(pod.shape.host_ports, old.shape.host_ports)
    return QueueingHint.QUEUE if shared else QueueingHint.SKIP
