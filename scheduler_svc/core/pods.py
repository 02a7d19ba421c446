"""Pods as the scheduler keeps them: small, and shared where they are alike.

A decoded Pod is some 8 KiB of structs; a cluster has 150,000 of them in a few
thousand kinds. What repeats among the Pods of a ReplicaSet or Job is kept once as a
`PodShape`, found by the encoded bytes of the fields it is made of (token volume
names, StatefulSet labels and the like are not among them). A `PodInfo` is the rest:
identity, and what changes in a Pod's life.

Shapes are compared by identity: equal fields give the same object, as long as
some Pod keeps it alive.
"""

import weakref
from collections.abc import Iterator
from typing import Final

import msgspec

from scheduler_svc.core.affinity_objects import TopologySpreadConstraint
from scheduler_svc.core.affinity_rules import AffinityRules, affinity_rules
from scheduler_svc.core.annotated_objects import AnnotatedPod
from scheduler_svc.core.declared_features import required_features
from scheduler_svc.core.group_objects import POD_GROUP_LABEL, GroupApi, GroupName
from scheduler_svc.core.objects import (
    Affinity,
    Container,
    OwnerReference,
    Pod,
    PodCondition,
    PodSpec,
    Toleration,
)
from scheduler_svc.core.resources import (
    ContainerRequests,
    Requests,
    extended_requests,
    pod_limits,
    pod_requests,
)
from scheduler_svc.core.volume_objects import Volume

Labels = tuple[tuple[str, str], ...]
HostPort = tuple[str, int, str]  # protocol, port, address

# All are forgotten beyond that: each Pod of a StatefulSet has labels of its own.
_MAX_LABEL_SETS: Final = 65536
_TERMINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})


