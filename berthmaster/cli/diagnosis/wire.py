"""The parts of API objects that are read, as they come: names are the API's, in snake case."""

import msgspec

from node_agent.core.clock import NANOSECONDS
from node_agent.core.timestamps import unix_nanoseconds


class Wire(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Base of the decoded structs: unknown fields are skipped."""


class Metadata(Wire, frozen=True):
    """Identity of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Condition(Wire, frozen=True):
    """A condition of a Pod or a Node."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class Gate(Wire, frozen=True):
    """A scheduling gate."""

    name: str = ""


class PodSpec(Wire, frozen=True):
    """What decides in which group a Pod belongs."""

    node_name: str = ""
    scheduler_name: str = ""
    scheduling_gates: tuple[Gate, ...] | None = None


class PodStatus(Wire, frozen=True):
    """How a Pod stands."""

    phase: str = ""
    reason: str = ""
    nominated_node_name: str = ""
    conditions: tuple[Condition, ...] | None = None
    start_time: str | None = None


class Pod(Wire, frozen=True):
    """A Pod, as far as every one of them is read."""

    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def condition(self, kind: str) -> Condition | None:
        """Give a condition of its status."""
        return next((c for c in self.status.conditions or () if c.type == kind), None)


class VolumeMount(Wire, frozen=True):
    """Where a container sees a volume."""

    name: str = ""
    mount_path: str = ""


class Container(Wire, frozen=True):
    """A container of a Pod of ours."""

    name: str = ""
    image: str = ""
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    volume_mounts: tuple[VolumeMount, ...] | None = None


class KeyToPath(Wire, frozen=True):
    """A file of a ConfigMap's volume under another name."""

    key: str = ""
    path: str = ""


class ConfigMapSource(Wire, frozen=True):
    """A volume that is a ConfigMap."""

    name: str = ""
    items: tuple[KeyToPath, ...] | None = None


class Volume(Wire, frozen=True):
    """A volume of a Pod of ours."""

    name: str = ""
    config_map: ConfigMapSource | None = None


class DaemonSpec(Wire, frozen=True):
    """How a Pod of ours was started."""

    node_name: str = ""
    host_network: bool = False
    service_account_name: str = "default"
    containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] | None = None


class State(Wire, frozen=True):
    """Why a container waits, or how it ended."""

    reason: str = ""
    message: str = ""
    finished_at: str | None = None


class ContainerState(Wire, frozen=True):
    """What a container does."""

    waiting: State | None = None
    terminated: State | None = None


class ContainerStatus(Wire, frozen=True):
    """How a container of ours stands."""

    name: str = ""
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class DaemonStatus(Wire, frozen=True):
    """How a Pod of ours stands."""

    phase: str = ""
    conditions: tuple[Condition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None


class Daemon(Wire, frozen=True):
    """A Pod of ours."""

    metadata: Metadata
    spec: DaemonSpec = DaemonSpec()
    status: DaemonStatus = DaemonStatus()


class Taint(Wire, frozen=True):
    """A taint."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Wire, frozen=True):
    """What the operator says of a Node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class NodeInfo(Wire, frozen=True):
    """Versions of what runs on a Node."""

    kubelet_version: str = ""


class NodeStatus(Wire, frozen=True):
    """What the kubelet says of a Node."""

    allocatable: dict[str, str | int | float] | None = None
    conditions: tuple[Condition, ...] | None = None
    node_info: NodeInfo = NodeInfo()


class Node(Wire, frozen=True):
    """A Node."""

    metadata: Metadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Involved(Wire, frozen=True):
    """What an Event is about."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    field_path: str = ""


class EventSource(Wire, frozen=True):
    """Who wrote an Event of the old kind."""

    component: str = ""


class Series(Wire, frozen=True):
    """How often an Event has been seen."""

    count: int = 0
    last_observed_time: str | None = None


class Event(Wire, frozen=True):
    """An Event, of the new kind (eventTime, series) or the old (count, source, two times)."""

    reason: str = ""
    message: str = ""
    count: int | None = None
    reporting_component: str = ""
    source: EventSource | None = None
    involved_object: Involved = Involved()
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    series: Series | None = None


class ConfigMap(Wire, frozen=True):
    """A ConfigMap."""

    data: dict[str, str] | None = None


class DaemonSetStatus(Wire, frozen=True):
    """How many Pods there should be."""

    desired_number_scheduled: int = 0


class DaemonSet(Wire, frozen=True):
    """A DaemonSet."""

    status: DaemonSetStatus = DaemonSetStatus()


class Version(Wire, frozen=True):
    """What the API server is."""

    git_version: str = ""


class ListMetadata(msgspec.Struct, frozen=True):
    """Where a list goes on."""

    continue_token: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct, frozen=True):
    """A part of a list, its objects still as they came."""

    metadata: ListMetadata = ListMetadata()
    items: list[msgspec.Raw] | None = None


def seconds_of(text: str | None) -> float | None:
    """Read a time of the API as seconds since 1970; None where there is none."""
    nanoseconds = unix_nanoseconds(text)
    return None if nanoseconds is None else nanoseconds / NANOSECONDS
