"""Groups of Pods on a real API server: together or not at all, whatever happens meanwhile.

Nobody runs Pods here: one that is evicted is gone at once, since its grace period is 0.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.controller_objects import (
    CRDS,
    GROUPS,
    LABEL,
    PODS,
    create_group,
    define,
)
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

NODES = "/api/v1/nodes"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berthmaster"
AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
GPU = "example.com/gpu"

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def module_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane of our own; no test may leave anything behind."""
    state_dir = tmp_path_factory.mktemp("live-pod-groups") / "state"
    with ControlPlane(state_dir, reporter=Reporter()) as running:
        create(running, CLASSES, {"metadata": {"name": "high"}, "value": 10})
        yield running


@pytest.fixture
def plane(module_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give it with two Nodes of four GPUs each."""
    for name in ("n1", "n2"):
        create_node(module_plane, name)
    yield module_plane
    request(module_plane, "DELETE", GROUPS)
    wait_for("no Pods", partial(emptied, module_plane))
    request(module_plane, "DELETE", NODES)
    request(module_plane, "DELETE", LEASE)


def emptied(plane: ControlPlane) -> bool:
    pods = read(plane, PODS)["items"]
    for pod in pods:
        request(plane, "DELETE", f"{PODS}/{pod['metadata']['name']}", AT_ONCE)
    return not pods


def scheduler(plane: ControlPlane, log_path: Path, *arguments: str) -> SchedulerProcess:
    return SchedulerProcess(
        log_path,
        *("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0", "-v", "2"),
        *("--bind-address", "127.0.0.1", "--authorization", "none", *arguments),
    )


def create_node(plane: ControlPlane, name: str, gpus: int = 4, pods: int = 110) -> None:
    allocatable = {"cpu": "64", "memory": "64Gi", "pods": str(pods), GPU: str(gpus)}
    create(plane, NODES, {"metadata": {"name": name}, "status": {"allocatable": allocatable}})


def create_pod(
    plane: ControlPlane, name: str, group: str = "", gpus: int = 2, priority: str = ""
) -> None:
    amounts = {GPU: str(gpus)} if gpus else {}
    container = {
        "name": "c",
        "image": "x",
        "resources": {"requests": amounts, "limits": amounts},
    }
    spec: Manifest = {
        "schedulerName": "berthmaster",
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
    }
    if priority:
        spec["priorityClassName"] = priority
    labels = {LABEL: group} if group else {}
    create(plane, PODS, {"metadata": {"name": name, "labels": labels}, "spec": spec})


def create_members(plane: ControlPlane, group: str, count: int, **fields: Any) -> None:
    for number in range(count):
        create_pod(plane, f"{group}-{number}", group, **fields)


def bound(plane: ControlPlane) -> list[str]:
    pods = read(plane, PODS)["items"]
    return sorted(pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName"))


def message(plane: ControlPlane, name: str) -> str:
    for condition in read(plane, f"{PODS}/{name}")["status"].get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition["message"])
    return ""


@pytest.mark.timeout(240)
def test_groups_that_are_defined_while_the_scheduler_runs(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """Members wait until there are such objects, and their group is one of them."""
    with scheduler(plane, tmp_path / "log") as process:
        process.wait_line("Leading:")
        create_members(plane, "early", 2)
        create_pod(plane, "alone", gpus=1)
        wait_for("the Pod on its own is bound", lambda: bound(plane) == ["alone"])
        define(plane, CRDS / "podgroups.scheduling.x-k8s.io.yaml")
        create_group(plane, "early", 2)
        # Whether there are such objects now is asked once a minute.
        wait_for("the group is bound", lambda: len(bound(plane)) == 3, timeout_seconds=90)


def test_the_last_member_starts_the_group(defined: ControlPlane, tmp_path: Path) -> None:
    with scheduler(defined, tmp_path / "log"):
        create_group(defined, "train", 4)
        create_members(defined, "train", 3)
        create_pod(defined, "alone", gpus=0)
        wait_for("the Pod on its own is bound", lambda: "alone" in bound(defined))
        wait_for("the reason is written", lambda: bool(message(defined, "train-2")))
        assert message(defined, "train-0") == "pod group train: needs 4 Pods, has 3"
        assert bound(defined) == ["alone"]
        create_pod(defined, "train-3", "train")
        wait_for("all are bound", lambda: len(bound(defined)) == 5)


@pytest.fixture
def defined(plane: ControlPlane) -> ControlPlane:
    """Give a control plane that serves PodGroups."""
    if request(plane, "GET", GROUPS)[0] != 200:
        define(plane, CRDS / "podgroups.scheduling.x-k8s.io.yaml")
    return plane


def test_a_group_that_does_not_fit_says_why_and_holds_nothing(
    defined: ControlPlane, tmp_path: Path
) -> None:
    with scheduler(defined, tmp_path / "log"):
        create_group(defined, "large", 5)
        create_members(defined, "large", 5)
        wait_for("the reason is written", lambda: bool(message(defined, "large-4")))
        assert message(defined, "large-0").startswith(
            f"pod group large: needs 5, 4 fit: 1 lacks {GPU}; 0/2 nodes are available: "
        )
        create_group(defined, "small", 4)
        create_members(defined, "small", 4)
        wait_for("the other group is bound", lambda: len(bound(defined)) == 4)
        assert {name.split("-")[0] for name in bound(defined)} == {"small"}
        for number in range(4):
            request(defined, "DELETE", f"{PODS}/small-{number}", AT_ONCE)
        create_node(defined, "n3")
        wait_for("the group has its room", lambda: len(bound(defined)) == 5)
        assert {name.split("-")[0] for name in bound(defined)} == {"large"}


def test_pods_are_evicted_only_if_the_whole_group_fits(
    defined: ControlPlane, tmp_path: Path
) -> None:
    with scheduler(defined, tmp_path / "log"):
        for number in range(4):
            create_pod(defined, f"low-{number}")
        wait_for("the Nodes are full", lambda: len(bound(defined)) == 4)
        create_group(defined, "many", 5)
        create_members(defined, "many", 5, priority="high")
        wait_for("the reason is written", lambda: bool(message(defined, "many-4")))
        assert len(bound(defined)) == 4
        create_group(defined, "enough", 3)
        create_members(defined, "enough", 3, priority="high")
        wait_for(
            "the group is bound",
            lambda: {f"enough-{n}" for n in range(3)} <= set(bound(defined)),
        )
        assert len([name for name in bound(defined) if name.startswith("low")]) == 1


def test_a_scheduler_that_is_killed_while_a_group_is_bound(
    defined: ControlPlane, tmp_path: Path
) -> None:
    """The next one completes the group, though its rest is less than the group needs."""
    create_group(defined, "big", 200)
    create_members(defined, "big", 200, gpus=0)
    with scheduler(defined, tmp_path / "first", "--bind-concurrency", "1") as process:
        wait_for("some are bound", lambda: len(bound(defined)) > 0)
        process.send_signal(signal.SIGKILL)
        process.wait_exit()
    request(defined, "DELETE", LEASE)
    with scheduler(defined, tmp_path / "second"):
        wait_for("all are bound", lambda: len(bound(defined)) == 200)
