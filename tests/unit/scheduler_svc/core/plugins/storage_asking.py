"""Asks one plugin about a Pod with volumes in a cluster, as the framework would."""

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from scheduler_svc.core.framework.interface import FilterPlugin, PreFilterPlugin
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.verdict import judge
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code, Status
from tests.builders import make_profile

CLAIM_ADD = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD)
CLAIM_UPDATE = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.UPDATE)
VOLUME_ADD = ClusterEvent(EventResource.PERSISTENT_VOLUME, ActionType.ADD)
VOLUME_UPDATE = ClusterEvent(EventResource.PERSISTENT_VOLUME, ActionType.UPDATE)
CLASS_ADD = ClusterEvent(EventResource.STORAGE_CLASS, ActionType.ADD)
CLASS_UPDATE = ClusterEvent(EventResource.STORAGE_CLASS, ActionType.UPDATE)
CSI_NODE_ADD = ClusterEvent(EventResource.CSI_NODE, ActionType.ADD)
CSI_NODE_UPDATE = ClusterEvent(EventResource.CSI_NODE, ActionType.UPDATE)
CSI_NODE_DELETE = ClusterEvent(EventResource.CSI_NODE, ActionType.DELETE)
DRIVER_UPDATE = ClusterEvent(EventResource.CSI_DRIVER, ActionType.UPDATE)
DRIVER_DELETE = ClusterEvent(EventResource.CSI_DRIVER, ActionType.DELETE)
CAPACITY_ADD = ClusterEvent(EventResource.CSI_STORAGE_CAPACITY, ActionType.ADD)
CAPACITY_UPDATE = ClusterEvent(EventResource.CSI_STORAGE_CAPACITY, ActionType.UPDATE)
ATTACHMENT_DELETE = ClusterEvent(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE)

Rejection = tuple[Code, list[str]]


class Answer:
    """What a plugin says: of the Pod (`status`, `failure`), or of each Node (None: may run)."""

    def __init__(self, plugin: PreFilterPlugin, pod: PodInfo, cluster: Cluster) -> None:
        assert isinstance(plugin, FilterPlugin)
        self.status: Status = plugin.pre_filter(pod, cluster).status
        profile = make_profile({"preFilter": [plugin], "filter": [plugin]})
        prepared = prepare(profile, pod, cluster)
        self.nodes: dict[str, Rejection | None] = {}
        if prepared.rejection is not None:
            return
        verdict = judge(prepared, cluster.columns)
        names = cluster.columns.names
        self.nodes |= {names[row]: None for row in verdict.rows}
        for group in verdict.diagnosis.groups:
            reason = group.status.code, list(group.status.reasons)
            self.nodes |= {names[row]: reason for row in group.rows}
        self.failure = prepared.failure()
