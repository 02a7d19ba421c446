"""Makes a Pod of a manifest as the kubelet does: defaults, name suffix, uid, refusals.

Source: pkg/kubelet/config/common.go, v1.36.3. Difference: a uid that a manifest does not give
is a digest of our own over the same things (content, node, place), since the kubelet's is a
hash of Go's view of the Pod; so it changes when the kubelet's does, and never equals it.
"""

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from node_agent.core.manifest_rules import api_references, mistakes
from node_agent.core.objects import Document, Pod, WirePod, digest, read_pod
from node_agent.core.operations import HASH_ANNOTATION, Source

_UID_BYTES: Final = 16
_SHOWN_MISTAKES: Final = 5
_NO_EXECUTE: Final = {"operator": "Exists", "effect": "NoExecute"}
_POD_DEFAULTS: Final[Mapping[str, Any]] = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "enableServiceLinks": True,
    "securityContext": {},
}


class RefusalReason(StrEnum):
    """Why a manifest gives no Pod; label value of a metric."""

    UNREADABLE = "unreadable"
    DIRECTORY = "directory"
    NOT_REGULAR = "not_regular"
    TOO_BIG = "too_big"
    UNPARSABLE = "unparsable"
    WRONG_KIND = "wrong_kind"
    INVALID = "invalid"
    API_REFERENCE = "api_reference"
    DUPLICATE = "duplicate"


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """A manifest that gives no Pod; `message` says where and what is allowed, in one line."""

    reason: RefusalReason
    message: str


class Origin(msgspec.Struct, frozen=True, gc=False):
    """Where a manifest is: a file's full path, or a URL."""

    source: Source
    location: str


def static_pod(document: object, origin: Origin, node_name: str) -> Pod | Refusal:
    """Make a static Pod of a manifest's one document."""
    checked = _of_kind(document, "Pod")
    return checked if isinstance(checked, Refusal) else _pod(checked, origin, node_name)


def static_pods(document: object, origin: Origin, node_name: str) -> tuple[Pod, ...] | Refusal:
    """Make static Pods of a document that is a Pod or a PodList.

    One bad Pod in a list spoils all of it, as in the kubelet. The Pods of a list need not say
    that they are Pods.
    """
    if not isinstance(document, dict) or document.get("kind") != "PodList":
        pod = static_pod(document, origin, node_name)
        return pod if isinstance(pod, Refusal) else (pod,)
    checked = _of_kind(document, "PodList")
    if isinstance(checked, Refusal):
        return checked
    items = checked.get("items") or []
    if not isinstance(items, list):
        return Refusal(RefusalReason.INVALID, "items: a list of Pods is required")
    pods: list[Pod] = []
    for number, item in enumerate(items):
        made = _pod(item, origin, node_name)
        if isinstance(made, Refusal):
            return Refusal(made.reason, f"items[{number}]: {made.message}")
        pods.append(made)
    return tuple(pods)


def _of_kind(document: object, kind: str) -> Document | Refusal:
    if not isinstance(document, dict):
        return Refusal(
            RefusalReason.WRONG_KIND, f"a {kind} is required, not {type(document).__name__}"
        )
    said = (document.get("apiVersion"), document.get("kind"))
    if said == ("v1", kind):
        return document
    return Refusal(
        RefusalReason.WRONG_KIND,
        f"apiVersion v1 and kind {kind} are required, not {said[0]!r} and {said[1]!r}",
    )


