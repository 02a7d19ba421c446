"""The status of PodGroups: a real controller beside a real API server."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.controller_objects import (
    EVENTS,
    GROUPS,
    PATIENCE_SECONDS,
    PODS,
    bind,
    clear,
    condition_of,
    controller,
    create_group,
    create_member,
    define_all,
    delete,
    refuse,
    set_phase,
    set_status,
    status_of,
    versions,
    wait_told,
)
from tests.integration.rest import read, request, wait_for

pytestmark = pytest.mark.integration

NO_ELECTION = "--leader-elect=false"
LONG = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: none; and more"
WRITTEN = (
    "berthmaster_controller_status_writes_total"
    '{resource="podgroups.scheduling.x-k8s.io",result="written"}'
)


@pytest.fixture(scope="module")
def module_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane of our own, whose API server may be stopped."""
    state_dir = tmp_path_factory.mktemp("controller") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        define_all(running)
        yield running


@pytest.fixture
def plane(module_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give it without groups, Pods and Events."""
    yield module_plane
    clear(module_plane, PODS, GROUPS, EVENTS)


AWAY_SECONDS = 90.0
"""After an outage everything is tried again within half a minute, and lists come after that."""


def wait_status(
    plane: ControlPlane,
    group: str,
    reason: str,
    *,
    timeout_seconds: float = PATIENCE_SECONDS,
    **expected: object,
) -> None:
    """Wait until a group's status says all of this; 0: it may say nothing."""

    def told() -> dict[str, object]:
        status = status_of(plane, f"{GROUPS}/{group}")
        found = {name: status.get(name, 0) for name in expected}
        scheduled = condition_of(plane, f"{GROUPS}/{group}", "PodGroupScheduled")
        return {**found, "reason": scheduled.get("reason")}

    wanted = {**expected, "reason": reason}
    seen: list[dict[str, object]] = []

    def is_told() -> bool:
        seen.append(told())
        return seen[-1] == wanted

    try:
        wait_for(f"{wanted}", is_told, timeout_seconds=timeout_seconds)
    except AssertionError:
        raise AssertionError(f"{wanted} expected, last seen: {seen[-1]}") from None


def test_the_life_of_a_group_is_told_step_by_step(plane: ControlPlane, tmp_path: Path) -> None:
    path = f"{GROUPS}/train"
    with controller(plane, tmp_path / "log", NO_ELECTION) as process:
        create_group(plane, "train", 3)
        wait_status(plane, "train", "Waiting", phase="Pending")
        pods = ["train-0", "train-1", "train-2"]
        for pod in pods:
            create_member(plane, pod, "train")
        wait_status(plane, "train", "Waiting", phase="PreScheduling")
        for pod in pods:
            refuse(plane, pod, f"pod group train: needs 3, 2 fit: 1 lacks cpu; {LONG}")
        wait_status(plane, "train", "Unschedulable", phase="Pending")
        scheduled = condition_of(plane, path, "PodGroupScheduled")
        assert scheduled["status"] == "False"
        assert scheduled["message"] == "needs 3, 2 fit: 1 lacks cpu"
        assert scheduled["observedGeneration"] == 1
        for pod in pods:
            bind(plane, pod)
        wait_status(plane, "train", "Scheduled", phase="Scheduled", scheduled=3)
        for pod in pods:
            set_phase(plane, pod, "Running")
        wait_status(plane, "train", "Scheduled", phase="Running", scheduled=3, running=3)
        delete(plane, f"{PODS}/train-2")
        wait_status(plane, "train", "Short", phase="Pending", scheduled=2, running=2)
        create_member(plane, "train-3", "train")
        wait_status(plane, "train", "Short", phase="Scheduling", scheduled=2, running=2)
        bind(plane, "train-3")
        wait_status(plane, "train", "Scheduled", phase="Scheduled", scheduled=3, running=2)
        for pod in ("train-0", "train-1", "train-3"):
            set_phase(plane, pod, "Succeeded")
        wait_status(plane, "train", "Scheduled", phase="Finished", succeeded=3, running=0)
        for pod in ("train-0", "train-1", "train-3"):
            delete(plane, f"{PODS}/{pod}")
        delete(plane, path)
        wait_for("the group is forgotten", lambda: process.metric(phase("Finished")) == 0)
        assert "Traceback" not in process.log()
        reasons = ("Unschedulable", "Scheduled", "Short", "Scheduled", "Finished")
        told = wait_told(plane, "train", *reasons)
    types = ["Warning", "Normal", "Warning", "Normal", "Normal"]
    assert [event["type"] for event in told] == types


def phase(name: str) -> str:
    return f'berthmaster_pod_groups{{phase="{name}"}}'


def test_a_group_may_come_after_its_pods_and_change_its_minimum(
    plane: ControlPlane, tmp_path: Path
) -> None:
    with controller(plane, tmp_path / "log", NO_ELECTION):
        create_member(plane, "a", "late")
        create_member(plane, "b", "late")
        bind(plane, "a")
        create_group(plane, "late", 1)
        wait_status(plane, "late", "Scheduled", phase="Scheduled", scheduled=1)
        patch_spec(plane, "late", 2)
        wait_status(plane, "late", "Short", phase="Scheduling", scheduled=1)
        scheduled = condition_of(plane, f"{GROUPS}/late", "PodGroupScheduled")
        assert scheduled["message"] == "needs 2, 1 has a Node"
        bind(plane, "b")
        wait_status(plane, "late", "Scheduled", phase="Scheduled", scheduled=2)
        scheduled = condition_of(plane, f"{GROUPS}/late", "PodGroupScheduled")
        assert scheduled["observedGeneration"] == 2


def patch_spec(plane: ControlPlane, name: str, min_member: int) -> None:
    group = read(plane, f"{GROUPS}/{name}")
    group["spec"]["minMember"] = min_member
    code, answer = request(plane, "PUT", f"{GROUPS}/{name}", group)
    assert code == 200, answer


def annotate(plane: ControlPlane, name: str, **annotations: str) -> None:
    group = read(plane, f"{GROUPS}/{name}")
    ours = {f"berthmaster.dev/{key}": value for key, value in annotations.items()}
    group["metadata"]["annotations"] = ours
    code, answer = request(plane, "PUT", f"{GROUPS}/{name}", group)
    assert code == 200, answer


def test_an_annotation_that_cannot_be_followed_is_told(plane: ControlPlane, tmp_path: Path) -> None:
    zone = "topology.kubernetes.io/zone"
    with controller(plane, tmp_path / "log", NO_ELECTION):
        create_group(plane, "packed", 1)
        wait_status(plane, "packed", "Waiting", phase="Pending")

        def valid() -> tuple[str, str]:
            found = condition_of(plane, f"{GROUPS}/packed", "Valid")
            return found.get("status", ""), found.get("message", "")

        assert valid() == ("", "")
        annotate(plane, "packed", **{"pack-by": zone, "pack-by-mode": "preferred"})
        wait_for("the mode is named", lambda: 'Unsupported value: "preferred"' in valid()[1])
        assert valid()[0] == "False"
        annotate(plane, "packed", **{"pack-by": zone, "pack-by-mode": "Preferred"})
        wait_for("it is put right", lambda: valid()[0] == "True")
        wait_status(plane, "packed", "Waiting", phase="Pending")
        wait_told(plane, "packed", "Invalid")


def test_a_burst_of_changes_gives_few_writes(plane: ControlPlane, tmp_path: Path) -> None:
    count = 50
    with controller(plane, tmp_path / "log", NO_ELECTION) as process:
        create_group(plane, "large", count)
        wait_status(plane, "large", "Waiting", phase="Pending")
        for number in range(count):
            create_member(plane, f"large-{number}", "large")
        wait_status(plane, "large", "Waiting", phase="PreScheduling")
        before = process.metric(WRITTEN)
        for number in range(count):
            bind(plane, f"large-{number}")
        wait_status(plane, "large", "Scheduled", phase="Scheduled", scheduled=count)
        assert process.metric(WRITTEN) - before <= 10


def test_a_restart_writes_nothing(plane: ControlPlane, tmp_path: Path) -> None:
    with controller(plane, tmp_path / "first", NO_ELECTION) as process:
        for name, members in (("waits", 1), ("stuck", 2), ("runs", 2)):
            create_group(plane, name, 2)
            for number in range(members):
                create_member(plane, f"{name}-{number}", name)
        for number in range(2):
            refuse(plane, f"stuck-{number}", f"pod group stuck: needs 2, 1 fits; {LONG}")
            bind(plane, f"runs-{number}")
            set_phase(plane, f"runs-{number}", "Running")
        wait_status(plane, "waits", "Waiting", phase="Pending")
        wait_status(plane, "stuck", "Unschedulable", phase="Pending")
        wait_status(plane, "runs", "Scheduled", phase="Running", running=2)
        process.wait_settled()
        process.send_signal(signal.SIGTERM)
        assert process.wait_exit() == 0
    before, events = versions(plane, GROUPS, PODS), read(plane, EVENTS)["items"]
    with controller(plane, tmp_path / "second", NO_ELECTION) as process:
        process.wait_settled()
        assert versions(plane, GROUPS, PODS) == before
        assert process.write_count() == 0
        assert process.metric(phase("Running")) == 1
        assert process.metric(phase("Pending")) == 2
        assert process.metric('berthmaster_pod_group_members{state="unschedulable"}') == 2
        assert process.metric('berthmaster_pod_group_members{state="running"}') == 2
    assert read(plane, EVENTS)["items"] == events


def test_nothing_but_the_status_is_written(plane: ControlPlane, tmp_path: Path) -> None:
    """No annotations and no finalizers of kopf, and nothing at all on Pods."""
    create_group(plane, "clean", 1)
    create_member(plane, "clean-0", "clean")
    pods = versions(plane, PODS)
    before = read(plane, f"{GROUPS}/clean")["metadata"]
    with controller(plane, tmp_path / "log", NO_ELECTION):
        wait_status(plane, "clean", "Waiting", phase="PreScheduling")
        assert versions(plane, PODS) == pods
        delete(plane, f"{PODS}/clean-0")
        wait_status(plane, "clean", "Waiting", phase="Pending")
        after = read(plane, f"{GROUPS}/clean")["metadata"]
    changing = ("resourceVersion", "managedFields")
    assert {name: value for name, value in after.items() if name not in changing} == {
        name: value for name, value in before.items() if name not in changing
    }
    managers = {entry["manager"] for entry in after["managedFields"]}
    assert "berthmaster-controller" in managers


def test_of_two_replicas_one_writes_and_the_other_takes_over(
    plane: ControlPlane, tmp_path: Path
) -> None:
    fast = ("--leader-elect-lease-duration", "3s", "--leader-elect-renew-deadline", "2s")
    arguments = (*fast, "--leader-elect-retry-period", "0.5s")
    with controller(plane, tmp_path / "first", *arguments) as first:
        first.wait_settled()
        with controller(plane, tmp_path / "second", *arguments) as second:
            wait_for("the second knows all", lambda: second.get("/readyz")[0] == 200)
            create_group(plane, "shared", 1)
            wait_status(plane, "shared", "Waiting", phase="Pending")
            wait_for("the second knows it", lambda: second.metric(phase("Pending")) == 1)
            assert second.metric(WRITTEN) == 0
            before = versions(plane, GROUPS)
            first.send_signal(signal.SIGKILL)
            second.wait_settled()
            assert versions(plane, GROUPS) == before
            create_member(plane, "shared-0", "shared")
            wait_status(plane, "shared", "Waiting", phase="PreScheduling")
            assert second.metric(WRITTEN) == 1


def test_the_api_server_may_go_and_come_back(plane: ControlPlane, tmp_path: Path) -> None:
    with controller(plane, tmp_path / "log", NO_ELECTION) as process:
        create_group(plane, "before", 1)
        wait_status(plane, "before", "Waiting", phase="Pending")
        plane.stop_component("kube-apiserver", force=True)
        process.wait_line("Cannot list our resources")
        assert process.get("/livez")[0] == 200
        plane.start_component("kube-apiserver")
        create_group(plane, "after", 1)
        create_member(plane, "before-0", "before")
        for name, phase_then in (("before", "PreScheduling"), ("after", "Pending")):
            wait_status(plane, name, "Waiting", phase=phase_then, timeout_seconds=AWAY_SECONDS)
        assert process.get("/livez")[0] == 200
        process.wait_settled()
        process.send_signal(signal.SIGTERM)
        assert process.wait_exit() == 0


def test_whoever_overwrites_a_status_is_not_fought_for_ever(
    plane: ControlPlane, tmp_path: Path
) -> None:
    with controller(plane, tmp_path / "log", NO_ELECTION) as process:
        create_group(plane, "disputed", 1)
        wait_status(plane, "disputed", "Waiting", phase="Pending")

        def overwrite() -> bool:
            if status_of(plane, f"{GROUPS}/disputed").get("phase") == "Pending":
                set_status(plane, f"{GROUPS}/disputed", {"phase": "Scheduling"})
            return "Somebody else overwrites the status of a pod group" in process.log()

        wait_for("it leaves the status alone", overwrite)
        assert process.metric(WRITTEN) <= 6
