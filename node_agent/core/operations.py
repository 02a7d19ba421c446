"""What a source of Pods can be, and what a change of its list can mean.

The words are those of Kubernetes ``pkg/kubelet/types`` (1.36.3): there is no SET, since every
source hands over its whole list each time.
"""

from enum import StrEnum
from typing import Final

import msgspec

from node_agent.core.objects import Pod

SOURCE_ANNOTATION: Final = "kubernetes.io/config.source"
SEEN_ANNOTATION: Final = "kubernetes.io/config.seen"
HASH_ANNOTATION: Final = "kubernetes.io/config.hash"
MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"


class Source(StrEnum):
    """Where a Pod comes from; the order is that of registration in the kubelet."""

    FILE = "file"
    HTTP = "http"
    API = "api"


class Operation(StrEnum):
    """What has become of a Pod in its source's list.

    `DELETE`: it is being deleted gracefully, and still there. `REMOVE`: it is gone from the
    list. `RECONCILE`: only its status has changed.
    """

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    REMOVE = "REMOVE"
    RECONCILE = "RECONCILE"


class PodUpdate(msgspec.Struct, frozen=True, gc=False):
    """One operation on Pods of one source; an `ADD` of no Pods says only that there are none."""

    source: Source
    operation: Operation
    pods: tuple[Pod, ...]


def annotation(pod: Pod, key: str) -> str | None:
    """Give a Pod's annotation, None without."""
    annotations = pod.metadata.annotations
    return None if annotations is None else annotations.get(key)


def is_mirror(pod: Pod) -> bool:
    """Whether this is the API server's copy of a static Pod: the annotation's presence says so."""
    return annotation(pod, MIRROR_ANNOTATION) is not None


def is_static(pod: Pod) -> bool:
    """Whether a Pod that went through `pod_config` came from a manifest, by file or HTTP."""
    return annotation(pod, SOURCE_ANNOTATION) in (Source.FILE, Source.HTTP)
