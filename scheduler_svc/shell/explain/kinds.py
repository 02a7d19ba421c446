"""Which manifests say something about scheduling, and what they are decoded into."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from scheduler_svc.core.annotated_objects import AnnotatedPod
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.errors import InputError
from scheduler_svc.core.objects import ApiStruct, Node, ObjectMeta
from scheduler_svc.shell.explain.nulls import with_empty_values
from scheduler_svc.shell.scheduler_profiles.objects import KIND, RESOURCE, SchedulerProfile
from scheduler_svc.shell.views.object_views import WATCHED_KINDS

NODE: Final = "Node"
POD: Final = "Pod"
PRIORITY_CLASS: Final = "PriorityClass"
POD_GROUP: Final = "PodGroup"
SCHEDULER_PROFILE: Final = KIND
DEFAULT_NAMESPACE: Final = "default"

_CLUSTER_SCOPED: Final = frozenset(
    {
        NODE,
        PRIORITY_CLASS,
        SCHEDULER_PROFILE,
        ObjectKind.NAMESPACE,
        ObjectKind.PERSISTENT_VOLUME,
        ObjectKind.STORAGE_CLASS,
        ObjectKind.CSI_NODE,
        ObjectKind.CSI_DRIVER,
        ObjectKind.VOLUME_ATTACHMENT,
        ObjectKind.RESOURCE_SLICE,
        ObjectKind.DEVICE_CLASS,
    }
)

_IN_UTC: Final = re.compile(r"[0-9T:-]{19}Z")

Manifest = Mapping[str, Any]


class PriorityClass(ApiStruct, frozen=True):
    """What a Pod's priority name stands for, or the lack of one."""

    metadata: ObjectMeta
    value: int = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class KubernetesObject(msgspec.Struct, frozen=True):
    """A decoded object; `content` is a struct of `core.objects` or of a watched kind."""

    kind: str
    namespace: str
    name: str
    content: Any


def _object_types() -> Mapping[tuple[str, str], tuple[str, type[Any]]]:
    """Give, by apiVersion and kind, what decisions depend on: our name of the kind, the struct."""
    types: dict[tuple[str, str], tuple[str, type[Any]]] = {
        ("v1", NODE): (NODE, Node),
        # Users' plugins may read annotations.
        ("v1", POD): (POD, AnnotatedPod),
        ("scheduling.k8s.io/v1", PRIORITY_CLASS): (PRIORITY_CLASS, PriorityClass),
        (f"{RESOURCE.group}/{RESOURCE.version}", SCHEDULER_PROFILE): (
            SCHEDULER_PROFILE,
            SchedulerProfile,
        ),
    }
    for watched in WATCHED_KINDS:
        resource = watched.resource
        version = f"{resource.group}/{resource.version}" if resource.group else resource.version
        types[version, watched.api_kind] = watched.kind.value, watched.object_type
    return types


_TYPES: Final = _object_types()


def decode_manifest(manifest: Manifest) -> KubernetesObject | None:
    """Decode a manifest; None for a kind that no decision depends on.

    As the API server does, it takes null for what is not given or empty, and `default` for
    the namespace. A missing uid becomes namespace/name, which is as unique.

    Raises
    ------
    InputError
        Where the object is not what its kind says; names the object and the field.
    """
    kind = manifest["kind"]
    known = _TYPES.get((manifest["apiVersion"], kind))
    if known is None:
        return None
    our_kind, type_ = known
    metadata = _metadata(manifest)
    manifest = {**manifest, "metadata": metadata}
    try:
        content = _convert(manifest, type_)
        if isinstance(content, AnnotatedPod):
            content = _with_start_in_utc(content)
    except ValueError as error:
        raise InputError(f"{kind} {_label(metadata)}: {error}") from error
    return KubernetesObject(our_kind, metadata["namespace"], metadata["name"], content)


def _metadata(manifest: Manifest) -> dict[str, Any]:
    kind, metadata = manifest["kind"], manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if not isinstance(metadata, Mapping) or not isinstance(name, str) or not name:
        raise InputError(f"{kind}: metadata.name: a name is needed")
    namespace = "" if kind in _CLUSTER_SCOPED else metadata.get("namespace") or DEFAULT_NAMESPACE
    uid = metadata.get("uid") or f"{namespace}/{name}"
    return {**metadata, "namespace": namespace, "uid": uid}


def _convert(manifest: Manifest, type_: type[Any]) -> Any:
    try:
        return msgspec.convert(manifest, type_)
    except msgspec.ValidationError:
        return msgspec.convert(with_empty_values(manifest, type_), type_)


def _with_start_in_utc(pod: AnnotatedPod) -> AnnotatedPod:
    """Write the Pod's start as the API server does: its text is compared with others."""
    start = pod.status.start_time
    if start is None or _IN_UTC.fullmatch(start):
        return pod
    try:
        in_utc = datetime.fromisoformat(start).astimezone(UTC)
    except ValueError as error:
        raise InputError(f"{start!r} is no time - at `$.status.startTime`") from error
    status = replace(pod.status, start_time=f"{in_utc:%Y-%m-%dT%H:%M:%SZ}")
    return replace(pod, status=status)


def _label(metadata: Manifest) -> str:
    namespace, name = metadata["namespace"], metadata["name"]
    return f"{namespace}/{name}" if namespace else str(name)
