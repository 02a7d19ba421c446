"""Two Nodes of four GPUs each, and Pods that want some, for groups of Pods.

Nobody runs Pods here: one that is evicted is gone at once, since its grace period is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from deploy.controlplane import ControlPlane
from tests.integration.controller_objects import LABEL, PODS
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

NODES = "/api/v1/nodes"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berthmaster"
AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
GPU = "example.com/gpu"


@contextmanager
def two_nodes(plane: ControlPlane, groups: str) -> Iterator[ControlPlane]:
    """Give the control plane with two Nodes; leaves none of the PodGroups at that path, either."""
    for name in ("n1", "n2"):
        create_node(plane, name)
    yield plane
    request(plane, "DELETE", groups)
    wait_for("no Pods", partial(emptied, plane))
    request(plane, "DELETE", NODES)
    request(plane, "DELETE", LEASE)


def emptied(plane: ControlPlane) -> bool:
    """Delete all Pods at once; tell whether none is left."""
    pods = read(plane, PODS)["items"]
    for pod in pods:
        request(plane, "DELETE", f"{PODS}/{pod['metadata']['name']}", AT_ONCE)
    return not pods


def scheduler(plane: ControlPlane, log_path: Path, *arguments: str) -> SchedulerProcess:
    """Give a scheduler of that control plane; not started yet."""
    return SchedulerProcess(
        log_path,
        *("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0", "-v", "2"),
        *("--bind-address", "127.0.0.1", "--authorization", "none", *arguments),
    )


def create_node(plane: ControlPlane, name: str, gpus: int = 4, pods: int = 110) -> None:
    """Create a Node with more CPUs than any test wants."""
    allocatable = {"cpu": "64", "memory": "64Gi", "pods": str(pods), GPU: str(gpus)}
    create(plane, NODES, {"metadata": {"name": name}, "status": {"allocatable": allocatable}})


def create_pod(
    plane: ControlPlane,
    name: str,
    group: str = "",
    *,
    gpus: int = 2,
    priority: str = "",
    **spec: Any,
) -> None:
    """Create a Pod that wants some GPUs; `group` is the PodGroup that its label names."""
    amounts = {GPU: str(gpus)} if gpus else {}
    container = {
        "name": "c",
        "image": "x",
        "resources": {"requests": amounts, "limits": amounts},
    }
    spec = {
        "schedulerName": "berthmaster",
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        **spec,
    }
    if priority:
        spec["priorityClassName"] = priority
    labels = {LABEL: group} if group else {}
    create(plane, PODS, {"metadata": {"name": name, "labels": labels}, "spec": spec})


def create_members(plane: ControlPlane, group: str, count: int, **fields: Any) -> None:
    """Create Pods that name their PodGroup by the label."""
    for number in range(count):
        create_pod(plane, f"{group}-{number}", group, **fields)


def bound(plane: ControlPlane) -> list[str]:
    """Give the names of all Pods that have a Node."""
    pods = read(plane, PODS)["items"]
    return sorted(pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName"))


def message(plane: ControlPlane, name: str) -> str:
    """Give why a Pod is not scheduled; "" if that is not said."""
    for condition in read(plane, f"{PODS}/{name}")["status"].get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition["message"])
    return ""
