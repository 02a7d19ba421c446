"""When a Pod that waits for devices is looked at again.

Source: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
(`EventsToRegister`, `isSchedulableAfterClaimChange`, `isSchedulableAfterPodChange`), v1.36.3.
Differences: a slice that goes may complete its pool, and a claim that goes may leave devices;
devices that are given back before anybody saw them taken are a reason, too.
"""

from collections.abc import Sequence

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.device_objects import ResourceClaim
from scheduler_svc.core.devices.pod_claims import waits_for_claim
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    QueueingHint,
)
from scheduler_svc.core.plugins.dynamic_resources.reservations import Reservations
from scheduler_svc.core.pods import PodInfo


class ClaimHints:
    """Knows the claims of a cluster, once it is told which one."""

    def __init__(self, reservations: Reservations) -> None:
        self._reservations = reservations
        self._cluster: Cluster | None = None

    def attach(self, cluster: Cluster, reservations: Reservations) -> None:
        """Learn the cluster that claims are looked up in, and what is set aside there."""
        self._cluster = cluster
        self._reservations = reservations

    def obstacle(self, pod: PodInfo) -> str:
        """Give why a Pod's claims are not all there, "" if they are."""
        if not pod.claims or self._cluster is None:
            return ""
        return waits_for_claim(pod, self._cluster.devices)

    def registrations(self) -> Sequence[EventRegistration]:
        """Give the events, with the hints for those that do not always help."""
        node = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        changed = ActionType.ADD | ActionType.UPDATE
        anything = changed | ActionType.DELETE
        named = ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM
        claim = ClusterEvent(EventResource.RESOURCE_CLAIM, anything)
        pod_named = ClusterEvent(EventResource.POD, named)
        pod_gone = ClusterEvent(EventResource.POD, ActionType.DELETE)
        return [
            EventRegistration(ClusterEvent(EventResource.NODE, node)),
            EventRegistration(claim, self._claim_changed),
            EventRegistration(pod_named, self._claims_named),
            EventRegistration(pod_gone, self._devices_given_back),
            EventRegistration(ClusterEvent(EventResource.DEVICE_CLASS, changed)),
            EventRegistration(ClusterEvent(EventResource.RESOURCE_SLICE, anything)),
        ]

    def _claim_changed(
        self, pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim | None
    ) -> QueueingHint:
        helps = not self.obstacle(pod) and _claim_helps(pod, old, new)
        return QueueingHint.QUEUE if helps else QueueingHint.SKIP

    def _claims_named(self, pod: PodInfo, _old: PodInfo, new: PodInfo) -> QueueingHint:
        helps = new.uid == pod.uid and not self.obstacle(new)
        return QueueingHint.QUEUE if helps else QueueingHint.SKIP

    def _devices_given_back(self, pod: PodInfo, old: PodInfo, _new: None) -> QueueingHint:
        helps = old.uid != pod.uid and self._reservations.was_reverted(old.uid)
        return QueueingHint.QUEUE if helps else QueueingHint.SKIP


def _claim_helps(pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim | None) -> bool:
    """Whether devices are given back, or a claim of the Pod's own comes to stand otherwise."""
    had_devices = old is not None and old.status.allocation is not None
    if had_devices and (new is None or new.status.allocation is None):
        return True
    if new is None or new.metadata.namespace != pod.namespace:
        return False
    if not any(reference.claim_name == new.metadata.name for reference in pod.claims):
        return False
    return old is None or old.status != new.status