def _pod(document: Any, origin: Origin, node_name: str) -> Pod | Refusal:
    try:
        document = _with_metadata(document)
        wire = msgspec.convert(document, WirePod)
        read_pod(wire)  # so that what follows meets no field of another type
    except msgspec.ValidationError as error:
        return Refusal(RefusalReason.INVALID, str(error))
    if not wire.metadata.name:
        return Refusal(RefusalReason.INVALID, "metadata.name: a name is required")
    uid = wire.metadata.uid or _uid(document, origin, node_name)
    metadata: Document = {
        **document["metadata"],
        "uid": uid,
        "name": f"{wire.metadata.name}-{node_name.lower()}",
        "namespace": wire.metadata.namespace or "default",
        "annotations": {**(wire.metadata.annotations or {}), HASH_ANNOTATION: uid},
    }
    spec = _with_defaults(wire.spec or {}, node_name, is_file=origin.source is Source.FILE)
    if found := list(mistakes(metadata, spec)):
        more = [f"and {len(found) - _SHOWN_MISTAKES} more"] if len(found) > _SHOWN_MISTAKES else []
        return Refusal(RefusalReason.INVALID, "; ".join([*found[:_SHOWN_MISTAKES], *more]))
    if places := list(api_references(spec)):
        return Refusal(
            RefusalReason.API_REFERENCE,
            f"{', '.join(places)}: a static Pod may not refer to other API objects",
        )
    status = {**(wire.status or {}), "phase": "Pending"}
    return read_pod(
        msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, WirePod)
    )


def _with_metadata(document: Any) -> Any:
    """Leave out what is null of the metadata, which may be missing altogether.

    A label or an annotation of no value has an empty one, as Go reads it.
    """
    if not isinstance(document, dict):
        return document
    metadata = document.get("metadata")
    if isinstance(metadata, dict):
        metadata = {key: value for key, value in metadata.items() if value is not None}
        for field in ("labels", "annotations"):
            texts = metadata.get(field)
            if isinstance(texts, dict):
                filled = {key: "" if text is None else text for key, text in texts.items()}
                metadata[field] = filled
    return {**document, "metadata": {} if metadata is None else metadata}


def _uid(document: Document, origin: Origin, node_name: str) -> str:
    parts = (digest(document).hex(), f"host:{node_name}", f"{origin.source}:{origin.location}")
    text = "\n".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=_UID_BYTES).hexdigest()


def _with_defaults(spec: Document, node_name: str, *, is_file: bool) -> Document:
    """Fill in what the API server would have, and what the kubelet adds."""
    given = {key: value for key, value in spec.items() if value is not None}
    filled = {**_POD_DEFAULTS, **given, "nodeName": node_name}
    if filled["terminationGracePeriodSeconds"] < 0:
        filled["terminationGracePeriodSeconds"] = 1
    if filled.get("volumes"):
        filled["volumes"] = [_volume_with_default(one) for one in filled["volumes"]]
    for field in ("initContainers", "containers"):
        containers = filled.get(field)
        if containers:
            filled[field] = [_container_with_defaults(one) for one in containers]
    if is_file:
        filled["tolerations"] = _tolerating_no_execute(filled.get("tolerations") or [])
    return filled


def _tolerating_no_execute(tolerations: list[Document]) -> list[Document]:
    """Add the toleration of static Pods, in the place of one that differs in its time only."""

    def is_alike(toleration: Document) -> bool:
        words = {key: value for key, value in toleration.items() if key != "tolerationSeconds"}
        return {key: value for key, value in words.items() if value} == _NO_EXECUTE

    if not any(is_alike(toleration) for toleration in tolerations):
        return [*tolerations, _NO_EXECUTE]
    return [_NO_EXECUTE if is_alike(toleration) else toleration for toleration in tolerations]


def _volume_with_default(volume: Document) -> Document:
    """Make a volume of no kind an emptyDir."""
    kinds = [key for key, value in volume.items() if key != "name" and value is not None]
    return volume if kinds else {"name": volume.get("name"), "emptyDir": {}}


def _container_with_defaults(container: Document) -> Document:
    pulls_always = _tag(container.get("image") or "") == "latest"
    given = {key: value for key, value in container.items() if value is not None}
    return {
        "imagePullPolicy": "Always" if pulls_always else "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "resources": {},
        **given,
    }


def _tag(image: str) -> str:
    """Give an image's tag; without tag and digest it is ``latest``."""
    name, _, image_digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return tag or ("" if image_digest else "latest")
