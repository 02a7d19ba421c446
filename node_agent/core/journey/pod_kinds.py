"""What kind of Pod it is, in few words: labels of metrics, and which SLI it counts for.

Source: pkg/kubelet/util/pod_startup_latency_tracker.go and pkg/kubelet/qos, v1.36.3; the
definition of sig-scalability's Pod startup latency SLI.
"""

from typing import Final

from node_agent.core.objects import Pod

STATELESS_VOLUMES: Final = frozenset(
    ("secret", "configMap", "downwardAPI", "emptyDir", "projected")
)
_OWNERS: Final = frozenset(("ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Node"))
NO_OWNER: Final = "none"
OTHER_OWNER: Final = "other"


def workload_kind(pod: Pod) -> str:
    """Name the kind of controller: one of five, ``other``, or ``none``."""
    for owner in pod.metadata.owner_references or ():
        if owner.controller:
            return owner.kind if owner.kind in _OWNERS else OTHER_OWNER
    return NO_OWNER


def is_stateful(pod: Pod) -> bool:
    """Whether a volume makes the Pod one that the SLI leaves out, as the kubelet judges it."""
    return any(volume.kind not in STATELESS_VOLUMES for volume in pod.spec.volumes)
