"""Questions about Pods and Nodes that more than one test asks."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_svc.core.quantity import milli_value, parse_quantity
from tests.kind.api import Object
from tests.kind.cluster import KindCluster
from tests.kind.objects import is_running
from tests.kind.waiting import TIMEOUT_SECONDS, wait_for

_FINISHED = ("Succeeded", "Failed")


def path_of_pods(namespace: str, name: str = "") -> str:
    """Give the path of a namespace's Pods, or of one of them."""
    return f"/api/v1/namespaces/{namespace}/pods{f'/{name}' if name else ''}"


def wait_running(
    cluster: KindCluster,
    namespace: str,
    count: int,
    *,
    selector: str = "",
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> list[Object]:
    """Wait until ``count`` Pods run and are ready; give them."""

    def running() -> list[Object] | None:
        pods = cluster.api.items(path_of_pods(namespace), labelSelector=selector)
        found = [pod for pod in pods if is_running(pod)]
        return found if len(found) == count else None

    what = f"{count} Pods of {namespace} run {selector}"
    return wait_for(what, running, timeout_seconds=timeout_seconds)


def wait_pod_running(cluster: KindCluster, namespace: str, name: str) -> Object:
    """Wait until a Pod runs and is ready; give it."""

    def running() -> Object | None:
        pod = cluster.api.get(path_of_pods(namespace, name))
        return pod if is_running(pod) else None

    return wait_for(f"{namespace}/{name} runs", running)


def wait_ended(cluster: KindCluster, namespace: str, name: str) -> Object:
    """Wait until a Pod's containers have run to their end; give it."""

    def ended() -> Object | None:
        pod = cluster.api.get(path_of_pods(namespace, name))
        return pod if pod["status"].get("phase") in _FINISHED else None

    return wait_for(f"{namespace}/{name} has ended", ended)


def wait_unschedulable(cluster: KindCluster, namespace: str, name: str) -> str:
    """Wait until a Pod's condition says why it fits nowhere; give its message."""

    def message() -> str | None:
        pod = cluster.api.get(path_of_pods(namespace, name))
        for condition in pod["status"].get("conditions", []):
            if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
                return str(condition["message"])
        return None

    return wait_for(f"{namespace}/{name} is told to fit nowhere", message)


def free_milli_cpu(cluster: KindCluster, node: str) -> int:
    """Give how much CPU of a Node no Pod requests, in thousandths of one."""
    stored = cluster.api.get(f"/api/v1/nodes/{node}")
    pods = cluster.api.items("/api/v1/pods", fieldSelector=f"spec.nodeName={node}")
    requested = [
        container.get("resources", {}).get("requests", {}).get("cpu", "0")
        for pod in pods
        if pod["status"].get("phase") not in _FINISHED
        for container in pod["spec"]["containers"]
    ]
    total = milli_value(parse_quantity(stored["status"]["allocatable"]["cpu"]))
    return total - sum(milli_value(parse_quantity(amount)) for amount in requested)


def nodes_of(pods: Sequence[Object]) -> list[str]:
    """List the Nodes of Pods, in order and as often as they have one."""
    return sorted(pod["spec"]["nodeName"] for pod in pods)
