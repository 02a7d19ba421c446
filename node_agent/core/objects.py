"""The part of a Pod that the agent reads, as msgspec structs, and how one is read.

A document (JSON or YAML, already parsed) becomes a `WirePod`, which `read_pod` makes a
`Pod` of. Names are the API's, in snake case. A map that a document leaves out is `None`, a
list is `()`, a text is `""`. What the agent does not read is kept only as a digest, so that
a change of it is still seen, as the kubelet sees it, in 16 bytes instead of 7 KB.

What does not belong here: anything that is derived for one purpose (phases, QoS).
"""

import hashlib
from typing import Any, Final, TypeVar

import msgspec

DIGEST_BYTES: Final = 16

QuantityText = str | int | float
ResourceList = dict[str, QuantityText]
Document = dict[str, Any]

_Part = TypeVar("_Part")


class ApiStruct(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Base of the decoded structs: immutable, unknown fields skipped, camelCase on the wire."""


class OwnerReference(ApiStruct, frozen=True):
    """Who made the object; `controller` marks the one that looks after it."""

    kind: str
    name: str
    uid: str = ""
    api_version: str = ""
    controller: bool = False


class ObjectMeta(ApiStruct, frozen=True):
    """Identity of a Pod; times as they are written (`timestamps.unix_nanoseconds` reads them)."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None


class Toleration(ApiStruct, frozen=True):
    """Which taints a Pod accepts; an empty `key` or `effect` matches every one."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class ResourceRequirements(ApiStruct, frozen=True):
    """Requested amounts and limits, as written."""

    requests: ResourceList | None = None
    limits: ResourceList | None = None


class Probe(ApiStruct, frozen=True):
    """When the kubelet asks a container how it is; what it asks is not read."""

    initial_delay_seconds: int = 0
    period_seconds: int = 10
    failure_threshold: int = 3


class Container(ApiStruct, frozen=True):
    """A container; `restart_policy` Always makes an init container a sidecar."""

    name: str
    image: str = ""
    restart_policy: str = ""
    resources: ResourceRequirements | None = None
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None


class Volume(ApiStruct, frozen=True):
    """A volume; `kind` is the name of its source (emptyDir, configMap), "" if there is none."""

    name: str
    kind: str = ""


class PodReadinessGate(ApiStruct, frozen=True):
    """A condition that somebody else sets and Ready waits for."""

    condition_type: str


class PodSpec(ApiStruct, frozen=True):
    """What a Pod asks for."""

    node_name: str = ""
    scheduler_name: str = ""
    host_network: bool = False
    restart_policy: str = "Always"
    priority: int | None = None
    priority_class_name: str = ""
    termination_grace_period_seconds: int = 30
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    readiness_gates: tuple[PodReadinessGate, ...] = ()
    resources: ResourceRequirements | None = None


class PodCondition(ApiStruct, frozen=True):
    """A condition; `status` is True, False or Unknown, its time in whole seconds."""

    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class ContainerStateWaiting(ApiStruct, frozen=True):
    """Not running yet, or between two tries: ContainerCreating, ImagePullBackOff, …"""

    reason: str = ""
    message: str = ""


class ContainerStateRunning(ApiStruct, frozen=True):
    """Running since `started_at` (whole seconds)."""

    started_at: str | None = None


class ContainerStateTerminated(ApiStruct, frozen=True):
    """Has ended; times in whole seconds."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None


class ContainerState(ApiStruct, frozen=True):
    """One of the three; none at all means waiting."""

    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(ApiStruct, frozen=True):
    """What the kubelet says of a container; `started` says that its startup probe is passed."""

    name: str
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    image: str = ""
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodStatus(ApiStruct, frozen=True):
    """What is known of a Pod's life; `start_time` (whole seconds) is when its kubelet took it."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    start_time: str | None = None
    qos_class: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class WirePod(ApiStruct, frozen=True):
    """A Pod as a document has it, its two large parts still as they came."""

    metadata: ObjectMeta
    spec: Document | None = None
    status: Document | None = None


class WirePodList(ApiStruct, frozen=True):
    """A PodList: the API server's, the kubelet's, or a manifest's."""

    items: tuple[WirePod, ...] | None = None


class Pod(ApiStruct, frozen=True):
    """A Pod as the agent keeps it.

    `spec_digest` and `status_digest` (16 bytes) stand for the whole documents: equal digests
    mean equal documents, where null, {} and [] are equal to what is absent.
    """

    metadata: ObjectMeta
    spec: PodSpec
    status: PodStatus
    spec_digest: bytes = b""
    status_digest: bytes = b""

    @property
    def full_name(self) -> str:
        """The kubelet's name for a Pod across its sources: ``<name>_<namespace>``."""
        return f"{self.metadata.name}_{self.metadata.namespace}"


def without_status(pod: Pod) -> Pod:
    """Give a manifest's Pod without the status that the manifest may have.

    One that was made of a Pod's YAML tells what that Pod did, not what this one does.
    """
    return msgspec.structs.replace(pod, status=PodStatus())


def read_pod(wire: WirePod) -> Pod:
    """Make a Pod of its document.

    Cost: about 0.1 ms for a Pod of 7 KB.

    Raises
    ------
    msgspec.ValidationError
        A field that is read has another type; the text says which field.
    """
    spec, status = wire.spec or {}, wire.status or {}
    return Pod(
        metadata=wire.metadata,
        spec=_read_part(_with_kinds_of_volumes(_without_null(spec)), PodSpec, "spec"),
        status=_read_part(_without_null(status), PodStatus, "status"),
        spec_digest=digest(spec),
        status_digest=digest(status),
    )


def digest(document: object) -> bytes:
    """Give 16 bytes that stand for a document; null, {} and [] in it count as absent."""
    text = msgspec.json.encode(_without_empty(document), order="deterministic")
    return hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest()


def _read_part(document: Document, kind: type[_Part], name: str) -> _Part:
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise msgspec.ValidationError(str(error).replace("`$", f"`$.{name}", 1)) from error


def _with_kinds_of_volumes(spec: Document) -> Document:
    """Name each volume's source, which is the one key beside the name."""
    volumes = spec.get("volumes")
    if not isinstance(volumes, list):
        return spec
    return {**spec, "volumes": [_with_kind(volume) for volume in volumes]}


def _with_kind(volume: Any) -> Any:
    if not isinstance(volume, dict):
        return volume  # which its conversion refuses, saying where
    kinds = [key for key in volume if key != "name"]
    return {**volume, "kind": kinds[0] if kinds else ""}


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_null(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_null(item) for item in value]
    return value


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        pruned = ((key, _without_empty(item)) for key, item in value.items())
        return {key: item for key, item in pruned if item is not None and item not in ({}, [])}
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    return value
