"""A handful of Nodes and Pods of every kind, to be put together in any order of events."""

from typing import Final

from scheduler_svc.core.objects import (
    ContainerImage,
    ContainerPort,
    ContainerStatus,
    Node,
    Pod,
    ResourceRequirements,
    Taint,
    Toleration,
)
from tests.builders import (
    GPU,
    MIB,
    NodeFields,
    PodFields,
    make_node,
    make_pod,
    preferred,
    required,
    term,
    where,
)

_AVOIDED = Taint("slow", "PreferNoSchedule")
_APP = ContainerImage(("app:1", "app@sha256:a"), 900 * MIB)

NODE_KINDS: Final[dict[str, NodeFields]] = {
    "plain": {},
    "small": {"cpu": "500m", "memory": "1Gi", "pods": 2},
    "full": {"pods": 0},
    "zone a": {"labels": {"zone": "a", "disk": "ssd"}, "images": (_APP,)},
    "zone b": {"labels": {"zone": "b"}, "images": (ContainerImage(("app:1",), 500 * MIB),)},
    "gpu": {"offers": {GPU: 2, "ephemeral-storage": "10Gi"}, "labels": {"zone": "a"}},
    "huge pages": {"offers": {"hugepages-2Mi": "8Mi"}, "cpu": 0},
    "avoided": {"taints": (_AVOIDED, Taint("old", "PreferNoSchedule"))},
    "less avoided": {"taints": (_AVOIDED,), "labels": {"zone": "b"}},
    "reserved": {"taints": (Taint("team", "NoSchedule", "x"), _AVOIDED)},
    "cordoned": {"unschedulable": True},
}

# Pods that are on Nodes, or come to be.
POD_KINDS: Final[dict[str, PodFields]] = {
    "nothing": {},
    "small": {"requests": {"cpu": "200m", "memory": "256Mi"}},
    "large": {"requests": {"cpu": 2, "memory": "3Gi", "ephemeral-storage": "1Gi"}},
    "gpu": {"requests": {GPU: 1, "cpu": "100m"}},
    "huge pages": {"requests": {"hugepages-2Mi": "4Mi", "memory": "64Mi"}},
    "unknown resource": {"requests": {"vendor.example.com/disk": 1}},
    "port": {"ports": (ContainerPort(host_port=80),)},
    "port of one address": {"ports": (ContainerPort(host_port=80, host_ip="10.0.0.1"),)},
    "resized": {
        "requests": {"cpu": 1},
        "container_statuses": (
            ContainerStatus("c0", ResourceRequirements({"cpu": "1500m"}), {"cpu": 1}),
        ),
    },
}

# Pods that are asked about.
PENDING_KINDS: Final[dict[str, PodFields]] = {
    **POD_KINDS,
    "selector": {"selector": {"zone": "a"}, "requests": {"cpu": "100m"}},
    "prefers": {
        "affinity": preferred(
            (30, term(where("zone", "In", "a"))), (5, term(where("disk", "Exists")))
        )
    },
    "named": {"affinity": required(term(fields=[where("metadata.name", "In", "n1")]))},
    "not named": {"affinity": required(term(fields=[where("metadata.name", "NotIn", "n1")]))},
    "tolerates": {"tolerations": (Toleration(operator="Exists"),), "images": ("app:1", "app:1")},
    "image": {"images": ("app:1", "other"), "requests": {"cpu": "50m"}},
}


def node_of(kind: str, name: str) -> Node:
    """Build a Node of a kind."""
    return make_node(name, **NODE_KINDS[kind])


def pod_of(kind: str, name: str, *, node: str = "", version: int = 1) -> Pod:
    """Build a Pod of a kind."""
    fields = PENDING_KINDS[kind].copy()
    fields["node"] = node
    fields["version"] = str(version)
    return make_pod(name, **fields)
