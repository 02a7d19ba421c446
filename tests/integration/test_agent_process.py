"""The node agent, started as users start it, against a real API server."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.agent_process import AgentProcess
from tests.integration.rest import create, read, request, wait_for
from tests.unit.node_agent.shell.manifests import manifest, put, write

pytestmark = pytest.mark.integration

PODS = "/api/v1/namespaces/default/pods"
NODE = "worker-1"


@pytest.fixture(scope="module")
def module_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane of our own, whose API server may be stopped."""
    state_dir = tmp_path_factory.mktemp("agent-process") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        yield running


@pytest.fixture
def plane(module_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give it without Pods."""
    yield module_plane
    for pod in read(module_plane, PODS)["items"]:
        delete_pod(module_plane, pod["metadata"]["name"])
    wait_for("all Pods are gone", lambda: read(module_plane, PODS)["items"] == [])


def agent(plane: ControlPlane, log_path: Path, *arguments: str) -> AgentProcess:
    return AgentProcess(
        log_path,
        *("--node-name", NODE, "--kubeconfig", str(plane.kubeconfig_path)),
        *("--secure-port", "0", "--bind-address", "127.0.0.1", *arguments),
    )


def create_pod(plane: ControlPlane, name: str, **metadata: Any) -> None:
    """Create a Pod that is bound from the beginning."""
    spec = {
        "nodeName": NODE,
        "automountServiceAccountToken": False,
        "containers": [{"name": "c", "image": "i:1"}],
    }
    create(plane, PODS, {"metadata": {"name": name, **metadata}, "spec": spec})


def delete_pod(plane: ControlPlane, name: str, grace_seconds: int = 0) -> None:
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": grace_seconds}
    request(plane, "DELETE", f"{PODS}/{name}", options)


def set_status(plane: ControlPlane, name: str, status: dict[str, Any]) -> None:
    """Write a Pod's status, as its kubelet would."""
    pod = read(plane, f"{PODS}/{name}")
    pod["status"] |= status
    code, answer = request(plane, "PUT", f"{PODS}/{name}/status", pod)
    assert code == 200, answer


def steps(process: AgentProcess, pod: str) -> list[str]:
    """Give what the log tells of a Pod: message by message, in order."""
    lines = [line for line in process.log().splitlines() if re.search(rf"default/{pod}\b", line)]
    return [re.split(r"  +", line)[1] for line in lines]


def sample(metrics: str, name: str) -> float:
    """Give a sample's value by its name and labels as they are written; 0 if there is none."""
    found = re.search(rf"^{re.escape(name)} (\S+)$", metrics, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_each_step_of_a_pod_is_a_line_that_can_be_searched(
    plane: ControlPlane, tmp_path: Path
) -> None:
    with agent(plane, tmp_path / "log", "-v", "4") as process:
        process.wait_line("All sources of Pods have been heard of")
        create_pod(plane, "a")
        wait_for("the Pod syncs", lambda: "Pod worker syncs" in process.log())
        running = {"name": "c", "image": "i:1", "imageID": "", "ready": True, "restartCount": 0}
        started = {"startedAt": "2026-06-01T12:00:00Z"}
        set_status(
            plane,
            "a",
            {
                "phase": "Running",
                "containerStatuses": [{**running, "state": {"running": started}}],
            },
        )
        wait_for("the status is seen", lambda: "SyncLoop RECONCILE" in process.log())
        delete_pod(plane, "a", grace_seconds=30)
        wait_for("the deletion is seen", lambda: "Pod worker terminates" in process.log())
        ended = {**started, "finishedAt": "2026-06-01T12:00:09Z", "exitCode": 0}
        stopped = {**running, "ready": False, "state": {"terminated": ended}}
        set_status(plane, "a", {"phase": "Succeeded", "containerStatuses": [stopped]})
        wait_for("the end is seen", lambda: "Pod worker has terminated" in process.log())
        delete_pod(plane, "a")
        wait_for("the Pod is finished", lambda: "Pod worker has finished" in process.log())
        assert steps(process, "a") == [
            "SyncLoop ADD",
            "Pod worker syncs (inferred)",
            "SyncLoop RECONCILE",
            "SyncLoop DELETE",
            "Pod worker terminates (inferred)",
            "SyncLoop RECONCILE",
            "Pod worker has terminated (inferred)",
            "SyncLoop DELETE",  # its grace period is 0 now
            "SyncLoop REMOVE",
            "Pod worker has finished (inferred)",
        ]
        process.send_signal(signal.SIGTERM)
        assert process.wait_exit() == 0
        assert "Traceback" not in process.log()


def test_static_pods_and_their_mirrors_are_one(plane: ControlPlane, tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    arguments = ("--static-pod-path", str(folder), "--authorization", "none", "-v", "4")
    with agent(plane, tmp_path / "log", *arguments) as process:
        process.wait_line("All sources of Pods have been heard of")
        put(folder / "web.yaml", manifest("web"))
        wait_for("the static Pod syncs", lambda: "Pod worker syncs" in process.log())
        create_pod(plane, f"web-{NODE}", annotations={"kubernetes.io/config.mirror": "h"})

        def metric(name: str) -> float:
            return sample(process.get("/metrics")[1], name)

        wait_for("the mirror is paired", lambda: metric('berthmaster_mirror_pods{state="paired"}'))
        working = 'berthmaster_working_pods{config="%s",lifecycle="%s",static="%s"}'
        assert metric(working % ("desired", "sync", "true")) == 1
        assert metric(working % ("desired", "sync", "")) == 0
        assert metric('berthmaster_agent_source_pods{source="file"}') == 1
        assert metric('berthmaster_agent_source_pods{source="api"}') == 1
        (folder / "web.yaml").unlink()
        wait_for(
            "the mirror is an orphan", lambda: metric('berthmaster_mirror_pods{state="orphan"}')
        )
        assert metric(working % ("orphan", "terminating", "true")) == 1
        assert metric(working % ("desired", "sync", "true")) == 0
        delete_pod(plane, f"web-{NODE}")
        line = process.wait_line("Pod worker has finished (inferred)")
        assert 'reason="its mirror is gone"' in line


def test_a_source_that_is_not_ready_is_named(plane: ControlPlane, tmp_path: Path) -> None:
    path = write(tmp_path / "pod.yaml", "kind: Deployment\napiVersion: apps/v1\n")
    with agent(plane, tmp_path / "log", "--static-pod-path", str(path)) as process:
        process.wait_line("Cannot list manifests")
        wait_for("the API server's Pods", lambda: "[+]source-api ok" in checks(process))
        assert checks(process) == [
            "[+]ping ok",
            "[+]syncloop ok",
            (
                f"[-]source-file failed: not heard of yet: {path}: apiVersion v1 and kind Pod are "
                "required, not 'apps/v1' and 'Deployment'"
            ),
            "[+]source-api ok",
            "[+]shutdown ok",
            "readyz check failed",
        ]
        assert process.get("/livez") == (200, "ok")
        assert process.get("/healthz") == (200, "ok")
        put(path, manifest())
        wait_for("all is well", lambda: process.get("/readyz") == (200, "ok"))


def checks(process: AgentProcess) -> list[str]:
    return process.get("/readyz?verbose")[1].splitlines()


def test_serves_probes_to_all_and_the_rest_to_whom_rbac_allows(
    plane: ControlPlane, tmp_path: Path
) -> None:
    tokens = {}
    for name in ("agent-reader", "agent-stranger"):
        account = {"metadata": {"name": name}}
        create(plane, "/api/v1/namespaces/default/serviceaccounts", account)
        path = f"/api/v1/namespaces/default/serviceaccounts/{name}/token"
        tokens[name] = create(plane, path, {"spec": {}})["status"]["token"]
    roles = "/apis/rbac.authorization.k8s.io/v1"
    rule = {"nonResourceURLs": ["/metrics", "/configz"], "verbs": ["get"]}
    create(plane, f"{roles}/clusterroles", {"metadata": {"name": "read-agent"}, "rules": [rule]})
    subject = {"kind": "ServiceAccount", "namespace": "default", "name": "agent-reader"}
    role = {"kind": "ClusterRole", "name": "read-agent", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "read-agent"}, "roleRef": role, "subjects": [subject]}
    create(plane, f"{roles}/clusterrolebindings", binding)
    url = "http://user:password@127.0.0.1:1/"
    headers = ("--static-pod-url", url, "--static-pod-url-header", "Authorization: secret")
    with agent(plane, tmp_path / "log", *headers) as process:
        process.wait_line("Cannot fetch manifests")
        assert process.get("/livez") == (200, "ok")
        assert process.get("/metrics")[0] == 401
        assert process.get("/metrics", token="nobody's")[0] == 401
        assert process.get("/metrics", token=tokens["agent-stranger"])[0] == 403
        status, metrics = process.get("/metrics", token=tokens["agent-reader"])
        assert status == 200
        assert sample(metrics, 'berthmaster_agent_source_failing{source="http"}') == 1
        assert sample(metrics, 'berthmaster_watched_objects{resource="pods"}') == 0
        assert "berthmaster_watched_objects" in metrics
        status, configuration = process.get("/configz", token=tokens["agent-reader"])
        assert status == 200
        shown = json.loads(configuration)["agent"]
        assert shown["nodeName"] == NODE
        assert shown["staticPodURL"] == "http://127.0.0.1:1/"
        assert shown["staticPodURLHeader"] == {"Authorization": ["--- masked ---"]}
        assert "password" not in process.log() + configuration
        assert "secret" not in process.log() + configuration


def test_while_the_api_server_is_away_it_serves_what_it_knows_and_says_how_old(
    plane: ControlPlane, tmp_path: Path
) -> None:
    create_pod(plane, "a")
    arguments = ("--authorization", "none", "-v", "2")
    with agent(plane, tmp_path / "log", *arguments) as process:
        process.wait_line("All sources of Pods have been heard of")
        plane.stop_component("kube-apiserver", force=True)
        try:
            wait_for("it is told", lambda: process.get("/readyz")[0] == 500, timeout_seconds=60)
            (line,) = [line for line in checks(process) if "source-api" in line]
            assert re.match(
                r"\[-\]source-api failed: nothing heard of pods for \d+ s: GET .*: Cannot connect",
                line,
            )
            status, metrics = process.get("/metrics")
            assert status == 200
            assert sample(metrics, 'berthmaster_agent_source_pods{source="api"}') == 1
            assert sample(metrics, 'berthmaster_agent_source_ready{source="api"}') == 1
            assert sample(metrics, 'berthmaster_agent_source_failing{source="api"}') == 1
            assert process.get("/livez") == (200, "ok")
        finally:
            plane.start_component("kube-apiserver")
        wait_for("all is well", lambda: process.get("/readyz") == (200, "ok"), timeout_seconds=60)
        create_pod(plane, "b")
        wait_for("it goes on", lambda: "default/b" in process.log())
        added = [line for line in process.log().splitlines() if "SyncLoop ADD" in line]
        assert [line.rpartition("pods=")[2] for line in added] == ["[default/a]", "[default/b]"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--node-name", ""),
            "--node-name: a name is needed; in a Pod, set NODE_NAME from the field spec.nodeName",
        ),
        (
            ("--node-name", "n", "--kubeconfig", "/does/not/exist"),
            (
                "kubeconfig: no such file: /does/not/exist; name one that exists with --kubeconfig "
                "(inside a cluster leave it out to use the Pod's ServiceAccount)"
            ),
        ),
    ],
)
def test_what_cannot_be_started_is_told_in_one_line(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    with AgentProcess(tmp_path / "log", *arguments) as process:
        assert process.wait_exit() == 2
        assert process.log().splitlines()[-1] == f"Error: {message}"


def test_nothing_of_the_scheduler_is_imported() -> None:
    code = (
        "import sys, berthmaster.cli.agent as agent\n"
        "heavy = ('numpy', 'scheduler_svc', 'kubernetes_asyncio', 'cryptography', 'rich')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"
