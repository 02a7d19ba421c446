"""``berthmaster explain --from-cluster`` on a real API server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration import forked
from tests.integration.rest import create

pytestmark = pytest.mark.integration

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"


def node(name: str, cpu: str) -> dict[str, Any]:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {"metadata": {"name": name}, "status": {"allocatable": allocatable}}


def pod(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"limits": {"cpu": cpu}}}
    manifest = {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}
    return {"apiVersion": "v1", "kind": "Pod", **manifest}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a cluster of two Nodes, with a Pod on the larger one and two that are pending."""
    state_dir = tmp_path_factory.mktemp("explain") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        for name, cpu in (("small", "1"), ("large", "4")):
            create(running, NODES, node(name, cpu))
        priority_class = {"metadata": {"name": "urgent"}, "value": 7, "preemptionPolicy": "Never"}
        create(running, "/apis/scheduling.k8s.io/v1/priorityclasses", priority_class)
        create(running, PODS, pod("runs", "1", nodeName="large"))
        create(running, PODS, pod("web", "3"))
        create(running, PODS, pod("big", "9", schedulerName="nobody"))
        yield running


def explain(
    plane: ControlPlane, *arguments: str, stdin: str = "", kubeconfig: Path | None = None
) -> subprocess.CompletedProcess[str]:
    path = str(kubeconfig or plane.kubeconfig_path)
    flags = ("--kubeconfig", path, "-o", "json")
    return forked.run("explain", "--from-cluster", *arguments, *flags, stdin=stdin)


def answers(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return {answer["pod"]: answer for answer in map(json.loads, done.stdout.splitlines())}


def test_all_pending_pods_of_the_cluster(plane: ControlPlane) -> None:
    given = answers(explain(plane))
    assert given.keys() == {"default/web", "default/big"}
    assert given["default/web"]["best"] == ["large"]
    assert given["default/web"]["nodes"]["small"]["reasons"] == ["Insufficient cpu"]
    assert given["default/big"]["fitError"] == "0/2 nodes are available: 2 Insufficient cpu."


def test_one_pod_and_one_that_runs(plane: ControlPlane) -> None:
    assert answers(explain(plane, "pod", "web")).keys() == {"default/web"}
    done = explain(plane, "pod", "runs")
    assert done.returncode == 2
    assert "Pod default/runs is not pending: it is on large" in done.stderr


def test_a_new_pod_is_admitted_by_the_api_server(plane: ControlPlane) -> None:
    manifest = pod("new", "2", priorityClassName="urgent")
    given = answers(explain(plane, "--pod", "-", stdin=json.dumps(manifest)))
    # The API server has requested what is limited.
    assert given["default/new"]["nodes"]["small"]["reasons"] == ["Insufficient cpu"]
    assert given["default/new"]["best"] == ["large"]
    refused = explain(plane, "--pod", "-", stdin=json.dumps(pod("new", "1", dnsPolicy="Odd")))
    assert refused.returncode == 2
    assert "the API server would not take the Pod" in refused.stderr
    assert "dnsPolicy" in refused.stderr
    unknown = pod("new", "1", priorityClassName="missing")
    refused = explain(plane, "--pod", "-", stdin=json.dumps(unknown))
    assert refused.returncode == 2
    assert "no PriorityClass with name missing was found" in refused.stderr


def test_who_may_only_read_is_answered_as_well(plane: ControlPlane, tmp_path: Path) -> None:
    create(plane, "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "reader"}})
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    rule = {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]}
    create(plane, f"{rbac}/clusterroles", {"metadata": {"name": "reader"}, "rules": [rule]})
    create(
        plane,
        f"{rbac}/clusterrolebindings",
        {
            "metadata": {"name": "reader"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "reader",
            },
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
        },
    )
    path = "/api/v1/namespaces/default/serviceaccounts/reader/token"
    token = create(plane, path, {"spec": {}})["status"]["token"]
    kubeconfig = tmp_path / "kubeconfig"
    text = plane.kubeconfig_path.read_text()
    assert plane.token in text
    kubeconfig.write_text(text.replace(plane.token, token))
    done = explain(plane, "--pod", "-", stdin=json.dumps(pod("new", "2")), kubeconfig=kubeconfig)
    given = answers(done)
    assert given["default/new"]["best"] == ["large"]
    assert given["default/new"]["nodes"]["small"]["reasons"] == ["Insufficient cpu"]
    assert "does not let you create Pods" in done.stderr
    assert "left out" in done.stderr


def test_a_cluster_that_is_not_there(plane: ControlPlane, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    host = plane.url.removeprefix("https://")
    text = plane.kubeconfig_path.read_text()
    kubeconfig.write_text(text.replace(host, "127.0.0.1:1"))
    done = explain(plane, kubeconfig=kubeconfig)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    missing = explain(plane, kubeconfig=tmp_path / "missing")
    assert missing.returncode == 2
