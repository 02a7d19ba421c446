"""GangScheduling: members of a PodGroup are not tried before enough of them are there.

That they are decided together is the work of `pod_groups`, for the profiles that have this
plugin; without it a Pod's group means nothing.

Source: pkg/scheduler/framework/plugins/gangscheduling/gangscheduling.go, v1.36.3. Differences:
it serves the PodGroups of scheduler-plugins, too; nobody waits at Permit, since a group is bound
only when all that it needs have a Node; and Pods are called group by group (`pod_groups`), not by
events, which would have to be shown to the Pods of all groups.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    own_update,
)
from scheduler_svc.core.framework.interface import EnqueueExtensions, PreEnqueuePlugin
from scheduler_svc.core.group_texts import group_message
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SUCCESS, Code, Status

# What keeps a group as a whole away; each has a name of its own beside the plugin's, since what
# undoes it is no matter of any one member.
MIN_RESOURCES: Final = "GangScheduling/minResources"
PACKING: Final = "GangScheduling/packing"
GROUP_REJECTORS: Final[Mapping[str, Sequence[EventRegistration]]] = {
    MIN_RESOURCES: (
        EventRegistration(
            ClusterEvent(EventResource.POD, ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN)
        ),
        EventRegistration(
            ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE)
        ),
    ),
    PACKING: (
        EventRegistration(
            ClusterEvent(EventResource.NODE, ActionType.DELETE | ActionType.UPDATE_NODE_LABEL)
        ),
    ),
}


class GangScheduling(PreEnqueuePlugin, EnqueueExtensions):
    """Keeps the members of a group out of the queue until there are as many as it needs."""

    name = "GangScheduling"

    def __init__(self) -> None:
        self._cluster: Cluster | None = None

    def attach(self, cluster: Cluster) -> None:
        """Learn where the groups are."""
        self._cluster = cluster

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Reject a member of a group that does not exist, or has too few Pods yet. O(1)."""
        if pod.group is None or self._cluster is None:
            return SUCCESS
        obstacle = self._cluster.groups.obstacle(pod.group)
        if not obstacle:
            return SUCCESS
        reason = group_message(pod.group.name, obstacle)
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when the Pod leaves its group; who completes a group calls its members."""
        return [own_update(ActionType.UPDATE_POD_LABEL)]
