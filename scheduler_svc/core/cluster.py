"""What plugins know of the cluster: Nodes, the Pods on them, and other objects."""

from collections.abc import Mapping
from typing import Protocol

from scheduler_svc.core.affinity_terms import AffinityTerms
from scheduler_svc.core.cluster_objects import ClusterObjects, ObjectKind
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.default_selectors import DefaultSelectors
from scheduler_svc.core.devices.inventory import DeviceInventory
from scheduler_svc.core.group_members import GroupMembers
from scheduler_svc.core.pod_counts import PodCounts
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.volumes.cluster_volumes import ClusterVolumes


class PlacedPod(Protocol):
    """A Pod that is on a Node."""

    pod: PodInfo


class Cluster:
    """One view of a cluster; plugins read it and never write.

    `columns` has what each Node is and has left, `pod_counts` which Pods are where, by
    namespace and labels, `objects` everything that is neither Node nor Pod, and
    `default_selectors` which Pods belong together by Services and controllers. `volumes` has
    the claims and volumes, and what Pods use of them (VolumeBinding writes to it). `speculated`
    lists Pods counted on (1) or off (-1) the Node of a row, only to see what would be.
    `devices` has slices, classes and what of them is taken, `wall_seconds` the time of the
    attempt. `placed` are the Pods by row and uid, the cache's own, `groups` has the members of
    PodGroups.
    """

    def __init__(self) -> None:
        self.columns = NodeColumns()
        self.objects = ClusterObjects()
        self.default_selectors = DefaultSelectors(self.objects)
        self.speculated: list[tuple[PodInfo, int, int]] = []
        self.placed: Mapping[int, Mapping[str, PlacedPod]] = {}
        self.pod_counts = PodCounts(self.columns.capacity)
        self.columns.on_growth(self.pod_counts.grow)
        self.affinity_terms = AffinityTerms(
            self.columns.capacity, self.objects[ObjectKind.NAMESPACE]
        )
        self.columns.on_growth(self.affinity_terms.grow)
        self.devices = DeviceInventory(self.objects)
        self.groups = GroupMembers(self.objects)
        self.wall_seconds = 0.0
        self.volumes = ClusterVolumes(self.columns, self.objects)

    def pods_on(self, row: int) -> list[PodInfo]:
        """Give the Pods on a Node, speculation included. O(Pods on it)."""
        pods = {uid: placed.pod for uid, placed in self.placed.get(row, {}).items()}
        for pod, speculated_row, sign in self.speculated:
            if speculated_row == row and sign > 0:
                pods[pod.uid] = pod
            elif speculated_row == row:
                pods.pop(pod.uid, None)
        return list(pods.values())

    def count(self, pod: PodInfo, row: int, sign: int) -> None:
        """Count a Pod in (`sign` 1) or out (-1), everywhere that Pods are counted."""
        self.columns.add_usage(row, pod.requests, sign)
        if pod.shape.host_ports:
            self.columns.ports.add(row, pod.shape.host_ports, sign)
        self.pod_counts.count(pod, row, sign)
        if pod.shape.affinity_rules is not None:
            self.affinity_terms.count(pod, row, sign)
        if pod.volumes:
            self.volumes.count(pod, row, sign)
