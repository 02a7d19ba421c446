"""SchedulerProfiles on a real API server, followed by the scheduler that users start."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration import forked
from tests.integration.controller_objects import (
    PODS,
    PROFILES,
    clear,
    condition_of,
    controller,
    define_all,
    delete,
    events_about,
    status_of,
    wait_told,
)
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

NODES = "/api/v1/nodes"
WITHOUT_VOLUMES = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: spartan
  plugins:
    multiPoint:
      disabled: [{name: "*"}]
      enabled: [{name: PrioritySort}, {name: NodeResourcesFit}, {name: DefaultBinder}]
"""

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a cluster of two Nodes that does not serve SchedulerProfiles yet."""
    state_dir = tmp_path_factory.mktemp("live-profiles") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        for name in ("a", "b"):
            allocatable = {"cpu": "8", "memory": "16Gi", "pods": "110"}
            metadata = {"name": name, "labels": {"zone": name}}
            create(running, NODES, {"metadata": metadata, "status": {"allocatable": allocatable}})
        yield running


@pytest.fixture(scope="module")
def process(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchedulerProcess]:
    """Give a scheduler that ran before SchedulerProfiles were defined."""
    with scheduler(plane, tmp_path_factory.mktemp("log") / "log") as running:
        running.wait_line("Leading")
        define_all(plane)
        yield running


@pytest.fixture(autouse=True)
def cleared(plane: ControlPlane, process: SchedulerProcess) -> Iterator[None]:
    yield
    clear(plane, PROFILES, PODS)


def scheduler(plane: ControlPlane, log_path: Path, *arguments: str) -> SchedulerProcess:
    kubeconfig = ("--kubeconfig", str(plane.kubeconfig_path), "--authorization", "none")
    return SchedulerProcess(log_path, *kubeconfig, "--secure-port", "0", *arguments)


def profile_spec(scheduler_name: str, *, zone: str = "") -> Manifest:
    """Write a profile whose Pods go to one zone alone, if that is given."""
    spec: Manifest = {"schedulerName": scheduler_name}
    if zone:
        expression = {"key": "zone", "operator": "In", "values": [zone]}
        terms = [{"matchExpressions": [expression]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        args = {"addedAffinity": required}
        spec["pluginConfig"] = [{"name": "NodeAffinity", "args": args}]
    return spec


def create_profile(plane: ControlPlane, name: str, spec: Manifest) -> None:
    body = {
        "apiVersion": "berthmaster.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": spec,
    }
    create(plane, PROFILES, body)


def change_profile(plane: ControlPlane, name: str, spec: Manifest) -> int:
    """Write another spec; give its generation."""
    stored = read(plane, f"{PROFILES}/{name}")
    code, answer = request(plane, "PUT", f"{PROFILES}/{name}", {**stored, "spec": spec})
    assert code == 200, answer
    generation: int = answer["metadata"]["generation"]
    return generation


def create_pod(plane: ControlPlane, name: str, scheduler_name: str, **spec: Any) -> None:
    spec = {
        "schedulerName": scheduler_name,
        "automountServiceAccountToken": False,
        "containers": [{"name": "c", "image": "i:1"}],
        **spec,
    }
    create(plane, PODS, {"metadata": {"name": name}, "spec": spec})


def node_of(plane: ControlPlane, name: str) -> str:
    return str(read(plane, f"{PODS}/{name}")["spec"].get("nodeName", ""))


def wait_bound(plane: ControlPlane, name: str) -> str:
    wait_for(f"{name} is bound", partial(node_of, plane, name))
    return node_of(plane, name)


def explain(plane: ControlPlane, *arguments: str) -> str:
    kubeconfig = ("--kubeconfig", str(plane.kubeconfig_path))
    done = forked.run("explain", *arguments, "-o", "json", *kubeconfig)
    assert done.returncode == 0, done.stderr
    return done.stdout


def findings(plane: ControlPlane) -> dict[str, dict[str, Any]]:
    """Diagnose, and give the findings by check."""
    kubeconfig = ("--kubeconfig", str(plane.kubeconfig_path))
    done = forked.run("diagnose", "--no-ask", "-o", "json", *kubeconfig)
    return {finding["check"]: finding for finding in json.loads(done.stdout)["findings"]}


def port_of(process: SchedulerProcess) -> int:
    return int(process.wait_line("Serving securely").rpartition("port=")[2])


def observed(plane: ControlPlane, name: str) -> list[int]:
    """Give the generations that schedulers say they run."""
    entries = status_of(plane, f"{PROFILES}/{name}").get("observedBy", [])
    return [entry["generation"] for entry in entries]


def wait_observed(plane: ControlPlane, name: str, *generations: int) -> None:
    wait_for(f"{name} is run in {generations}", lambda: observed(plane, name) == list(generations))


def test_a_profile_that_comes_finds_the_pods_that_waited_for_it(
    plane: ControlPlane, process: SchedulerProcess
) -> None:
    create_pod(plane, "early", "batch")
    create_profile(plane, "night", profile_spec("batch", zone="b"))
    assert wait_bound(plane, "early") == "b"
    wait_observed(plane, "night", 1)
    process.wait_line("Profile is in force")
    wait_told(plane, "early", "Scheduled", kind="Pod")
    metrics = process.get("/metrics")[1]
    assert 'scheduler_schedule_attempts_total{profile="batch",result="scheduled"} 1' in metrics
    assert 'berthmaster_watched_objects{resource="schedulerprofiles"} 1' in metrics
    [shown] = json.loads(process.get("/configz")[1])["schedulerProfiles"]
    assert (shown["name"], shown["generation"]) == ("night", 1)
    assert shown["profile"]["schedulerName"] == "batch"


def test_a_change_is_in_force_for_the_next_attempt_and_for_pods_that_wait(
    plane: ControlPlane, process: SchedulerProcess
) -> None:
    create_profile(plane, "change", profile_spec("change", zone="nowhere"))
    create_pod(plane, "waits", "change")
    wait_for(
        "the Pod is rejected", lambda: read(plane, f"{PODS}/waits")["status"].get("conditions")
    )
    port = process.wait_line("Serving securely").rpartition("port=")[2]
    for source in (["--server", f"https://127.0.0.1:{port}"], ["--from-cluster"]):
        told = explain(plane, "pod", "waits", *source)
        assert "2 node(s) didn't match scheduler-enforced node affinity" in told
    generation = change_profile(plane, "change", profile_spec("change", zone="a"))
    assert wait_bound(plane, "waits") == "a"
    wait_observed(plane, "change", generation)
    generation = change_profile(plane, "change", profile_spec("change", zone="b"))
    wait_observed(plane, "change", generation)
    create_pod(plane, "next", "change")
    assert wait_bound(plane, "next") == "b"


def test_an_invalid_change_leaves_the_last_good_one_running(
    plane: ControlPlane, process: SchedulerProcess, tmp_path: Path
) -> None:
    good = profile_spec("steady", zone="b")
    bad = {**good, "plugins": {"score": {"enabled": [{"name": "NodeResourceFit"}]}}}
    path = f"{PROFILES}/steady"

    def condition(type_: str) -> tuple[str, str]:
        found = condition_of(plane, path, type_)
        return found.get("status", ""), found.get("reason", "")

    with controller(plane, tmp_path / "controller"):
        create_profile(plane, "steady", good)
        wait_observed(plane, "steady", 1)
        wait_for("it is active", lambda: condition("Active") == ("True", "Running"))
        assert condition("Valid") == ("True", "Valid")
        assert change_profile(plane, "steady", bad) == 2
        line = process.wait_line("SchedulerProfile cannot be run")
        wait_for("it is invalid", lambda: condition("Valid") == ("False", "Invalid"))
        # Both say the same.
        where = "spec.plugins.score.enabled[0].name"
        assert where in line
        assert where in condition_of(plane, path, "Valid")["message"]
        assert condition("Active") == ("False", "Invalid")
    create_pod(plane, "still", "steady")
    assert wait_bound(plane, "still") == "b"
    assert observed(plane, "steady") == [1]
    # A scheduler that starts now runs what was valid last.
    with scheduler(plane, tmp_path / "log", "--leader-elect=false", "--scheduler-name", "x") as new:
        assert "generation=1" in new.wait_line("Profile is in force")
        wait_observed(plane, "steady", 1, 1)


def test_pods_of_a_profile_that_goes_are_told(
    plane: ControlPlane, process: SchedulerProcess, tmp_path: Path
) -> None:
    create_profile(plane, "gone", profile_spec("gone", zone="nowhere"))
    create_pod(plane, "left", "gone")
    wait_for("the Pod is rejected", lambda: read(plane, f"{PODS}/left")["status"].get("conditions"))
    with scheduler(plane, tmp_path / "log") as standby:
        wait_observed(plane, "gone", 1, 1)
        delete(plane, f"{PROFILES}/gone")
        for each in (process, standby):
            each.wait_line('why="SchedulerProfile gone was deleted"')
        # In good order, so that it has written all Events that it had to.
        standby.send_signal(signal.SIGTERM)
        assert standby.wait_exit() == 0

    def farewells() -> list[str]:
        events = events_about(plane, "left", "Pod")
        return [e["note"] for e in events if e["reason"] == "SchedulerProfileDeleted"]

    wait_for("the Pod's users are told", farewells)
    [note] = farewells()
    assert note == (
        'SchedulerProfile gone was deleted: no profile serves schedulerName "gone" any more. '
        "Create one that does, or create the Pod anew with a schedulerName that is served: "
        "berthmaster"
    )
    unknown = findings(plane)["scheduler-name-unknown"]
    assert (unknown["objects"], unknown["detail"]) == (["default/left"], [note])
    server = f"https://127.0.0.1:{port_of(process)}"
    told = forked.run("explain", "pod", "left", "--server", server)
    assert "served are: berthmaster" in told.stderr
    create_profile(plane, "back", profile_spec("gone", zone="a"))
    assert wait_bound(plane, "left") == "a"
    assert "scheduler-name-unknown" not in findings(plane)


def test_each_scheduler_says_what_it_runs_and_takes_that_back_when_it_ends(
    plane: ControlPlane, process: SchedulerProcess, tmp_path: Path
) -> None:
    create_profile(plane, "shared", profile_spec("shared"))
    wait_observed(plane, "shared", 1)
    with scheduler(plane, tmp_path / "log") as standby:
        wait_observed(plane, "shared", 1, 1)
        version = read(plane, f"{PROFILES}/shared")["metadata"]["resourceVersion"]
        create_pod(plane, "one", "shared")
        wait_bound(plane, "one")
        assert read(plane, f"{PROFILES}/shared")["metadata"]["resourceVersion"] == version
        standby.send_signal(signal.SIGTERM)
        assert standby.wait_exit() == 0
    wait_observed(plane, "shared", 1)
    # The API server knows each scheduler as an owner of its own.
    fields = read(plane, f"{PROFILES}/shared")["metadata"]["managedFields"]
    managers = [entry["manager"] for entry in fields if entry.get("subresource") == "status"]
    assert all(manager.startswith("berthmaster-scheduler-") for manager in managers)


def test_what_a_profile_needs_is_watched_from_when_it_comes(
    plane: ControlPlane, process: SchedulerProcess, tmp_path: Path
) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(WITHOUT_VOLUMES)
    arguments = ("--config", str(path), "--scheduler-name", "spartan")
    with scheduler(plane, tmp_path / "log", *arguments) as spartan:
        spartan.wait_line("Leading")
        assert 'resource="persistentvolumeclaims"' not in spartan.get("/metrics")[1]
        create_profile(plane, "full", profile_spec("full"))
        wait_observed(plane, "full", 1, 1)
        line = 'berthmaster_watched_objects{resource="persistentvolumeclaims"}'
        assert line in spartan.get("/metrics")[1]
        assert spartan.get("/readyz")[0] == 200


def test_who_is_told_not_to_follow_does_not(
    plane: ControlPlane, process: SchedulerProcess, tmp_path: Path
) -> None:
    create_profile(plane, "ours", profile_spec("ours"))
    wait_observed(plane, "ours", 1)
    arguments = ("--no-scheduler-profiles", "--leader-elect=false", "--scheduler-name", "alone")
    with scheduler(plane, tmp_path / "log", *arguments) as alone:
        create_pod(plane, "mine", "alone")
        wait_bound(plane, "mine")
        assert "schedulerProfiles" not in json.loads(alone.get("/configz")[1])
        assert "schedulerprofiles" not in alone.get("/metrics")[1]
    assert observed(plane, "ours") == [1]
