"""What the embedded control plane gives to those who use it as a library."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.controlplane import ControlPlane, DeployError, ports
from deploy.programs import processes
from tests.integration.rest import create, read, request, wait_for

pytestmark = pytest.mark.integration

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def own_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane whose components a test may stop: etcd and the API server only."""
    state_dir = tmp_path_factory.mktemp("own") / "state"
    with ControlPlane(state_dir, with_controller_manager=False) as running:
        yield running


def node(name: str, **annotations: str) -> dict[str, Any]:
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "example.invalid/main"}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def ready_condition(stored: dict[str, Any]) -> str:
    conditions = stored.get("status", {}).get("conditions", [])
    return next((each["status"] for each in conditions if each["type"] == "Ready"), "")


def test_nobody_but_the_administrator_is_let_in(control_plane: ControlPlane) -> None:
    path = "/api/v1/namespaces/default/secrets"
    assert request(control_plane, "GET", path, token="")[0] == 403
    assert request(control_plane, "GET", path, token="guessed")[0] == 401
    assert request(control_plane, "GET", path)[0] == 200


def test_the_kubeconfig_verifies_the_server(control_plane: ControlPlane) -> None:
    content = yaml.safe_load(control_plane.kubeconfig_path.read_text())
    cluster = content["clusters"][0]["cluster"]
    assert set(cluster) == {"server", "certificate-authority-data"}
    assert cluster["server"] == control_plane.url
    assert content["users"][0]["user"] == {"token": control_plane.token}


def test_files_are_for_their_owner_only(control_plane: ControlPlane) -> None:
    root = control_plane.directory.path
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    for path in root.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode & 0o077 == 0, f"{path} has mode {mode:o}"
        if path.is_file():
            assert mode == 0o600, f"{path} has mode {mode:o}"


def test_servers_listen_on_loopback_only_and_etcd_on_no_port(control_plane: ControlPlane) -> None:
    addresses = {name: listening_addresses(pid) for name, pid in control_plane.pids.items()}
    port = int(control_plane.url.rpartition(":")[2])
    assert addresses["etcd"] == []
    assert addresses["kube-apiserver"] == [("127.0.0.1", port)]
    assert [host for host, _ in addresses["kube-controller-manager"]] == ["127.0.0.1"]


def listening_addresses(pid: int) -> list[tuple[str, int]]:
    """List where a process listens, from /proc (proc_pid_net(5): addresses are hexadecimal)."""
    descriptors = Path(f"/proc/{pid}/fd").iterdir()
    links = {os.readlink(path) for path in descriptors}
    found = []
    for family, table in ((socket.AF_INET, "tcp"), (socket.AF_INET6, "tcp6")):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            address, port = fields[1].split(":")
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in links:
                raw = bytes.fromhex(address)
                words = [raw[i : i + 4][::-1] for i in range(0, len(raw), 4)]
                found.append((socket.inet_ntop(family, b"".join(words)), int(port, 16)))
    return found


