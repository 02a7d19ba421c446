"""Pods, Nodes and clusters for tests of the core: say what matters, the rest is plain.

`make_pod` and `make_node` give the API's objects, `make_pod_info` and `make_node_info` what
the core keeps of them; both pairs take the same words. All Pods share one interner, so
that Pods alike share their shape, as they do in the scheduler.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict, Unpack

from scheduler_svc.core.affinity_objects import PodAffinity, TopologySpreadConstraint
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.framework.interface import Plugin
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import (
    Affinity,
    Container,
    ContainerImage,
    ContainerPort,
    ContainerStatus,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodCondition,
    PodSchedulingGate,
    PodSpec,
    PodStatus,
    PreferredSchedulingTerm,
    QuantityText,
    Requirement,
    ResourceRequirements,
    Taint,
    Toleration,
)
from scheduler_svc.core.plugins.priority_sort import PrioritySort
from scheduler_svc.core.pods import PodInfo, PodInterner
from scheduler_svc.core.volume_objects import ImageVolumeSource, Volume

SCHEDULER = "berthmaster"
GPU = "example.com/gpu"
MIB = 1024 * 1024

_INTERNER = PodInterner()

Amounts = Mapping[str, QuantityText]


class PodFields(TypedDict, total=False):
    """What a Pod may be given. `requests`, `ports` and `images` make one container.

    `near` and `away` are what it wants of other Pods.
    """

    namespace: str
    uid: str
    version: str
    generation: int
    labels: dict[str, str]
    is_terminating: bool
    requests: Amounts
    ports: Sequence[ContainerPort]
    images: Sequence[str]
    containers: Sequence[Container]
    init_containers: Sequence[Container]
    image_volumes: Sequence[str]
    overhead: Amounts
    pod_requests: Amounts
    pod_limits: Amounts
    node: str
    scheduler: str
    selector: dict[str, str]
    affinity: NodeAffinity
    near: PodAffinity
    away: PodAffinity
    tolerations: Sequence[Toleration]
    gates: Sequence[str]
    priority: int
    phase: str
    nominated: str
    conditions: Sequence[PodCondition]
    container_statuses: Sequence[ContainerStatus]
    init_container_statuses: Sequence[ContainerStatus]
    granted: Amounts
    allocated: Amounts
    spread: Sequence[TopologySpreadConstraint]
    owner: OwnerReference


class NodeFields(TypedDict, total=False):
    """What a Node may be given; `pods`, `cpu` and `memory` are parts of its allocatable."""

    pods: QuantityText
    cpu: QuantityText
    memory: QuantityText
    offers: Amounts
    labels: dict[str, str]
    taints: Sequence[Taint]
    unschedulable: bool
    images: Sequence[ContainerImage]


def make_container(
    name: str = "c",
    requests: Amounts | None = None,
    *,
    limits: Amounts | None = None,
    image: str = "",
    ports: Sequence[ContainerPort] = (),
    is_sidecar: bool = False,
) -> Container:
    """Build a container; a sidecar is an init container that is restarted always."""
    return Container(
        name=name,
        image=image,
        resources=_requirements(requests, limits),
        ports=tuple(ports),
        restart_policy="Always" if is_sidecar else None,
    )


def make_pod(name: str = "a", **fields: Unpack[PodFields]) -> Pod:
    """Build a Pod of `SCHEDULER` in the namespace default; its uid is `uid-` and its name."""
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=fields.get("namespace", "default"),
            uid=fields.get("uid", f"uid-{name}"),
            resource_version=fields.get("version", "1"),
            labels=fields.get("labels"),
            deletion_timestamp="2026-01-01T00:00:00Z" if fields.get("is_terminating") else None,
            owner_references=(fields["owner"],) if "owner" in fields else (),
            generation=fields.get("generation", 0),
        ),
        spec=_pod_spec(fields),
        status=PodStatus(
            phase=fields.get("phase", ""),
            conditions=tuple(fields.get("conditions", ())),
            nominated_node_name=fields.get("nominated", ""),
            container_statuses=tuple(fields.get("container_statuses", ())),
            init_container_statuses=tuple(fields.get("init_container_statuses", ())),
            resources=_requirements(fields.get("granted")),
            allocated_resources=_amounts(fields.get("allocated")),
        ),
    )


def _pod_spec(fields: PodFields) -> PodSpec:
    affinity = Affinity(fields.get("affinity"), fields.get("near"), fields.get("away"))
    return PodSpec(
        containers=tuple(fields.get("containers", ())) or _containers(fields),
        init_containers=tuple(fields.get("init_containers", ())),
        node_name=fields.get("node", ""),
        scheduler_name=fields.get("scheduler", SCHEDULER),
        node_selector=fields.get("selector"),
        affinity=None if affinity == Affinity() else affinity,
        tolerations=tuple(fields.get("tolerations", ())),
        volumes=tuple(
            Volume(image=ImageVolumeSource(name)) for name in fields.get("image_volumes", ())
        ),
        overhead=_amounts(fields.get("overhead")),
        resources=_requirements(fields.get("pod_requests"), fields.get("pod_limits")),
        scheduling_gates=tuple(PodSchedulingGate(gate) for gate in fields.get("gates", ())),
        priority=fields.get("priority"),
        topology_spread_constraints=tuple(fields.get("spread", ())),
    )


def _containers(fields: PodFields) -> tuple[Container, ...]:
    images = fields.get("images", [""])
    requests, ports = fields.get("requests"), fields.get("ports", ())
    first = make_container("c0", requests, image=images[0], ports=ports)
    rest = [make_container(f"c{i}", image=images[i]) for i in range(1, len(images))]
    return (first, *rest)


def make_pod_info(name: str = "a", **fields: Unpack[PodFields]) -> PodInfo:
    """Build a Pod as the core keeps it."""
    return _INTERNER.intern(make_pod(name, **fields))


def make_node(name: str = "n", **fields: Unpack[NodeFields]) -> Node:
    """Build a Node with room for 110 Pods, 4 CPUs and 8 GiB of memory unless told otherwise."""
    allocatable: dict[str, QuantityText] = {
        "pods": fields.get("pods", 110),
        "cpu": fields.get("cpu", 4),
        "memory": fields.get("memory", "8Gi"),
        **fields.get("offers", {}),
    }
    return Node(
        metadata=ObjectMeta(name=name, labels=fields.get("labels")),
        spec=NodeSpec(
            unschedulable=fields.get("unschedulable", False), taints=tuple(fields.get("taints", ()))
        ),
        status=NodeStatus(allocatable=allocatable, images=tuple(fields.get("images", ()))),
    )


def make_node_info(name: str = "n", **fields: Unpack[NodeFields]) -> NodeInfo:
    """Build a Node as the core keeps it."""
    return NodeInfo.from_node(make_node(name, **fields))


def make_cache(nodes: Iterable[NodeInfo] = (), pods: Iterable[PodInfo] = ()) -> Cache:
    """Build a cache of Nodes and of Pods that are on them."""
    cache = Cache(Cluster())
    for node in nodes:
        cache.set_node(node)
    for pod in pods:
        cache.upsert(pod)
    return cache


def make_cluster(nodes: Iterable[NodeInfo], pods: Iterable[PodInfo] = ()) -> Cluster:
    """Build a cluster of Nodes with Pods on them."""
    return make_cache(nodes, pods).cluster


def make_columns(nodes: Iterable[NodeInfo] = (), pods: Iterable[PodInfo] = ()) -> NodeColumns:
    """Build the columns of Nodes and of Pods that are on them."""
    return make_cache(nodes, pods).columns


def make_profile(
    points: Mapping[str, Sequence[Plugin]],
    weights: Mapping[str, int] | None = None,
    *,
    scheduler: str = SCHEDULER,
) -> Profile:
    """Build a profile of the plugins at `points`; it sorts by PrioritySort if nothing is said."""
    return Profile(scheduler, {"queueSort": [PrioritySort()], **points}, weights or {})


def required(*terms: NodeSelectorTerm) -> NodeAffinity:
    """Build a demand that one of the terms be met."""
    return NodeAffinity(required=NodeSelector(terms))


def preferred(*terms: tuple[int, NodeSelectorTerm]) -> NodeAffinity:
    """Build preferences: pairs of a weight and a term."""
    return NodeAffinity(preferred=tuple(PreferredSchedulingTerm(w, term) for w, term in terms))


def term(*expressions: Requirement, fields: Sequence[Requirement] = ()) -> NodeSelectorTerm:
    """Build a term of expressions over labels and fields."""
    return NodeSelectorTerm(expressions, tuple(fields))


def where(key: str, operator: str, *values: str) -> Requirement:
    """Build one expression, such as where("zone", "In", "a", "b")."""
    return Requirement(key, operator, values)


def at(seconds: float) -> Now:
    """Build a time; the wall clock is far away, so that mixing the two up shows."""
    return Now(monotonic_seconds=seconds, wall_seconds=1_800_000_000.0 + seconds)


def _requirements(
    requests: Amounts | None, limits: Amounts | None = None
) -> ResourceRequirements | None:
    if requests is None and limits is None:
        return None
    return ResourceRequirements(_amounts(requests), _amounts(limits))


def _amounts(amounts: Amounts | None) -> dict[str, QuantityText] | None:
    return None if amounts is None else dict(amounts)
