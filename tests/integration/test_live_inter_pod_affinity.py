"""Pods that want to be near others, or away, on a real API server: placed, kept waiting, called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

NAMESPACES, NODES = "/api/v1/namespaces", "/api/v1/nodes"
PODS = f"{NAMESPACES}/default/pods"
OTHER_PODS = f"{NAMESPACES}/other/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berthmaster"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
DEMANDED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def module_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane of our own: other modules' Nodes would be domains here."""
    state_dir = tmp_path_factory.mktemp("live-affinity") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        create(running, NAMESPACES, {"metadata": {"name": "other"}})
        yield running


@pytest.fixture
def plane(module_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give it with two Nodes in zone a and one in zone b."""
    for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        create_node(module_plane, name, zone)
    yield module_plane
    for path in (PODS, OTHER_PODS, EVENTS, NODES):
        request(module_plane, "DELETE", path, AT_ONCE)
    request(module_plane, "DELETE", LEASE)
    for path in (PODS, OTHER_PODS):
        wait_for(f"{path} is empty", partial(is_empty, module_plane, path))


def is_empty(plane: ControlPlane, path: str) -> bool:
    return bool(read(plane, path)["items"] == [])


class Watched(SchedulerProcess):
    """A scheduler of which no Pod may be found by the flush of those that wait too long."""

    def flushed_count(self) -> int:
        status, text = self.get("/metrics")
        assert status == 200
        pattern = r"^scheduler_pod_scheduled_after_flush_total(?:\{.*\})? (\S+)$"
        [value] = re.findall(pattern, text, re.MULTILINE)
        return int(float(value))


def scheduler(plane: ControlPlane, directory: Path) -> Watched:
    return Watched(
        directory / "log",
        *("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0", "-v", "2"),
        *("--bind-address", "127.0.0.1", "--authorization", "none"),
    )


def create_node(plane: ControlPlane, name: str, zone: str) -> None:
    labels = {HOST: name, ZONE: zone}
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    node = {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}}
    create(plane, NODES, node)


def create_pod(
    plane: ControlPlane, name: str, app: str, affinity: Manifest | None = None, path: str = PODS
) -> None:
    spec = {
        "schedulerName": "berthmaster",
        "containers": [{"name": "c", "image": "x"}],
        "affinity": affinity,
    }
    create(plane, path, {"metadata": {"name": name, "labels": {"app": app}}, "spec": spec})


def term(app: str, key: str, **fields: Any) -> Manifest:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **fields}


def near(*terms: Manifest) -> Manifest:
    return {"podAffinity": {DEMANDED: list(terms)}}


def away(*terms: Manifest) -> Manifest:
    return {"podAntiAffinity": {DEMANDED: list(terms)}}


def node_of(plane: ControlPlane, name: str, path: str = PODS) -> str:
    node: str = read(plane, f"{path}/{name}")["spec"].get("nodeName", "")
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


def set_labels(plane: ControlPlane, path: str, **labels: str) -> None:
    stored = read(plane, path)
    stored["metadata"].setdefault("labels", {}).update(labels)
    status, answer = request(plane, "PUT", path, stored)
    assert status == 200, answer


def delete(plane: ControlPlane, path: str) -> None:
    status, answer = request(plane, "DELETE", path, AT_ONCE)
    assert status == 200, answer


def test_pods_that_shun_each_other_take_a_node_each_and_the_next_one_waits(
    plane: ControlPlane, tmp_path: Path
) -> None:
    with scheduler(plane, tmp_path) as process:
        for number in range(4):
            create_pod(plane, f"p{number}", "web", away(term("web", HOST)))
        wait_for(
            "three are bound",
            lambda: sum(bool(node_of(plane, f"p{number}")) for number in range(4)) == 3,
        )
        nodes = {f"p{number}": node_of(plane, f"p{number}") for number in range(4)}
        assert sorted(nodes.values()) == ["", "a1", "a2", "b1"]
        [waiting] = [name for name, node in nodes.items() if not node]
        assert wait_turned_away(plane, waiting).startswith(
            "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules."
        )
        [gone] = [name for name, node in nodes.items() if node == "a2"]
        delete(plane, f"{PODS}/{gone}")
        assert placed(plane, waiting) == ["a2"]
        assert process.flushed_count() == 0


def test_pods_that_want_each_other_share_a_zone(plane: ControlPlane, tmp_path: Path) -> None:
    with scheduler(plane, tmp_path):
        names = [f"p{number}" for number in range(6)]
        for name in names:
            create_pod(plane, name, "group", near(term("group", ZONE)))
        zones = {node[0] for node in placed(plane, *names)}
        assert len(zones) == 1


def test_a_pod_waits_for_the_one_it_wants_to_be_near(plane: ControlPlane, tmp_path: Path) -> None:
    with scheduler(plane, tmp_path) as process:
        create_pod(plane, "follower", "web", near(term("db", HOST)))
        assert wait_turned_away(plane, "follower").startswith(
            "0/3 nodes are available: 3 node(s) didn't match pod affinity rules."
        )
        create_pod(plane, "leader", "db")
        [leader, follower] = placed(plane, "leader", "follower")
        assert follower == leader
        assert process.flushed_count() == 0


def test_a_pod_that_others_shun_waits_for_a_new_node(plane: ControlPlane, tmp_path: Path) -> None:
    with scheduler(plane, tmp_path) as process:
        for zone, name in (("a", "first"), ("b", "second")):
            create_pod(plane, name, name, {**away(term("web", ZONE)), **in_zone(zone)})
        placed(plane, "first", "second")
        create_pod(plane, "plain", "web")
        assert wait_turned_away(plane, "plain").startswith(
            "0/3 nodes are available: 3 node(s) didn't satisfy existing pods anti-affinity rules."
        )
        create_node(plane, "c1", "c")
        assert placed(plane, "plain") == ["c1"]
        assert process.flushed_count() == 0


def in_zone(zone: str) -> Manifest:
    expression = {"key": ZONE, "operator": "In", "values": [zone]}
    return {"nodeAffinity": {DEMANDED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}


def test_labels_of_nodes_and_namespaces_call_pods(plane: ControlPlane, tmp_path: Path) -> None:
    with scheduler(plane, tmp_path) as process:
        create_pod(plane, "theirs", "db", path=OTHER_PODS)
        wait_for("theirs is bound", lambda: node_of(plane, "theirs", OTHER_PODS))
        friends = {"matchLabels": {"friends": "yes"}}
        create_pod(plane, "by-rack", "x", near(term("x", "rack")))
        create_pod(plane, "ours", "y", near(term("db", HOST, namespaceSelector=friends)))
        wait_turned_away(plane, "ours")
        wait_turned_away(plane, "by-rack")
        set_labels(plane, f"{NODES}/a2", rack="r1")
        assert placed(plane, "by-rack") == ["a2"]
        set_labels(plane, f"{NAMESPACES}/other", friends="yes")
        assert placed(plane, "ours") == [node_of(plane, "theirs", OTHER_PODS)]
        assert process.flushed_count() == 0


def test_preferences_draw_and_repel(plane: ControlPlane, tmp_path: Path) -> None:
    with scheduler(plane, tmp_path):
        create_pod(plane, "magnet", "magnet", in_zone("b"))
        assert placed(plane, "magnet") == ["b1"]
        wish = {"weight": 100, "podAffinityTerm": term("magnet", HOST)}
        create_pod(plane, "drawn", "x", {"podAffinity": {PREFERRED: [wish]}})
        create_pod(plane, "repelled", "x", {"podAntiAffinity": {PREFERRED: [wish]}})
        [drawn, repelled] = placed(plane, "drawn", "repelled")
        assert drawn == "b1"
        assert repelled != "b1"
