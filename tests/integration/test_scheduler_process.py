"""The scheduler process, started as users start it, against a real API server."""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane, Reporter
from scheduler_svc.shell.health import UNSERVED
from scheduler_svc.shell.views.object_views import WATCHED_KINDS, WatchedKind
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess, StartedScheduler, as_json

pytestmark = pytest.mark.integration

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berthmaster"


@pytest.fixture(scope="module")
def module_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane of our own: other modules' Nodes would change what is said of ours."""
    state_dir = tmp_path_factory.mktemp("scheduler-process") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        yield running


@pytest.fixture
def plane(module_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give it empty, and nobody holding the Lease."""
    yield module_plane
    for path in (PODS, EVENTS, NODES):
        # At once: nobody is there to end a bound Pod's containers.
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        request(module_plane, "DELETE", path, options)
    request(module_plane, "DELETE", LEASE)
    wait_for("all Pods are gone", lambda: read(module_plane, PODS)["items"] == [])


def scheduler(plane: ControlPlane, log_path: Path, *arguments: str) -> SchedulerProcess:
    return StartedScheduler(
        log_path,
        *("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0"),
        *("--bind-address", "127.0.0.1", *arguments),
    )


def create_node(plane: ControlPlane, name: str, *, cpu: str = "4") -> None:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    create(
        plane,
        NODES,
        {"metadata": {"name": name}, "status": {"allocatable": allocatable}},
    )


def create_pod(plane: ControlPlane, name: str, *, cpu: str = "100m") -> None:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    spec = {"schedulerName": "berthmaster", "containers": [container]}
    create(plane, PODS, {"metadata": {"name": name}, "spec": spec})


def node_of(plane: ControlPlane, name: str) -> str:
    node: str = read(plane, f"{PODS}/{name}")["spec"].get("nodeName", "")
    return node


def wait_bound(plane: ControlPlane, name: str) -> None:
    wait_for(f"{name} is bound", lambda: node_of(plane, name))


def nodes_by_pod(plane: ControlPlane) -> dict[str, str]:
    return {
        pod["metadata"]["name"]: pod["spec"].get("nodeName", "")
        for pod in read(plane, PODS)["items"]
    }


def events_about(plane: ControlPlane, name: str) -> list[dict[str, Any]]:
    events = read(plane, EVENTS)["items"]
    return [event for event in events if event["regarding"]["name"] == name]


def scheduled_condition(plane: ControlPlane, name: str) -> dict[str, Any]:
    conditions = read(plane, f"{PODS}/{name}")["status"].get("conditions", [])
    found: list[dict[str, Any]] = [c for c in conditions if c["type"] == "PodScheduled"]
    return found[0] if found else {}


def test_places_pods_tells_of_them_and_ends_in_good_order(
    plane: ControlPlane, tmp_path: Path
) -> None:
    for name in ("n0", "n1", "n2"):
        create_node(plane, name)
    names = [f"p{number}" for number in range(60)]
    with scheduler(plane, tmp_path / "log", "-v", "3") as process:
        for name in names:
            create_pod(plane, name, cpu="200m")
        wait_for("all are bound", lambda: all(nodes_by_pod(plane).values()))

        placed = nodes_by_pod(plane)
        assert sorted(placed) == sorted(names)
        # 20 Pods of 200m fill a Node of 4 CPUs: any other spread would exceed one.
        assert {node: list(placed.values()).count(node) for node in ("n0", "n1", "n2")} == {
            "n0": 20,
            "n1": 20,
            "n2": 20,
        }
        wait_for("every Scheduled event", lambda: len(read(plane, EVENTS)["items"]) == 60)
        [event] = events_about(plane, "p7")
        assert event["reason"] == "Scheduled"
        assert event["note"] == f"Successfully assigned default/p7 to {placed['p7']}"
        assert event["reportingController"] == "berthmaster"

        uid = read(plane, f"{PODS}/p7")["metadata"]["uid"]
        about = [line for line in process.log().splitlines() if f"pod=default/p7 uid={uid}" in line]
        assert [line.split("  ")[1] for line in about] == [
            "Attempting to schedule pod",
            "Assumed pod",
            "Attempting to bind pod to node",
            "Successfully bound pod to node",
        ]
        assert all(f"node={placed['p7']}" in line for line in about[1:])

        process.send_signal(signal.SIGTERM)
        assert process.wait_exit() == 0
        assert read(plane, LEASE)["spec"]["holderIdentity"] == ""


def test_pod_that_fits_nowhere_says_why_and_is_placed_when_it_fits(
    plane: ControlPlane, tmp_path: Path
) -> None:
    create_node(plane, "small-0")
    create_node(plane, "small-1")
    # More than any Node has, so no eviction could help.
    reason = (
        "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: "
        "0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )
    with scheduler(plane, tmp_path / "log", "-v", "2", "--log-format", "json") as process:
        create_pod(plane, "large", cpu="6")
        wait_for("the event", lambda: events_about(plane, "large"))
        [event] = events_about(plane, "large")
        assert (event["type"], event["reason"]) == ("Warning", "FailedScheduling")
        assert event["note"] == reason
        assert event["action"] == "Scheduling"
        wait_for("the condition", lambda: scheduled_condition(plane, "large"))
        condition = scheduled_condition(plane, "large")
        assert condition["status"] == "False"
        assert condition["reason"] == "Unschedulable"
        assert condition["message"] == reason
        line = as_json(process.wait_line("Unable to schedule pod; no fit; waiting"))
        assert line["pod"] == "default/large"
        assert line["err"] == reason

        create_node(plane, "big", cpu="8")
        wait_bound(plane, "large")
        assert node_of(plane, "large") == "big"


def test_without_nodes_a_pod_waits(plane: ControlPlane, tmp_path: Path) -> None:
    with scheduler(plane, tmp_path / "log", "-v", "2") as process:
        create_pod(plane, "early")
        process.wait_line("no nodes available to schedule pods")
        create_node(plane, "late")
        wait_bound(plane, "early")


def watch_line(kind: WatchedKind) -> str:
    """Give what is said of a view: groups are not served here, and that is no fault."""
    if kind.api_kind == "PodGroup":
        return f"{kind.view_name} ok: {UNSERVED}"
    return f"{kind.view_name} ok"


def test_serves_probes_to_all_and_the_rest_to_whom_rbac_allows(
    plane: ControlPlane, tmp_path: Path
) -> None:
    objects = [watch_line(kind) for kind in WATCHED_KINDS]
    watches = ["nodes ok", "pods ok", *objects, "priorityclasses ok", "failed-pods ok"]
    tokens = {}
    for name in ("reader", "stranger"):
        account = {"metadata": {"name": name}}
        create(plane, "/api/v1/namespaces/default/serviceaccounts", account)
        path = f"/api/v1/namespaces/default/serviceaccounts/{name}/token"
        tokens[name] = create(plane, path, {"spec": {}})["status"]["token"]
    roles = "/apis/rbac.authorization.k8s.io/v1"
    rule = {"nonResourceURLs": ["/metrics", "/configz"], "verbs": ["get"]}
    create(plane, f"{roles}/clusterroles", {"metadata": {"name": "scrape"}, "rules": [rule]})
    subject = {"kind": "ServiceAccount", "namespace": "default", "name": "reader"}
    role = {"kind": "ClusterRole", "name": "scrape", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "scrape"}, "roleRef": role, "subjects": [subject]}
    create(plane, f"{roles}/clusterrolebindings", binding)
    create_node(plane, "n0")
    with scheduler(plane, tmp_path / "log") as process:
        create_pod(plane, "p0")
        wait_bound(plane, "p0")

        for path in ("/healthz", "/livez", "/readyz"):
            assert process.get(path) == (200, "ok")
        status, checks = process.get("/readyz?verbose")
        assert status == 200
        assert checks.splitlines() == [
            "[+]ping ok",
            "[+]leaderElection ok",
            "[+]watch-lease ok",
            "[+]sched-handler-sync ok",
            *[f"[+]watch-{line}" for line in watches],
            "[+]shutdown ok",
            "readyz check passed",
        ]
        assert process.get("/metrics")[0] == 401
        assert process.get("/metrics", token="nobody's")[0] == 401
        assert process.get("/metrics", token=tokens["stranger"])[0] == 403
        wait_for(
            "the bound Pod is counted",
            lambda: (
                'scheduler_schedule_attempts_total{profile="berthmaster",result="scheduled"} 1.0'
                in process.get("/metrics", token=tokens["reader"])[1]
            ),
        )
        status, metrics = process.get("/metrics", token=tokens["reader"])
        assert status == 200
        assert 'leader_election_master_status{name="berthmaster"} 1.0' in metrics
        assert 'scheduler_cache_size{type="nodes"} 1.0' in metrics
        assert 'berthmaster_api_calls_total{code="201",resource="pods/binding",verb="POST"}' in (
            metrics
        )
        status, configuration = process.get("/configz", token=tokens["reader"])
        assert status == 200
        component = json.loads(configuration)["componentconfig"]
        assert component["kind"] == "KubeSchedulerConfiguration"
        assert component["profiles"][0]["schedulerName"] == "berthmaster"


def test_standby_binds_after_the_leader_was_killed(plane: ControlPlane, tmp_path: Path) -> None:
    create_node(plane, "n0")
    timing = (
        *("--leader-elect-lease-duration", "3s", "--leader-elect-renew-deadline", "2s"),
        *("--leader-elect-retry-period", "500ms"),
    )
    with (
        scheduler(plane, tmp_path / "first", *timing) as first,
        scheduler(plane, tmp_path / "second", *timing) as second,
    ):
        wait_for("one leads", lambda: leaders(first, second))
        [leader] = leaders(first, second)
        create_pod(plane, "before")
        wait_bound(plane, "before")
        leader.send_signal(signal.SIGKILL)
        create_pod(plane, "after")
        wait_bound(plane, "after")
        assert leaders(first, second) == [first, second]


def test_leader_that_ends_hands_over_at_once(plane: ControlPlane, tmp_path: Path) -> None:
    create_node(plane, "n0")
    # Without the release a standby would have to wait longer than this test does.
    timing = ("--leader-elect-lease-duration", "120s")
    with (
        scheduler(plane, tmp_path / "first", *timing) as first,
        scheduler(plane, tmp_path / "second", *timing) as second,
    ):
        wait_for("one leads", lambda: leaders(first, second))
        [leader] = leaders(first, second)
        standby = second if leader is first else first
        standby.wait_line("Listed the cluster")
        assert "Leading" not in standby.log()
        leader.send_signal(signal.SIGTERM)
        create_pod(plane, "p0")
        wait_bound(plane, "p0")
        assert leader.wait_exit() == 0


def leaders(*processes: SchedulerProcess) -> list[SchedulerProcess]:
    return [process for process in processes if "Leading:" in process.log()]


def test_standby_that_shall_wait_lists_only_when_it_leads(
    plane: ControlPlane, tmp_path: Path
) -> None:
    create_node(plane, "n0")
    configuration = tmp_path / "scheduler.yaml"
    configuration.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "delayCacheUntilActive: true\n"
    )
    arguments = ("--config", str(configuration))
    with (
        scheduler(plane, tmp_path / "first", *arguments) as first,
        scheduler(plane, tmp_path / "second", *arguments) as second,
    ):
        wait_for("one leads", lambda: leaders(first, second))
        [leader] = leaders(first, second)
        leader.wait_line("Listed the cluster")
        standby = second if leader is first else first
        standby.wait_line("New leader elected")
        assert "Listed the cluster" not in standby.log()
        assert standby.get("/readyz") == (200, "ok")
        leader.send_signal(signal.SIGTERM)
        create_pod(plane, "p0")
        wait_bound(plane, "p0")
        assert "Listed the cluster" in standby.log()


def test_leader_ends_when_another_holds_its_lease(plane: ControlPlane, tmp_path: Path) -> None:
    with scheduler(plane, tmp_path / "log") as process:
        process.wait_line("Leading:")
        patch_lease_holder(plane, "somebody-else")
        assert process.wait_exit() == 1
        assert "Leaderelection lost" in process.log()
        assert "Traceback" not in process.log()


def patch_lease_holder(plane: ControlPlane, identity: str) -> None:
    def is_written() -> bool:
        lease = read(plane, LEASE)
        lease["spec"]["holderIdentity"] = identity
        return request(plane, "PUT", LEASE, lease)[0] == 200

    wait_for("the Lease is written between two renewals", is_written)


def test_api_server_away_is_said_survived_and_no_reason_to_spin(
    plane: ControlPlane, tmp_path: Path
) -> None:
    create_node(plane, "n0")
    with scheduler(plane, tmp_path / "log", "--leader-elect=false") as process:
        create_pod(plane, "before")
        wait_bound(plane, "before")
        plane.stop_component("kube-apiserver", force=True)
        try:
            process.wait_line("List or watch failed")
            used = process.cpu_seconds()
            time.sleep(3)
            # A loop without a wait would use all of them.
            assert process.cpu_seconds() - used < 0.3
        finally:
            plane.start_component("kube-apiserver")
        create_pod(plane, "after")
        wait_bound(plane, "after")
        wait_for("it is ready again", lambda: process.get("/readyz")[0] == 200)


def test_is_not_ready_before_it_knows_the_cluster(plane: ControlPlane, tmp_path: Path) -> None:
    plane.freeze("kube-apiserver")
    try:
        with scheduler(plane, tmp_path / "log") as process:
            process.wait_line("Serving securely")
            status, checks = process.get("/readyz?verbose")
            assert status == 500
            assert "[-]sched-handler-sync failed: not all resources have been listed" in checks
            assert "[-]watch-nodes failed: nodes not listed yet" in checks
            assert process.get("/livez") == (200, "ok")
            process.send_signal(signal.SIGTERM)
            assert process.wait_exit() == 0
    finally:
        plane.thaw("kube-apiserver")


def test_second_signal_ends_it_at_once(plane: ControlPlane, tmp_path: Path) -> None:
    with scheduler(plane, tmp_path / "log") as process:
        process.wait_line("Leading:")
        plane.freeze("kube-apiserver")
        try:
            process.send_signal(signal.SIGTERM)
            process.wait_line("Stopping")
            status, checks = process.get("/readyz?verbose")
            assert status == 500
            assert "[-]shutdown failed: process is shutting down" in checks
            process.send_signal(signal.SIGTERM)
            assert process.wait_exit() == -signal.SIGTERM
        finally:
            plane.thaw("kube-apiserver")


def test_dry_run_decides_and_writes_nothing(plane: ControlPlane, tmp_path: Path) -> None:
    create_node(plane, "n0")
    with scheduler(plane, tmp_path / "log", "--dry-run", "-v", "2") as process:
        create_pod(plane, "fits")
        create_pod(plane, "too-large", cpu="6")
        process.wait_line("Would have bound pod to node  pod=default/fits")
        process.wait_line("Unable to schedule pod; no fit; waiting  pod=default/too-large")
        process.send_signal(signal.SIGTERM)
        assert process.wait_exit() == 0
    assert nodes_by_pod(plane) == {"fits": "", "too-large": ""}
    assert scheduled_condition(plane, "too-large") == {}
    assert read(plane, EVENTS)["items"] == []
    assert request(plane, "GET", LEASE)[0] == 404


def test_configured_profiles_and_limits_are_used(plane: ControlPlane, tmp_path: Path) -> None:
    """MostAllocated packs what the default would spread, and a limit of requests is kept."""
    configuration = tmp_path / "scheduler.yaml"
    configuration.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        f"clientConnection: {{kubeconfig: {plane.kubeconfig_path}, qps: 20, burst: 5}}\n"
        "leaderElection: {leaderElect: false}\n"
        "profiles:\n"
        "- schedulerName: default-scheduler\n"
        "  plugins: {score: {disabled: [{name: NodeResourcesBalancedAllocation}]}}\n"
        "  pluginConfig:\n"
        "  - name: NodeResourcesFit\n"
        "    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}\n"
    )
    create_node(plane, "n0")
    create_node(plane, "n1")
    arguments = ("--config", str(configuration), "--secure-port", "0")
    with SchedulerProcess(
        tmp_path / "log", *arguments, "--bind-address", "127.0.0.1", "--authorization", "none"
    ) as process:
        for number in range(10):
            create_pod(plane, f"p{number}")
        wait_for("all are bound", lambda: all(nodes_by_pod(plane).values()))
        assert len(set(nodes_by_pod(plane).values())) == 1
        assert process.get("/metrics")[0] == 200
        assert "the profile default-scheduler is served as berthmaster" in process.log()


def test_port_that_is_taken_is_told_in_one_line(plane: ControlPlane, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with scheduler(plane, tmp_path / "log", "--secure-port", port) as process:
            assert process.wait_exit() == 1
            assert f"cannot serve on 127.0.0.1:{port}: Address already in use" in process.log()
            assert "Traceback" not in process.log()
