"""The agent's Pods and the kubelet's, for comparisons."""

from typing import Any

from node_agent.core.clock import Now
from node_agent.core.divergence.kubelet_view import KubeletView
from node_agent.core.known_pods import KnownPods
from node_agent.core.objects import Pod
from node_agent.core.timestamps import format_nanoseconds
from tests.unit.node_agent.core.pods import NOON_NANOSECONDS, at, make_pod


def known_of(*pods: Pod) -> KnownPods:
    known = KnownPods()
    for pod in pods:
        known.put(pod)
    return known


def view_of(
    *pods: Pod, asked: Now | None = None, running: frozenset[str] | None = None
) -> KubeletView:
    return KubeletView(pods, asked or at(1000), running)


def static_pod(
    name: str = "etcd-n", *, hash_: str = "h", seen_seconds: float = 0, **fields: Any
) -> Pod:
    """Give a static Pod as its kubelet shows it: its uid is the hash."""
    seen = format_nanoseconds(NOON_NANOSECONDS + round(seen_seconds * 1e9))
    annotations = {
        "kubernetes.io/config.source": "file",
        "kubernetes.io/config.hash": hash_,
        "kubernetes.io/config.seen": seen,
    }
    return make_pod(name, uid=fields.pop("uid", hash_), annotations=annotations, **fields)


def seen(name: str = "a", seen_seconds: float = 0, **fields: Any) -> Pod:
    """Give an API Pod as its kubelet shows it."""
    annotations = {
        **fields.pop("annotations", {}),
        "kubernetes.io/config.source": "api",
        "kubernetes.io/config.seen": format_nanoseconds(
            NOON_NANOSECONDS + round(seen_seconds * 1e9)
        ),
    }
    return make_pod(name, annotations=annotations, **fields)