def test_another_user_has_only_the_rights_that_rbac_gives(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    path = tmp_path / "visitor"
    control_plane.write_client_kubeconfig(path, user="visitor", groups=("guests",))
    user = yaml.safe_load(path.read_text())["users"][0]["user"]
    context = ssl.create_default_context(cafile=control_plane.ca_path)
    context.load_cert_chain(user["client-certificate"], user["client-key"])
    host = control_plane.url.removeprefix("https://")

    def ask(method: str, url: str, body: str | None = None) -> tuple[int, dict[str, Any]]:
        connection = http.client.HTTPSConnection(host, context=context)
        try:
            connection.request(method, url, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    status, answer = ask(
        "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", json.dumps(review)
    )
    assert status == 201
    assert answer["status"]["userInfo"]["username"] == "visitor"
    assert answer["status"]["userInfo"]["groups"] == ["guests", "system:authenticated"]
    assert ask("GET", "/api/v1/namespaces/default/pods")[0] == 403


def test_without_kwok_a_node_can_take_pods_at_once(control_plane: ControlPlane) -> None:
    stored = create(control_plane, "/api/v1/nodes", node("no-kwok"))
    assert "taints" not in stored["spec"]
    request(control_plane, "DELETE", "/api/v1/nodes/no-kwok")


def test_kwok_keeps_its_nodes_ready_and_runs_their_pods(
    control_plane_with_kwok: ControlPlane,
) -> None:
    plane = control_plane_with_kwok
    create(plane, "/api/v1/nodes", node("ours", **{"kwok.x-k8s.io/node": "fake"}))
    create(plane, "/api/v1/nodes", node("others"))
    sidecar = {"name": "sidecar", "image": "example.invalid/s", "restartPolicy": "Always"}
    first = {"name": "first", "image": "example.invalid/f"}
    pods = "/api/v1/namespaces/default/pods"
    create(plane, pods, pod("runs", nodeName="ours", initContainers=[first, sidecar]))
    create(plane, pods, pod("waits", nodeName="others"))
    create(plane, pods, pod("unbound"))

    wait_for("Node Ready", lambda: ready_condition(read(plane, "/api/v1/nodes/ours")) == "True")
    wait_for("no taint", lambda: "taints" not in read(plane, "/api/v1/nodes/ours")["spec"])
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/ours"
    assert read(plane, lease)["spec"]["leaseDurationSeconds"] == 40
    wait_for("Pod Running", lambda: read(plane, f"{pods}/runs")["status"]["phase"] == "Running")
    status = read(plane, f"{pods}/runs")["status"]
    assert ready_condition({"status": status}) == "True"
    assert [list(each["state"]) for each in status["initContainerStatuses"]] == [
        ["terminated"],
        ["running"],
    ]
    assert read(plane, f"{pods}/waits")["status"]["phase"] == "Pending"
    assert read(plane, f"{pods}/unbound")["status"]["phase"] == "Pending"
    assert ready_condition(read(plane, "/api/v1/nodes/others")) == ""

    assert request(plane, "DELETE", f"{pods}/runs")[0] == 200
    wait_for("Pod gone", lambda: request(plane, "GET", f"{pods}/runs")[0] == 404)
    for path in (f"{pods}/waits", f"{pods}/unbound", "/api/v1/nodes/ours", "/api/v1/nodes/others"):
        request(plane, "DELETE", f"{path}?gracePeriodSeconds=0")


def test_a_job_of_kwoks_nodes_completes(control_plane_with_kwok: ControlPlane) -> None:
    plane = control_plane_with_kwok
    create(plane, "/api/v1/nodes", node("worker", **{"kwok.x-k8s.io/node": "fake"}))
    template = pod("job", nodeName="worker", restartPolicy="Never")
    job = {"metadata": {"name": "once"}, "spec": {"template": template}}
    path = "/apis/batch/v1/namespaces/default/jobs"
    create(plane, path, job)
    wait_for("Job done", lambda: read(plane, f"{path}/once")["status"].get("succeeded") == 1)
    request(plane, "DELETE", f"{path}/once?propagationPolicy=Background")
    request(plane, "DELETE", "/api/v1/nodes/worker")


def test_a_stopped_server_comes_back_with_its_objects_and_its_port(
    own_control_plane: ControlPlane,
) -> None:
    plane = own_control_plane
    url, old_pids = plane.url, plane.pids
    create(plane, "/api/v1/namespaces", {"metadata": {"name": "kept"}})
    plane.stop_component("kube-apiserver")
    assert set(plane.pids) == {"etcd"}
    with pytest.raises(ConnectionRefusedError):
        read(plane, "/readyz")
    plane.stop_component("etcd", force=True)
    assert plane.pids == {}
    plane.start_component("etcd")
    plane.start_component("kube-apiserver")
    assert plane.url == url
    assert plane.pids["kube-apiserver"] != old_pids["kube-apiserver"]
    assert read(plane, "/api/v1/namespaces/kept")["metadata"]["name"] == "kept"


def test_a_frozen_server_accepts_connections_and_is_silent(
    own_control_plane: ControlPlane,
) -> None:
    plane = own_control_plane
    plane.freeze("kube-apiserver")
    try:
        address = ("127.0.0.1", int(plane.url.rpartition(":")[2]))
        with socket.create_connection(address, timeout=5) as connection:
            connection.settimeout(0.2)
            with pytest.raises(TimeoutError):
                connection.recv(1)
    finally:
        plane.thaw("kube-apiserver")
    assert read(plane, "/api/v1/namespaces/default")["metadata"]["name"] == "default"


def test_a_hung_component_is_replaced(
    own_control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane = own_control_plane
    monkeypatch.setattr("deploy.controlplane.supervisor.HUNG_AFTER_SECONDS", 0.5)
    before = plane.pids
    plane.freeze("kube-apiserver")
    plane.start_component("kube-apiserver")
    assert plane.pids["kube-apiserver"] != before["kube-apiserver"]
    assert plane.pids["etcd"] == before["etcd"]
    assert read(plane, "/api/v1/namespaces/default")["metadata"]["name"] == "default"


@pytest.mark.parametrize("name", ["kube-apiserver", "kwok"])
def test_a_port_taken_at_the_last_moment_is_given_up(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        really_free = ports.is_free
        monkeypatch.setattr(ports, "is_free", lambda port: port == taken or really_free(port))
        plane = ControlPlane(tmp_path / "state", with_kwok=True)
        plane.directory.create()
        try:
            plane.start(plane.find_binaries, preferred_ports={name: taken})
            record = json.loads(plane.directory.record.read_text())
            assert taken not in record["ports"].values()
            assert plane.url == f"https://127.0.0.1:{record['ports']['kube-apiserver']}"
            assert set(plane.pids) == {"etcd", "kube-apiserver", "kube-controller-manager", "kwok"}
        finally:
            plane.stop()


def test_without_a_controller_manager_pods_need_no_service_account(
    own_control_plane: ControlPlane,
) -> None:
    stored = create(own_control_plane, "/api/v1/namespaces/default/pods", pod("plain"))
    assert stored["status"]["phase"] == "Pending"


def test_a_component_that_does_not_run_cannot_be_frozen(control_plane: ControlPlane) -> None:
    with pytest.raises(DeployError, match="kwok does not run"):
        control_plane.freeze("kwok")


def test_a_wrong_argument_is_shown_with_the_log(tmp_path: Path) -> None:
    state_dir = tmp_path / "state"
    plane = ControlPlane(state_dir, apiserver_args=["--no-such-flag"])
    with pytest.raises(DeployError) as caught, plane:
        pass
    assert "kube-apiserver ended by itself" in str(caught.value)
    assert "unknown flag: --no-such-flag" in str(caught.value)
    assert processes.find(plane.directory.path) == []
    assert not state_dir.exists()


def test_a_killed_user_leaves_nothing(tmp_path: Path) -> None:
    state_dir = tmp_path / "state"
    program = (
        "import sys, time\n"
        "from deploy.controlplane import ControlPlane\n"
        "with ControlPlane(sys.argv[1], with_controller_manager=False):\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(state_dir)],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
    ) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == "ready\n"
        assert len(processes.find(state_dir)) == 2
        user.kill()
    wait_for("processes ended", lambda: not processes.find(state_dir))
    wait_for("files removed", lambda: not state_dir.exists())
