"""Pods that are to be spread, on a real API server: placed, kept waiting, called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

NODES = "/api/v1/nodes"
PODS, SERVICES = (f"/api/v1/namespaces/default/{plural}" for plural in ("pods", "services"))
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berthmaster"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
TURNED_AWAY = "0/3 nodes are available: 3 node(s) didn't match pod topology spread constraints."

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def module_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane of our own: other modules' Nodes would be domains here."""
    state_dir = tmp_path_factory.mktemp("live-spread") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        yield running


@pytest.fixture
def plane(module_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give it with two Nodes in zone a, one of them large, and one in zone b."""
    for name, zone, cpu in (("a1", "a", "64"), ("a2", "a", "4"), ("b1", "b", "4")):
        create_node(module_plane, name, zone, cpu)
    yield module_plane
    for path in (PODS, NODES):
        request(module_plane, "DELETE", path, AT_ONCE)
    request(module_plane, "DELETE", LEASE)
    wait_for("all Pods are gone", lambda: read(module_plane, PODS)["items"] == [])


def create_node(plane: ControlPlane, name: str, zone: str, cpu: str = "4") -> None:
    labels = {HOST: name, ZONE: zone}
    allocatable = {"cpu": cpu, "memory": f"{2 * int(cpu)}Gi", "pods": "110"}
    node = {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}}
    create(plane, NODES, node)


def create_pods(plane: ControlPlane, *names: str, app: str, **constraint: Any) -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
        **constraint,
    }
    for name in names:
        spec = {
            "schedulerName": "berthmaster",
            "containers": [{"name": "c", "image": "x"}],
            "topologySpreadConstraints": [spread] if constraint else [],
        }
        create(plane, PODS, {"metadata": {"name": name, "labels": {"app": app}}, "spec": spec})


def scheduler(plane: ControlPlane, directory: Path) -> SchedulerProcess:
    return SchedulerProcess(
        directory / "log",
        *("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0", "-v", "2"),
        *("--bind-address", "127.0.0.1", "--authorization", "none"),
    )


def flushed_count(process: SchedulerProcess) -> int:
    """Count the Pods that were found only by the flush of those that wait too long."""
    status, text = process.get("/metrics")
    assert status == 200
    pattern = r"^scheduler_pod_scheduled_after_flush_total(?:\{.*\})? (\S+)$"
    [value] = re.findall(pattern, text, re.MULTILINE)
    return int(float(value))


def node_of(plane: ControlPlane, name: str) -> str:
    node: str = read(plane, f"{PODS}/{name}")["spec"].get("nodeName", "")
    return node


def placed(plane: ControlPlane, *names: str) -> list[str]:
    """Wait until Pods have a Node; give the Nodes in order."""
    for name in names:
        wait_for(f"{name} is bound", partial(node_of, plane, name))
    return [node_of(plane, name) for name in names]


def wait_turned_away(plane: ControlPlane, name: str) -> str:
    """Wait until a Pod is told why it waits; give the text."""

    def reasons() -> list[str]:
        conditions = read(plane, f"{PODS}/{name}")["status"].get("conditions", [])
        return [c["message"] for c in conditions if c.get("reason") == "Unschedulable"]

    wait_for(f"{name} is turned away", reasons)
    return reasons()[0]


def test_zones_are_filled_evenly(plane: ControlPlane, tmp_path: Path) -> None:
    with scheduler(plane, tmp_path) as process:
        names = [f"p{number}" for number in range(6)]
        create_pods(plane, *names, app="web", maxSkew=1)
        assert Counter(node[0] for node in placed(plane, *names)) == {"a": 3, "b": 3}
        assert flushed_count(process) == 0


@pytest.mark.parametrize("helper", ["new zone", "deleted Pod", "terminating Pod", "label of a Pod"])
def test_what_can_help_calls_a_pod_that_waits(
    plane: ControlPlane, tmp_path: Path, helper: str
) -> None:
    """Of three zones that are demanded there are two: each takes one Pod."""
    with scheduler(plane, tmp_path) as process:
        create_pods(plane, "first", "second", app="web", minDomains=3)
        zones = {
            node[0]: name
            for name, node in zip(
                ("first", "second"), placed(plane, "first", "second"), strict=True
            )
        }
        assert zones.keys() == {"a", "b"}
        create_pods(plane, "third", app="web", minDomains=3)
        assert wait_turned_away(plane, "third").startswith(TURNED_AWAY)
        in_zone_b, expected = f"{PODS}/{zones['b']}", "b1"
        if helper == "new zone":
            create_node(plane, "c1", "c")
            expected = "c1"
        elif helper == "deleted Pod":
            assert request(plane, "DELETE", in_zone_b, AT_ONCE)[0] == 200
        elif helper == "terminating Pod":
            # There is no kubelet that would end it.
            assert request(plane, "DELETE", in_zone_b)[0] == 200
            assert read(plane, in_zone_b)["metadata"]["deletionTimestamp"]
        else:
            stored = read(plane, in_zone_b)
            stored["metadata"]["labels"] = {"app": "db"}
            assert request(plane, "PUT", in_zone_b, stored)[0] == 200
        assert placed(plane, "third") == [expected]
        assert flushed_count(process) == 0


def test_pods_of_a_service_are_spread_by_default(plane: ControlPlane, tmp_path: Path) -> None:
    """Others all go where there is most room."""
    service = {
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "clusterIP": "None"},
    }
    create(plane, SERVICES, service)
    with scheduler(plane, tmp_path):
        for app, expected in (("plain", ["a1", "a1", "a1"]), ("web", ["a1", "b1", "a2"])):
            found = []
            for number in range(3):
                create_pods(plane, f"{app}-{number}", app=app)
                found += placed(plane, f"{app}-{number}")
            assert found == expected
    request(plane, "DELETE", f"{SERVICES}/web")
