"""The part of Kubernetes' API objects that scheduling reads, as msgspec structs.

The structs are decoded straight from the API server's JSON: fields that are not
named here are skipped by the decoder and cost nothing further. Names are the
API's, in snake case. A map that the API leaves out is `None`, a list is `()`.

What does not belong here: anything derived (`pods`, `columns`).
"""

import msgspec

from scheduler_svc.core.affinity_objects import Int32, Int64, PodAffinity, TopologySpreadConstraint
from scheduler_svc.core.volume_objects import Volume

QuantityText = str | int | float
ResourceList = dict[str, QuantityText]


class ApiStruct(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Base of the decoded structs: immutable, unknown fields skipped, camelCase on the wire."""


class OwnerReference(ApiStruct, frozen=True):
    """An object that this one belongs to; at most one is its controller."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(ApiStruct, frozen=True):
    """Identity of an object."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] = ()
    generation: int = 0


class Toleration(ApiStruct, frozen=True):
    """Of a Pod: which taints it accepts. An empty `effect` or `key` matches every one."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Taint(ApiStruct, frozen=True):
    """Of a Node: who may not (`NoSchedule`, `NoExecute`) or had better not come."""

    key: str
    effect: str
    value: str = ""


class Requirement(ApiStruct, frozen=True):
    """An expression of a selector; `operator`: In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(ApiStruct, frozen=True):
    """Expressions and fields that must all hold; an empty term matches no Node."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(ApiStruct, frozen=True):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(ApiStruct, frozen=True):
    """A term that adds `weight` (1 to 100) to a Node it matches."""

    weight: Int32
    preference: NodeSelectorTerm


class NodeAffinity(ApiStruct, frozen=True):
    """What a Pod demands and prefers of its Node's labels; `preferred` may be an empty list."""

    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[PreferredSchedulingTerm, ...] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(ApiStruct, frozen=True):
    """Placement rules of a Pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class ContainerPort(ApiStruct, frozen=True):
    """A port of a container; `host_port` 0 means that none is taken on the Node."""

    host_port: Int32 = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class ResourceRequirements(ApiStruct, frozen=True):
    """Requested amounts; limits play no part in scheduling, they are only shown."""

    requests: ResourceList | None = None
    limits: ResourceList | None = None


class ContainerRestartRule(ApiStruct, frozen=True):
    """What happens when a container ends in some way: `action`."""

    action: str = ""


class Container(ApiStruct, frozen=True):
    """A container; `restart_policy` Always makes an init container a sidecar."""

    name: str
    image: str = ""
    resources: ResourceRequirements | None = None
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()


class PodSchedulingGate(ApiStruct, frozen=True):
    """While a Pod has one, it is not scheduled."""

    name: str


class PodResourceClaim(ApiStruct, frozen=True):
    """A claim for devices: one that exists, or one made for this Pod from a template."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(ApiStruct, frozen=True):
    """The PodGroup (`scheduling.k8s.io`) that a Pod is a member of."""

    pod_group_name: str | None = None


class PodSpec(ApiStruct, frozen=True):
    """What a Pod asks for."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    volumes: tuple[Volume, ...] = ()
    overhead: ResourceList | None = None
    resources: ResourceRequirements | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    priority: Int32 | None = None
    preemption_policy: str | None = None
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    host_network: bool = False
    host_users: bool | None = None
    scheduling_group: PodSchedulingGroup | None = None


class ContainerStatus(ApiStruct, frozen=True):
    """What the kubelet has granted a container, for resizes in place."""

    name: str
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None


class PodCondition(ApiStruct, frozen=True):
    """A condition; `status` is True, False or Unknown."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class PodResourceClaimStatus(ApiStruct, frozen=True):
    """The claim made for the Pod's claim `name`; none if it turned out not to need one."""

    name: str
    resource_claim_name: str | None = None


class PodStatus(ApiStruct, frozen=True):
    """What is known of a Pod's life."""

    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    nominated_node_name: str = ""
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None
    start_time: str | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()


class Pod(ApiStruct, frozen=True):
    """A Pod as the API server tells it."""

    metadata: ObjectMeta
    spec: PodSpec
    status: PodStatus = PodStatus()


class ContainerImage(ApiStruct, frozen=True):
    """An image that a Node has, under all its names."""

    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeSpec(ApiStruct, frozen=True):
    """What the operator says of a Node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(ApiStruct, frozen=True):
    """What the kubelet says of a Node."""

    allocatable: ResourceList | None = None
    images: tuple[ContainerImage, ...] | None = None
    declared_features: tuple[str, ...] = ()


class Node(ApiStruct, frozen=True):
    """A Node as the API server tells it."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Namespace(ApiStruct, frozen=True):
    """A Namespace: affinity terms select on its labels."""

    metadata: ObjectMeta


class PriorityClass(ApiStruct, frozen=True):
    """A PriorityClass: what a Pod's priority name stands for."""

    metadata: ObjectMeta
    value: int = 0
    preemption_policy: str = "PreemptLowerPriority"
