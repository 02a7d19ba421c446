"""Pods that a kubelet refuses, told in its words on a real API server: no kubelet is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

PODS: Final = "/api/v1/namespaces/default/pods"
EVENTS: Final = "/apis/events.k8s.io/v1/namespaces/default/events"
NODE: Final = "n0"
# pkg/kubelet/kubelet.go (`rejectPod`), lifecycle/predicate.go, v1.36.3.
REFUSED: Final = (
    "Pod was rejected: Node didn't have enough resource: cpu, requested: 3000, used: 2500, "
    "capacity: 4000"
)
LESS: Final = (
    "Node n0 refused the pod: OutOfcpu. Its kubelet has 2500m cpu less than the pods here add up "
    "to: no pod is sent there for it until that is accounted for, 30 s at most."
)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    state_dir = tmp_path_factory.mktemp("refusals") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        create(
            running,
            "/api/v1/nodes",
            {"metadata": {"name": NODE}, "status": {"allocatable": room}},
        )
        yield running


def create_pod(plane: ControlPlane, name: str, cpu: str, **spec: Any) -> None:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    spec = {"schedulerName": "berthmaster", "containers": [container], **spec}
    create(plane, PODS, {"metadata": {"name": name}, "spec": spec})


def wait_bound(plane: ControlPlane, name: str) -> None:
    wait_for(f"{name} is bound", lambda: read(plane, f"{PODS}/{name}")["spec"].get("nodeName"))


def refuse(plane: ControlPlane, name: str) -> None:
    """Do as the kubelet does with a Pod that it does not admit."""
    pod = read(plane, f"{PODS}/{name}")
    pod["status"] |= {"phase": "Failed", "reason": "OutOfcpu", "message": REFUSED}
    status, stored = request(plane, "PUT", f"{PODS}/{name}/status", pod)
    assert status == 200, stored


def delete_at_once(plane: ControlPlane, name: str) -> None:
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    request(plane, "DELETE", f"{PODS}/{name}", options)


def notes(plane: ControlPlane, name: str, reason: str) -> list[str]:
    return [
        event["note"]
        for event in read(plane, EVENTS)["items"]
        if event["regarding"]["name"] == name and event["reason"] == reason
    ]


def figure(process: SchedulerProcess, name: str) -> float:
    status, text = process.get("/metrics")
    assert status == 200, text
    found = [line.split()[1] for line in text.splitlines() if line.startswith(f"{name} ")]
    return float(found[0]) if found else 0.0


def test_refused_pod_is_told_of_and_its_node_avoided_until_it_is_known_why(
    plane: ControlPlane, tmp_path: Path
) -> None:
    refused = 'berthmaster_pods_refused_total{reason="OutOfcpu"}'
    withheld = "berthmaster_withheld_nodes"
    arguments = (
        *("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0"),
        *("--bind-address", "127.0.0.1", "--authorization", "none", "-v", "2"),
    )
    with SchedulerProcess(tmp_path / "log", *arguments) as process:
        create_pod(plane, "first", "3")
        wait_bound(plane, "first")
        refuse(plane, "first")
        wait_for("it is told why", lambda: notes(plane, "first", "RefusedByKubelet"))
        assert notes(plane, "first", "RefusedByKubelet") == [LESS]
        assert (figure(process, refused), figure(process, withheld)) == (1, 1)
        line = process.wait_line("A kubelet refused a pod that was bound to it")
        assert f"pod=default/first uid={read(plane, f'{PODS}/first')['metadata']['uid']}" in line
        assert "reason=OutOfcpu" in line
        assert 'withheld="2500m cpu"' in line

        create_pod(plane, "second", "3")
        wait_for("it waits", lambda: notes(plane, "second", "FailedScheduling"))
        # A static Pod of the kubelet's, as soon as it has its mirror.
        create_pod(plane, "static", "2500m", schedulerName="", nodeName=NODE)
        wait_for("it is known why", lambda: figure(process, withheld) == 0)
        delete_at_once(plane, "static")
        wait_bound(plane, "second")
