"""What has been seen of Pods and Nodes, and when; pure.

Times are monotonic seconds at which the demonstration's own watch received the news. They are late
by what the API server and this process take, the same for every step of a Pod's way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from deploy.demo.shapes import SHAPE_LABEL


class Metadata(msgspec.Struct, rename="camel", gc=False):
    """Metadata, as far as they are read here."""

    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}


class Condition(msgspec.Struct, gc=False):
    """A condition of a Pod or a Node."""

    type: str
    status: str
    reason: str = ""


class PodSpec(msgspec.Struct, rename="camel", gc=False):
    """A Pod's spec, as far as it is read here."""

    node_name: str = ""
    scheduling_gates: list[dict[str, str]] = []


class PodStatus(msgspec.Struct, gc=False):
    """A Pod's status, as far as it is read here."""

    phase: str = "Pending"
    conditions: list[Condition] = []


class Pod(msgspec.Struct, gc=False):
    """A Pod, as a watch tells of it."""

    metadata: Metadata
    spec: PodSpec
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class Taint(msgspec.Struct, gc=False):
    """A taint of a Node."""

    key: str
    effect: str


class NodeSpec(msgspec.Struct, gc=False):
    """A Node's spec, as far as it is read here."""

    taints: list[Taint] = []


class NodeStatus(msgspec.Struct, gc=False):
    """A Node's status, as far as it is read here."""

    conditions: list[Condition] = []


class Node(msgspec.Struct, gc=False):
    """A Node, as a watch tells of it."""

    metadata: Metadata
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)

    @property
    def is_ready(self) -> bool:
        """Ready, and not tainted as not ready any more."""
        ready = any(c.type == "Ready" and c.status == "True" for c in self.status.conditions)
        return ready and not any(t.key == "node.kubernetes.io/not-ready" for t in self.spec.taints)


class Regarding(msgspec.Struct, gc=False):
    """Which object an event is about."""

    name: str = ""


class Event(msgspec.Struct, gc=False):
    """An event of ``events.k8s.io/v1``."""

    metadata: Metadata
    regarding: Regarding = msgspec.field(default_factory=Regarding)
    reason: str = ""
    note: str = ""


class ServiceAccount(msgspec.Struct, gc=False):
    """A service account; that it exists is all that matters."""

    metadata: Metadata


class PodState(StrEnum):
    """How far a Pod has come."""

    GATED = "Gated"
    PENDING = "Pending"
    UNSCHEDULABLE = "Unschedulable"
    BOUND = "Bound"
    RUNNING = "Running"
    ENDED = "Ended"


@dataclass(slots=True, kw_only=True)
class PodRecord:
    """A Pod's way.

    Attributes
    ----------
    shape
        Value of the Pod's shape label, "" where it has none.
    nodes
        Every Node that it has been seen bound to, in order.
    bound_seconds
        When it was first seen with a Node, None before.
    """

    name: str
    shape: str
    created_seconds: float
    nodes: list[str] = field(default_factory=list)
    bound_seconds: float | None = None
    state: PodState = PodState.PENDING

    @property
    def node(self) -> str:
        """The Node that the Pod is bound to, "" where it is not."""
        return self.nodes[-1] if self.nodes else ""

    @property
    def moved(self) -> bool:
        """Whether it has been on more than one Node, which must never be."""
        return len(self.nodes) > 1

    def note(self, pod: Pod, now_seconds: float) -> None:
        """Take in a newer state of the Pod."""
        self.state = state_of(pod)
        if pod.spec.node_name and pod.spec.node_name != self.node:
            self.nodes.append(pod.spec.node_name)
        if self.nodes and self.bound_seconds is None:
            self.bound_seconds = now_seconds


def state_of(pod: Pod) -> PodState:
    """Say how far a Pod has come."""
    if pod.status.phase == "Running":
        return PodState.RUNNING
    if pod.status.phase != "Pending":
        return PodState.ENDED
    if pod.spec.node_name:
        return PodState.BOUND
    if pod.spec.scheduling_gates:
        return PodState.GATED
    reasons = [c.reason for c in pod.status.conditions if c.type == "PodScheduled"]
    return PodState.UNSCHEDULABLE if "Unschedulable" in reasons else PodState.PENDING


def new_record(pod: Pod, now_seconds: float) -> PodRecord:
    """Begin the record of a Pod that is seen for the first time."""
    record = PodRecord(
        name=pod.metadata.name,
        shape=pod.metadata.labels.get(SHAPE_LABEL, ""),
        created_seconds=now_seconds,
    )
    record.note(pod, now_seconds)
    return record
