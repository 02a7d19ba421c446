"""The running scheduler explains itself: how Pods stand, and what it decided before."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration import forked
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a cluster of two Nodes."""
    state_dir = tmp_path_factory.mktemp("explain-live") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        for name, cpu in (("small", "1"), ("large", "4")):
            allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
            node = {"metadata": {"name": name}, "status": {"allocatable": allocatable}}
            create(running, NODES, node)
        yield running


@pytest.fixture(scope="module")
def process(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchedulerProcess]:
    """Give a scheduler that has placed one Pod and found no Node for another."""
    create(plane, PODS, pod("web", "3"))
    create(plane, PODS, pod("big", "9"))
    arguments = ("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0")
    with SchedulerProcess(tmp_path_factory.mktemp("log") / "log", *arguments) as running:
        running.wait_line("Leading")
        wait_for("web is bound", lambda: read(plane, f"{PODS}/web")["spec"].get("nodeName"))
        wait_for("big is rejected", lambda: read(plane, f"{PODS}/big")["status"].get("conditions"))
        yield running


def pod(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    spec = {"schedulerName": "berthmaster", "containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def port_of(process: SchedulerProcess) -> int:
    return int(process.wait_line("Serving securely").rpartition("port=")[2])


def explain(
    plane: ControlPlane, *arguments: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    kubeconfig = ("--kubeconfig", str(plane.kubeconfig_path))
    return forked.run("explain", *arguments, *kubeconfig, stdin=stdin)


def told(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def at(process: SchedulerProcess) -> tuple[str, ...]:
    return ("--server", f"https://127.0.0.1:{port_of(process)}", "-o", "json")


def test_a_decision_is_remembered_by_pod_and_by_id(
    plane: ControlPlane, process: SchedulerProcess
) -> None:
    annotations = read(plane, f"{PODS}/web")["metadata"]["annotations"]
    decision_id = annotations["berthmaster.dev/decision-id"]
    [of_pod] = told(explain(plane, "pod", "web", *at(process)))
    [by_id] = told(explain(plane, "decision", decision_id, *at(process)))
    assert of_pod == by_id
    assert (by_id["id"], by_id["pod"], by_id["nodeName"]) == (decision_id, "default/web", "large")
    assert by_id["result"] == "scheduled"
    [best] = by_id["best"]
    assert best["name"] == "large"
    assert sum(best["scores"].values()) == best["total"] > 0
    # The Node was empty when it was decided: 1 of 4 CPUs left is 25, all of the memory but
    # the default of 200 MB is 97 of 100 (least allocated).
    assert best["scores"]["NodeResourcesFit"] == (25 + 97) // 2


def test_a_pending_pod_is_explained_as_it_stands_now(
    plane: ControlPlane, process: SchedulerProcess
) -> None:
    answer, *decisions = told(explain(plane, "pod", "big", *at(process)))
    text = "0/2 nodes are available: 2 Insufficient cpu."
    assert answer["fitError"] == text
    assert answer["nodes"]["small"]["code"] == "UnschedulableAndUnresolvable"
    assert decisions[0]["result"] == "unschedulable"
    assert decisions[0]["message"].startswith(text)
    assert told(explain(plane, "--all-pending", *at(process))) == [answer]
    [preempting, *_] = told(explain(plane, "pod", "big", "--preempt", *at(process)))
    assert preempting["postFilter"]["code"] == "Unschedulable"


def test_a_pod_that_does_not_exist_yet(plane: ControlPlane, process: SchedulerProcess) -> None:
    manifest = json.dumps(pod("new", "500m"))
    [answer] = told(explain(plane, "--pod", "-", *at(process), stdin=manifest))
    assert answer["pod"] == "default/new"
    assert answer["best"] == ["small"]
    status, _ = request(plane, "GET", f"{PODS}/new")
    assert status == 404, "asking about a Pod has created it"


def test_tables_for_people(plane: ControlPlane, process: SchedulerProcess) -> None:
    server = at(process)[:2]
    text = explain(plane, "pod", "big", *server).stdout
    assert "default/big: fits on none of 2 Nodes" in text
    assert "default/big: unschedulable at" in text
    assert "default/web: scheduled to large at" in explain(plane, "pod", "web", *server).stdout


def test_what_is_not_known_is_said(plane: ControlPlane, process: SchedulerProcess) -> None:
    unknown = explain(plane, "pod", "nobody", *at(process))
    assert unknown.returncode == 2
    assert "no Pod default/nobody of this scheduler's is known" in unknown.stderr
    forgotten = explain(plane, "decision", "none-1", *at(process))
    assert forgotten.returncode == 2
    assert "no such decision is remembered" in forgotten.stderr
    nowhere = explain(plane, "pod", "web", "--server", "https://127.0.0.1:1")
    assert nowhere.returncode == 1
    leader = explain(plane, "pod", "web")
    assert leader.returncode == 1
    assert "no Pod of that name runs here: say where it serves, with --server" in leader.stderr
    nobody = explain(plane, "pod", "web", "--lease", "kube-system/other")
    assert nobody.returncode == 1
    assert "the Lease kube-system/other does not exist" in nobody.stderr


def test_who_may_not_read_is_refused(
    plane: ControlPlane, process: SchedulerProcess, tmp_path: Path
) -> None:
    create(plane, "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "guest"}})
    token_file = tmp_path / "token"
    token_file.write_text(token_of(plane, "default", "guest"))
    refused = explain(plane, "pod", "web", "--token-file", str(token_file), *at(process))
    assert refused.returncode == 1
    assert "cannot get path" in refused.stderr


def test_the_leader_is_found_and_asked_through_the_api_server(
    plane: ControlPlane, process: SchedulerProcess
) -> None:
    address = own_address()
    if address is None:
        pytest.skip("the API server proxies to no loopback address, and there is no other")
    port = port_of(process)
    leader_pod(plane, socket.gethostname(), address)
    arguments = ("pod", "web", "--secure-port", str(port), "-o", "json")
    refused = explain(plane, *arguments)
    assert refused.returncode == 1
    assert "cannot get path" in refused.stderr
    allow(plane, "kube-system", "scheduler")
    # A refusal is remembered for some seconds.
    wait_for("an answer", lambda: explain(plane, *arguments).returncode == 0)
    [decision] = told(explain(plane, *arguments))
    assert decision["nodeName"] == "large"
    unknown = explain(plane, "pod", "nobody", "--secure-port", str(port))
    assert unknown.returncode == 2
    assert "no Pod default/nobody of this scheduler's is known" in unknown.stderr


def token_of(plane: ControlPlane, namespace: str, account: str) -> str:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    token: str = create(plane, path, {"spec": {}})["status"]["token"]
    return token


def own_address() -> str | None:
    """Give an address of this machine that is not its loopback, without sending anything."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address: str = probe.getsockname()[0]
    return None if address.startswith("127.") else address


def leader_pod(plane: ControlPlane, name: str, address: str) -> None:
    """Make the Pod that the scheduler would be in a cluster."""
    namespace = "/api/v1/namespaces/kube-system"
    create(plane, f"{namespace}/serviceaccounts", {"metadata": {"name": "scheduler"}})
    container = {"name": "c", "image": "x"}
    spec = {"serviceAccountName": "scheduler", "containers": [container], "nodeName": "small"}
    create(plane, f"{namespace}/pods", {"metadata": {"name": name}, "spec": spec})
    status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
    path = f"{namespace}/pods/{name}"
    stored = read(plane, path) | {"status": status}
    code, answer = request(plane, "PUT", f"{path}/status", stored)
    assert code == 200, answer


def allow(plane: ControlPlane, namespace: str, account: str) -> None:
    """Let a ServiceAccount read explanations."""
    rule = {"nonResourceURLs": ["/explain/*"], "verbs": ["get", "post"]}
    create(plane, f"{RBAC}/clusterroles", {"metadata": {"name": "explain"}, "rules": [rule]})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "explain"}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    binding = {"metadata": {"name": "explain"}, "roleRef": role, "subjects": [subject]}
    create(plane, f"{RBAC}/clusterrolebindings", binding)