class PodShape(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """What the plugins read of a Pod's specification; one object for all Pods alike in it.

    `requests` follow the specification alone (`resources.pod_requests`);
    `container_requests` leave Pod-level requests out. `images` lists init and regular
    containers' images and image volumes, normalized, in order and with repetitions.
    `required_features` are those the kubelet must have; `extended_requests` is what each init
    and regular container requests, for Pods that request extended resources. `limits` are for
    users only, as `resources.pod_limits` gives them.
    """

    scheduler_name: str
    priority: int
    node_selector: Labels | None
    affinity: Affinity | None
    tolerations: tuple[Toleration, ...]
    requests: Requests
    container_requests: Requests
    host_ports: tuple[HostPort, ...]
    images: tuple[str, ...]
    container_count: int
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    may_preempt: bool = True
    affinity_rules: AffinityRules | None = None
    required_features: tuple[str, ...] = ()
    extended_requests: tuple[ContainerRequests, ...] = ()
    limits: tuple[tuple[str, int], ...] = ()


class PodClaim(msgspec.Struct, frozen=True, gc=False):
    """A claim for devices, `name` within the Pod.

    `claim_name` is the ResourceClaim's; None while one that a controller makes from a
    template is not there yet, "" when it turned out that none is needed.
    """

    name: str
    claim_name: str | None
    is_generated: bool = False


class PodInfo(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One Pod: who it is, where it is, and its shape.

    `requests` are what it takes on its Node: the shape's, or more during a resize.
    `generation` counts changes of the specification. `condition` is the reason and message of
    PodScheduled=False, where it is set. `owner` is
    the controller's reference, `volumes` are those that may keep the Pod from some Nodes.
    `start_time` is RFC 3339 in UTC, so that texts compare as times. `is_preempted`: the
    scheduler has evicted it, and it has not ended yet. `annotations` are those that somebody
    asked the `PodInterner` to keep. `group` is the PodGroup that it names, whether or not there is
    one.
    """

    namespace: str
    name: str
    uid: str
    resource_version: str
    shape: PodShape
    requests: Requests
    labels: Labels = ()
    node_name: str = ""
    nominated_node_name: str = ""
    scheduling_gates: tuple[str, ...] = ()
    condition: tuple[str, str] | None = None
    is_terminating: bool = False
    is_finished: bool = False
    is_preempted: bool = False
    owner: OwnerReference | None = None
    start_time: str | None = None
    volumes: tuple[Volume, ...] = ()
    claims: tuple[PodClaim, ...] = ()
    annotations: Labels = ()
    generation: int = 0
    group: GroupName | None = None

    @property
    def key(self) -> str:
        """The Pod's name for people: namespace/name."""
        return f"{self.namespace}/{self.name}"

    @property
    def priority(self) -> int:
        """The priority that admission resolved; 0 without one."""
        return self.shape.priority

    @property
    def scheduler_name(self) -> str:
        """Which profile is to schedule the Pod."""
        return self.shape.scheduler_name


class PodInterner:
    """Turns decoded Pods into `PodInfo`s that share what they have in common.

    Annotations are kept only if they are named, and the Pods are `AnnotatedPod`s.
    Shapes and label sets are held weakly or in bounded tables, so that kinds of Pods
    that are gone cost nothing. Cost: about 5 µs for a known shape.
    """

    def __init__(self, annotations: frozenset[str] = frozenset()) -> None:
        self._kept_annotations = annotations
        self._shapes: weakref.WeakValueDictionary[bytes, PodShape] = weakref.WeakValueDictionary()
        self._labels: dict[Labels, Labels] = {}
        self._owners: dict[OwnerReference, OwnerReference] = {}
        self._encode = msgspec.msgpack.Encoder().encode

    def intern(self, pod: Pod) -> PodInfo:
        """Give the compact record of `pod`. Raises `InputError` for an unreadable quantity."""
        meta, spec, status = pod.metadata, pod.spec, pod.status
        shape = self._shape(pod)
        requests = shape.requests
        if spec.node_name and _has_grants(pod):
            actual = pod_requests(pod, with_status=True)
            requests = requests if actual == requests else actual
        return PodInfo(
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            resource_version=meta.resource_version,
            shape=shape,
            requests=requests,
            labels=self._intern_labels(meta.labels),
            node_name=spec.node_name,
            nominated_node_name=status.nominated_node_name,
            scheduling_gates=tuple(gate.name for gate in spec.scheduling_gates),
            condition=None if spec.node_name else _unscheduled_condition(status.conditions),
            is_terminating=meta.deletion_timestamp is not None,
            is_finished=status.phase in _TERMINAL_PHASES,
            is_preempted=_is_preempted(status.conditions),
            owner=self._intern_owner(meta.owner_references),
            start_time=status.start_time,
            volumes=tuple(volume for volume in spec.volumes if volume.is_tied),
            claims=_claims(pod) if spec.resource_claims else (),
            annotations=self._annotations(pod) if self._kept_annotations else (),
            generation=meta.generation,
            group=_group(pod),
        )

    def _shape(self, pod: Pod) -> PodShape:
        spec = pod.spec
        image_volumes = [volume.image for volume in spec.volumes if volume.image is not None]
        key = self._encode(
            (
                spec.scheduler_name,
                spec.priority,
                spec.node_selector,
                spec.affinity,
                spec.tolerations,
                spec.containers,
                spec.init_containers,
                spec.overhead,
                spec.resources,
                spec.topology_spread_constraints,
                spec.preemption_policy,
                spec.host_network,
                spec.host_users,
                image_volumes,
            )
        )
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _shape_of(pod)
        return shape

    def _intern_labels(self, labels: dict[str, str] | None) -> Labels:
        if not labels:
            return ()
        pairs = tuple(labels.items())
        if len(self._labels) == _MAX_LABEL_SETS:
            self._labels.clear()
        return self._labels.setdefault(pairs, pairs)

    def _annotations(self, pod: Pod) -> Labels:
        if not isinstance(pod, AnnotatedPod):
            return ()
        given = pod.metadata.annotations or {}
        kept = {key: given[key] for key in sorted(self._kept_annotations) if key in given}
        return self._intern_labels(kept)

    def _intern_owner(self, references: tuple[OwnerReference, ...]) -> OwnerReference | None:
        for reference in references:
            if reference.controller:
                if len(self._owners) == _MAX_LABEL_SETS:
                    self._owners.clear()
                return self._owners.setdefault(reference, reference)
        return None


def _shape_of(pod: Pod) -> PodShape:
    spec = pod.spec
    requests = pod_requests(pod)
    return PodShape(
        scheduler_name=spec.scheduler_name,
        priority=spec.priority or 0,
        node_selector=None if spec.node_selector is None else tuple(spec.node_selector.items()),
        affinity=spec.affinity,
        tolerations=spec.tolerations,
        requests=requests,
        container_requests=pod_requests(pod, with_pod_level=False) if spec.resources else requests,
        host_ports=tuple(_host_ports(spec)),
        images=tuple(_images(spec)),
        container_count=len(spec.containers) + len(spec.init_containers),
        topology_spread_constraints=spec.topology_spread_constraints,
        may_preempt=spec.preemption_policy != "Never",
        affinity_rules=affinity_rules(spec.affinity),
        required_features=required_features(spec),
        extended_requests=extended_requests(spec),
        limits=pod_limits(spec),
    )


def _has_grants(pod: Pod) -> bool:
    status = pod.status
    return status.resources is not None or any(
        s.resources is not None
        for s in (*status.container_statuses, *status.init_container_statuses)
    )


def _unscheduled_condition(conditions: tuple[PodCondition, ...]) -> tuple[str, str] | None:
    for condition in conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            return (condition.reason, condition.message)
    return None


def _is_preempted(conditions: tuple[PodCondition, ...]) -> bool:
    return any(
        c.type == "DisruptionTarget" and c.status == "True" and c.reason == "PreemptionByScheduler"
        for c in conditions
    )


def _group(pod: Pod) -> GroupName | None:
    """Give the PodGroup that a Pod names; the field counts before the label."""
    meta, built_in = pod.metadata, pod.spec.scheduling_group
    if built_in is not None and built_in.pod_group_name:
        return GroupName(GroupApi.BUILT_IN, meta.namespace, built_in.pod_group_name)
    name = meta.labels.get(POD_GROUP_LABEL) if meta.labels else None
    return GroupName(GroupApi.SCHEDULER_PLUGINS, meta.namespace, name) if name else None


def _claims(pod: Pod) -> tuple[PodClaim, ...]:
    generated = {s.name: s.resource_claim_name or "" for s in pod.status.resource_claim_statuses}
    return tuple(
        PodClaim(claim.name, claim.resource_claim_name)
        if claim.resource_claim_name is not None
        else PodClaim(claim.name, generated.get(claim.name), is_generated=True)
        for claim in pod.spec.resource_claims
    )


def _host_ports(spec: PodSpec) -> Iterator[HostPort]:
    """Give the ports taken on the Node (pkg/scheduler/util/utils.go `GetHostPorts`, v1.36.3)."""
    sidecars = (c for c in spec.init_containers if c.restart_policy == "Always")
    for container in (*spec.containers, *sidecars):
        for port in container.ports:
            if port.host_port > 0:
                yield (port.protocol or "TCP", port.host_port, port.host_ip or "0.0.0.0")  # noqa: S104 - the API's word for every address


def _images(spec: PodSpec) -> Iterator[str]:
    containers: tuple[Container, ...] = (*spec.init_containers, *spec.containers)
    for container in containers:
        yield normalized_image_name(container.image)
    for volume in spec.volumes:
        if volume.image is not None:
            yield normalized_image_name(volume.image.reference)


def normalized_image_name(name: str) -> str:
    """Add the tag `latest` where no tag or digest is given, as Nodes list their images."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"
