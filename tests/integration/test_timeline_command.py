"""``berthmaster timeline`` of a Pod that found no Node at first, with the rights of docs/agent.md.

The agent is a process of this machine, and a Pod that has its address, as in a cluster.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.controlplane import ControlPlane, Reporter
from tests.integration import forked
from tests.integration.agent_process import AgentProcess
from tests.integration.rest import create, read, wait_for
from tests.integration.scheduler_process import SchedulerProcess
from tests.integration.test_diagnose import NODES, daemon, pod, ready, set_status
from tests.integration.test_explain_live import own_address
from tests.unit.berthmaster.test_timeline_rights import ACCOUNT, documents

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

NODE = "late"
OURS = "/api/v1/namespaces/berthmaster"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
READER = "timeline-reader"
NO_NODE = "no nodes available to schedule pods"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a cluster without Nodes, and the roles of the document."""
    state_dir = tmp_path_factory.mktemp("timeline") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        create(running, "/api/v1/namespaces", {"metadata": {"name": "berthmaster"}})
        for account in (READER, ACCOUNT):
            create(running, f"{OURS}/serviceaccounts", {"metadata": {"name": account}})
        for document in documents():
            namespace = document["metadata"].get("namespace")
            where = f"{RBAC}/namespaces/{namespace}" if namespace else RBAC
            create(running, f"{where}/{document['kind'].lower()}s", document)
        let_the_agents_account_read(running)
        yield running


def let_the_agents_account_read(plane: ControlPlane) -> None:
    """Give the account of agents what its role in the manifest has for readers."""
    rules = [{"nonResourceURLs": ["/pods/*"], "verbs": ["get"]}]
    create(plane, f"{RBAC}/clusterroles", {"metadata": {"name": ACCOUNT}, "rules": rules})
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": ACCOUNT},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": ACCOUNT},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": "berthmaster"}],
    }
    create(plane, f"{RBAC}/clusterrolebindings", binding)


@pytest.fixture(scope="module")
def login(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a kubeconfig with a token of the reader."""
    token = create(plane, f"{OURS}/serviceaccounts/{READER}/token", {"spec": {}})
    configuration = yaml.safe_load(plane.kubeconfig_path.read_text())
    for user in configuration["users"]:
        user["user"] = {"token": token["status"]["token"]}
    path = tmp_path_factory.mktemp("reader") / "kubeconfig"
    path.write_text(yaml.safe_dump(configuration))
    return path


def timeline(login: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return forked.run("timeline", "web", "--kubeconfig", str(login), *arguments)


def events_of(plane: ControlPlane, reason: str) -> list[dict[str, Any]]:
    events = read(plane, EVENTS)["items"]
    return [event for event in events if event["reason"] == reason]


def condition_of(plane: ControlPlane) -> dict[str, Any] | None:
    conditions = read(plane, f"{PODS}/web")["status"].get("conditions", ())
    return next((each for each in conditions if each["type"] == "PodScheduled"), None)


def test_a_pod_that_waited_for_a_node(plane: ControlPlane, login: Path, tmp_path: Path) -> None:
    arguments = ("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0")
    with SchedulerProcess(tmp_path / "log", *arguments, "--leader-elect=false"):
        create(plane, PODS, pod("web", "1"))
        wait_for("the Pod is judged", lambda: condition_of(plane))
        wait_for("an Event says so", lambda: events_of(plane, "FailedScheduling"))
        waiting = timeline(login)
        status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
        create(plane, NODES, {"metadata": {"name": NODE}, "status": status})
        wait_for("the Pod has a Node", lambda: events_of(plane, "Scheduled"))
    text = " ".join(waiting.stdout.split())
    now = r"Now, \S+( m?s)?( \S+ s)? after its creation: waiting for a Node, "
    assert re.search(rf"{now}by its condition PodScheduled: {NO_NODE}", text), text
    assert "1 or more attempts failed so far, by Events." in text
    assert "berthmaster: the same" in text
    assert waiting.stderr == ""

    done = timeline(login)
    text = " ".join(done.stdout.split())
    assert "failed attempts: 1 " in text
    assert re.search(r"waiting to be tried again .* decided scheduler", text)
    assert "Scheduling: 1 attempt failed before it got a Node, by the scheduler's" in text
    assert f", berthmaster: {NO_NODE}" in text
    assert done.stderr.startswith(f"Note: no agent runs on node {NODE}, ")
    assert "--agent URL" in done.stderr


def test_an_agent_tells_readers_and_events_say_why(
    plane: ControlPlane, login: Path, tmp_path: Path
) -> None:
    address = own_address()
    if address is None:
        pytest.skip("the API server proxies to no loopback address, and there is no other")
    arguments = ("--node-name", NODE, "--kubeconfig", str(plane.kubeconfig_path))
    with AgentProcess(tmp_path / "log", *arguments, "--secure-port", "0") as process:
        process.wait_line("All sources of Pods have been heard of")
        port = process.wait_line("Serving securely").rpartition("port=")[2]
        body = daemon("agent-x", "agent", NODE, f"--secure-port={port}")
        body["spec"]["serviceAccountName"] = ACCOUNT
        create(plane, f"{OURS}/pods", body)
        reachable = {"podIP": address, "podIPs": [{"ip": address}]}
        set_status(plane, f"{OURS}/pods/agent-x", ready("True") | reachable)
        done = timeline(login)
    assert done.stderr == ""
    text = " ".join(done.stdout.split())
    assert "Told by the agent berthmaster/agent-x." in text
    assert "Scheduling: 1 attempt failed before it got a Node, by the scheduler's" in text
    assert f", berthmaster: {NO_NODE}" in text


def test_the_kubelet_is_not_theirs(login: Path) -> None:
    done = timeline(login, "--no-agent", "--ask-kubelet")
    assert "Told by API objects and Events alone" in done.stdout
    assert f"the kubelet of {NODE} was asked through the API server, in vain: " in done.stderr
    assert done.stderr.rstrip().endswith("; it takes get on nodes/proxy")
