"""What the demonstration creates: pools of Nodes and shapes of Pods, as tables.

Each shape says in Kubernetes' terms what its Pods ask for (``spec``), and in the demonstration's
own where they may therefore run (``pools``, ``zones``). The verdict compares the second, written
down by hand, with what the scheduler made of the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deploy.demo.resources import GPU, Container, Resources, pod_requests

ZONE_LABEL = "topology.kubernetes.io/zone"
POOL_LABEL = "demo.berthmaster.dev/pool"
SHAPE_LABEL = "demo.berthmaster.dev/shape"
ZONES = ("zone-a", "zone-b", "zone-c")
PODS_PER_NODE = 110
HOST_PORT = 8080
HIGH_PRIORITY, LOW_PRIORITY = "demo-high", "demo-low"
PRIORITIES = {HIGH_PRIORITY: 100_000, LOW_PRIORITY: -100}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePool:
    """Nodes of one kind.

    Attributes
    ----------
    share
        How many of 100 Nodes.
    taint
        ``(key, value)`` of a NoSchedule taint.
    """

    name: str
    share: int
    allocatable: Resources
    labels: Mapping[str, str] = field(default_factory=dict)
    taint: tuple[str, str] | None = None
    is_cordoned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PodShape:
    """Pods of one kind.

    Attributes
    ----------
    share
        How many of 500 Pods.
    containers, init_containers
        What the Pod runs.
    spec
        The other fields of the Pod's spec, as Kubernetes writes them.
    pools, zones
        Where such a Pod may run; no pools for one that fits nowhere.
    is_gated
        Created with a scheduling gate, which is lifted later.
    from_deployment
        Made by a Deployment, all at once.
    refusal
        Of a shape that fits nowhere: why Nodes without taints refuse it, in kube-scheduler's words.
    """

    name: str
    what: str
    share: int
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    spec: Mapping[str, Any] = field(default_factory=dict)
    pools: tuple[str, ...] = ("small", "medium", "large")
    zones: tuple[str, ...] = ZONES
    is_gated: bool = False
    from_deployment: bool = False
    refusal: str = ""

    @property
    def requests(self) -> Resources:
        """What a Pod of this shape takes from its Node."""
        return pod_requests(self.containers, self.init_containers)

    @property
    def host_ports(self) -> tuple[int, ...]:
        """Ports of the Node that a Pod of this shape listens on."""
        return tuple(c.host_port for c in self.containers if c.host_port)

    @property
    def is_impossible(self) -> bool:
        """Whether no Node can ever take such a Pod."""
        return bool(self.refusal)


def _container(milli_cpu: int, memory_mib: int, gpu_count: int = 0) -> Container:
    requests = Resources(milli_cpu=milli_cpu, memory_mib=memory_mib, gpu_count=gpu_count)
    return Container(requests=requests)


def _expression(key: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


def _tolerations(key: str) -> list[dict[str, str]]:
    return [{"key": key, "operator": "Exists", "effect": "NoSchedule"}]


NODE_POOLS = (
    NodePool(
        name="small",
        share=30,
        allocatable=Resources(milli_cpu=4_000, memory_mib=16_384),
    ),
    NodePool(
        name="medium",
        share=34,
        allocatable=Resources(milli_cpu=8_000, memory_mib=32_768),
        labels={"disktype": "ssd"},
    ),
    NodePool(
        name="large",
        share=15,
        allocatable=Resources(milli_cpu=16_000, memory_mib=65_536),
        labels={"disktype": "ssd"},
    ),
    NodePool(
        name="gpu",
        share=10,
        allocatable=Resources(milli_cpu=16_000, memory_mib=131_072, gpu_count=4),
        taint=(GPU, "present"),
    ),
    NodePool(
        name="batch",
        share=10,
        allocatable=Resources(milli_cpu=8_000, memory_mib=32_768),
        taint=("dedicated", "batch"),
    ),
    NodePool(
        name="cordoned",
        share=1,
        allocatable=Resources(milli_cpu=16_000, memory_mib=65_536),
        is_cordoned=True,
    ),
)

POD_SHAPES = (
    PodShape(name="plain", what="100m CPU", share=120, containers=(_container(100, 128),)),
    PodShape(
        name="node-selector",
        what="nodeSelector disktype=ssd",
        share=50,
        containers=(_container(250, 256),),
        spec={"nodeSelector": {"disktype": "ssd"}},
        pools=("medium", "large"),
    ),
    PodShape(
        name="required-affinity",
        what="must be in zone-a or zone-b",
        share=50,
        containers=(_container(200, 256),),
        spec={
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [_expression(ZONE_LABEL, "zone-a", "zone-b")]
                    }
                }
            }
        },
        zones=("zone-a", "zone-b"),
    ),
    PodShape(
        name="preferred-affinity",
        what="would rather have a large Node, in zone-c",
        share=50,
        containers=(_container(200, 256),),
        spec={
            "affinity": {
                "nodeAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 80, "preference": _expression(POOL_LABEL, "large")},
                        {"weight": 20, "preference": _expression(ZONE_LABEL, "zone-c")},
                    ]
                }
            }
        },
    ),
    PodShape(
        name="tolerations",
        what="tolerates dedicated=batch, and selects it",
        share=40,
        containers=(_container(250, 256),),
        spec={
            "tolerations": _tolerations("dedicated"),
            "nodeSelector": {POOL_LABEL: "batch"},
        },
        pools=("batch",),
    ),
    PodShape(
        name="host-port",
        what=f"needs port {HOST_PORT} of its Node",
        share=20,
        containers=(
            Container(requests=Resources(milli_cpu=100, memory_mib=64), host_port=HOST_PORT),
        ),
    ),
    PodShape(
        name="gpu",
        what="one GPU, tolerates its taint",
        share=20,
        containers=(_container(500, 1_024, 1),),
        spec={"tolerations": _tolerations(GPU)},
        pools=("gpu",),
    ),
    PodShape(
        name="init-container",
        what="an init container that needs 1 CPU, then 100m",
        share=30,
        containers=(_container(100, 128),),
        init_containers=(_container(1_000, 256),),
    ),
    PodShape(
        name="sidecar",
        what="a sidecar of 100m beside 200m",
        share=30,
        containers=(_container(200, 256),),
        init_containers=(
            Container(requests=Resources(milli_cpu=100, memory_mib=64), is_sidecar=True),
            _container(250, 64),
        ),
    ),
    PodShape(
        name="high-priority",
        what=f"priority {PRIORITIES[HIGH_PRIORITY]}",
        share=15,
        containers=(_container(200, 256),),
        spec={"priorityClassName": HIGH_PRIORITY},
    ),
    PodShape(
        name="low-priority",
        what=f"priority {PRIORITIES[LOW_PRIORITY]}",
        share=15,
        containers=(_container(200, 256),),
        spec={"priorityClassName": LOW_PRIORITY},
    ),
    PodShape(
        name="gated",
        what="scheduling gate, lifted halfway",
        share=20,
        containers=(_container(100, 128),),
        spec={"schedulingGates": [{"name": "demo.berthmaster.dev/halfway"}]},
        is_gated=True,
    ),
    PodShape(
        name="deployment",
        what="a burst from a Deployment",
        share=38,
        containers=(_container(100, 128),),
        from_deployment=True,
    ),
    PodShape(
        name="too-large",
        what="512 CPUs: fits nowhere",
        share=1,
        containers=(_container(512_000, 256),),
        pools=(),
        refusal="Insufficient cpu",
    ),
    PodShape(
        name="nowhere",
        what="must be in zone-z, which no Node is",
        share=1,
        containers=(_container(100, 128),),
        spec={"nodeSelector": {ZONE_LABEL: "zone-z"}},
        pools=(),
        refusal="node(s) didn't match Pod's node affinity/selector",
    ),
)

AFTER_LEADER = PodShape(
    name="after-leader",
    what="created when the leader is killed",
    share=0,
    containers=(_container(100, 128),),
)

POOL_BY_NAME = {pool.name: pool for pool in NODE_POOLS}
SHAPE_BY_NAME = {shape.name: shape for shape in (*POD_SHAPES, AFTER_LEADER)}
