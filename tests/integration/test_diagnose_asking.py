"""``berthmaster diagnose`` asks the scheduler and the agents that run as Pods.

Both are processes of this machine here, and Pods that have its address: the API server proxies
to these as it does in a cluster, with a token of the Pod's ServiceAccount.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.agent_process import AgentProcess
from tests.integration.rest import create, read, wait_for
from tests.integration.scheduler_process import SchedulerProcess
from tests.integration.test_agent_journey import Kubelet, kubelet_served
from tests.integration.test_diagnose import (
    NODES,
    Findings,
    at,
    daemon,
    diagnose,
    pod,
    ready,
    report,
    set_status,
)
from tests.integration.test_explain_live import own_address

pytestmark = pytest.mark.integration

NODE = "worker"
OURS = "/api/v1/namespaces/berthmaster"
PODS = "/api/v1/namespaces/default/pods"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def address() -> str:
    """Give an address of this machine that the API server proxies to."""
    found = own_address()
    if found is None:
        pytest.skip("the API server proxies to no loopback address, and there is no other")
    return found


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a cluster of one Node, with ServiceAccounts that may ask what is asked."""
    state_dir = tmp_path_factory.mktemp("diagnose-asking") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        create(running, "/api/v1/namespaces", {"metadata": {"name": "berthmaster"}})
        status = {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        create(running, NODES, {"metadata": {"name": NODE}, "status": status})
        for component, path in (("scheduler", "/explain/*"), ("agent", "/divergences")):
            allow(running, component, path)
        yield running


def allow(plane: ControlPlane, account: str, path: str) -> None:
    """Make a ServiceAccount that may GET a path of ours."""
    create(plane, f"{OURS}/serviceaccounts", {"metadata": {"name": account}})
    rules = [{"nonResourceURLs": [path], "verbs": ["get"]}]
    create(plane, f"{RBAC}/clusterroles", {"metadata": {"name": account}, "rules": rules})
    binding = {
        "metadata": {"name": account},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": account,
        },
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "berthmaster"}],
    }
    create(plane, f"{RBAC}/clusterrolebindings", binding)


def create_daemon(
    plane: ControlPlane, name: str, component: str, process: SchedulerProcess, address: str
) -> None:
    """Make the Pod that a process would be."""
    port = process.wait_line("Serving securely").rpartition("port=")[2]
    body = daemon(name, component, NODE, f"--secure-port={port}")
    body["spec"]["serviceAccountName"] = component
    create(plane, f"{OURS}/pods", body)
    reachable = {"podIP": address, "podIPs": [{"ip": address}]}
    set_status(plane, f"{OURS}/pods/{name}", ready("True") | reachable)


def test_a_scheduler_in_a_pod_says_what_holds_at_this_moment(
    plane: ControlPlane, address: str, tmp_path: Path
) -> None:
    create(plane, PODS, pod("big", "9"))
    arguments = ("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0")
    with SchedulerProcess(tmp_path / "log", *arguments) as process:
        process.wait_line("Leading")
        wait_for("big is judged", lambda: read(plane, f"{PODS}/big")["status"].get("conditions"))
        create_daemon(plane, socket.gethostname(), "scheduler", process, address)
        found = Findings(report(diagnose(plane, "-n", "default", "-o", "json")))
        assert found["leader"]["severity"] == "ok"
        rejected = found["pods-unschedulable"]
        assert rejected["detail"][0] == "0/1 nodes are available: 1 Insufficient cpu."
        port = process.wait_line("Serving securely").rpartition("port=")[2]
        assert rejected["nextCommand"].endswith(f"--secure-port {port}")
        assert "scheduler-not-asked" not in found


def test_an_agent_says_what_its_kubelet_has_not_seen(
    plane: ControlPlane, address: str, tmp_path: Path
) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "broken.yaml").write_text("kind: Pod\nspec: nothing\n")
    with ExitStack() as stack:
        url = stack.enter_context(kubelet_served(Kubelet()))
        arguments: tuple[Any, ...] = (
            *("--node-name", NODE, "--kubeconfig", str(plane.kubeconfig_path)),
            *("--secure-port", "0", "--static-pod-path", str(folder)),
            *("--kubelet-url", url, "--kubelet-insecure-tls", "--kubelet-poll-interval=1s"),
        )
        process = stack.enter_context(AgentProcess(tmp_path / "log", *arguments))
        process.wait_line("All sources of Pods have been heard of")
        create_daemon(plane, "agent-x", "agent", process, address)
        create(plane, PODS, pod("stuck", "100m", nodeName=NODE))
        scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": at(600)}
        set_status(plane, f"{PODS}/stuck", {"conditions": [scheduled]})

        def look() -> Findings:
            return Findings(report(diagnose(plane, "-n", "default", "-o", "json")))

        def is_told() -> bool:
            found = look()
            diverging = found["kubelet-diverges"]["objects"] if "kubelet-diverges" in found else []
            return f"default/stuck on {NODE}" in diverging

        wait_for("the difference lasts", is_told)
        found = look()
        assert f"/nodes/{NODE}/proxy/pods" in found["kubelet-diverges"]["nextCommand"]
        unseen = found["pods-not-seen"]
        assert unseen["objects"] == [f"default/stuck on {NODE}"]
        assert unseen["severity"] == "problem"
        assert found["manifests-refused"]["count"] == 1
        assert "broken.yaml" in found["manifests-refused"]["detail"][0]
        assert "agents-not-asked" not in found
