"""Faults of nodes, each undone afterwards: paused, killed, without their kubelet, drained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from deploy.image.engine import run_docker
from deploy.kind.chart import NAMESPACE, RELEASE
from tests.kind.cluster import KindCluster
from tests.kind.objects import is_running, is_true
from tests.kind.waiting import wait_for, wait_none

LIFECYCLE: Final = "node.kubernetes.io/"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
# The node's controller gives a kubelet 50 s to be heard of.
NOTICED_SECONDS = 120.0
WHOLE_SECONDS = 150.0


@contextmanager
def paused(node: str) -> Iterator[None]:
    """Stop everything on a node as if its machine stood still."""
    run_docker("pause", node)
    try:
        yield
    finally:
        run_docker("unpause", node)


@contextmanager
def killed(node: str) -> Iterator[None]:
    """Take the power from a node; afterwards it starts."""
    run_docker("kill", node)
    try:
        yield
    finally:
        run_docker("start", node)


@contextmanager
def without_kubelet(cluster: KindCluster, node: str) -> Iterator[None]:
    """Stop a node's kubelet; its containers go on."""
    cluster.on_node(node, "systemctl", "stop", "kubelet")
    try:
        yield
    finally:
        cluster.on_node(node, "systemctl", "start", "kubelet")


@contextmanager
def cordoned(cluster: KindCluster, node: str) -> Iterator[None]:
    """Let nothing new onto a node."""
    cluster.kubectl("cordon", node)
    try:
        yield
    finally:
        cluster.kubectl("uncordon", node)


def wait_tainted(cluster: KindCluster, node: str, key: str) -> None:
    """Wait until a Node has a taint that keeps Pods away."""

    def is_there() -> bool:
        taints = cluster.api.get(f"/api/v1/nodes/{node}")["spec"].get("taints", [])
        return any((one["key"], one["effect"]) == (key, "NoSchedule") for one in taints)

    wait_for(f"{node} is tainted {key}", is_there, timeout_seconds=NOTICED_SECONDS)


def wait_whole(cluster: KindCluster) -> None:
    """Wait until every Node is ready without taints of a fault, and all that is installed runs."""
    wait_none("what is not well", lambda: _ailing(cluster), timeout_seconds=WHOLE_SECONDS)
    own = {pod["metadata"]["name"] for pod in cluster.pods_of("scheduler")}
    wait_for("a scheduler leads", lambda: cluster.leader() in own)


def _ailing(cluster: KindCluster) -> list[str]:
    found = []
    for node in cluster.api.items("/api/v1/nodes"):
        keys = [taint["key"] for taint in node["spec"].get("taints", [])]
        if not is_true(node, "Ready") or any(key.startswith(LIFECYCLE) for key in keys):
            found.append(f"Node {node['metadata']['name']} {keys}")
    for namespace in (NAMESPACE, "kube-system"):
        found += [
            f"Pod {pod['metadata']['name']} {pod['status'].get('phase')}"
            for pod in cluster.api.items(f"/api/v1/namespaces/{namespace}/pods")
            if pod["status"].get("phase") != "Succeeded" and not is_running(pod)
        ]
    deployment = cluster.api.get(
        f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{RELEASE}-scheduler"
    )
    wanted, ready = deployment["spec"]["replicas"], deployment["status"].get("readyReplicas", 0)
    if ready != wanted:
        found.append(f"{ready} of {wanted} schedulers are ready")
    return found
