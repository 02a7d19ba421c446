"""Controller and scheduler together: what the one does, the other tells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.controller_objects import (
    GROUPS,
    PODS,
    PROFILES,
    condition_of,
    controller,
    create_group,
    create_member,
    define_all,
    delete,
    status_of,
    wait_told,
)
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

NODES = "/api/v1/nodes"
GPU = "example.com/gpu"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane of our own with a Node of four GPUs."""
    state_dir = tmp_path_factory.mktemp("beside-scheduler") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        define_all(running)
        create_node(running, "n1")
        yield running


@pytest.fixture
def both(plane: ControlPlane, tmp_path: Path) -> Iterator[ControlPlane]:
    """Give it with a scheduler and a controller."""
    arguments = (
        *("--kubeconfig", str(plane.kubeconfig_path), "--leader-elect=false"),
        *("--bind-address", "127.0.0.1", "--secure-port", "0", "--authorization", "none"),
    )
    with (
        SchedulerProcess(tmp_path / "scheduler", *arguments),
        controller(plane, tmp_path / "controller", "--leader-elect=false"),
    ):
        yield plane


def create_node(plane: ControlPlane, name: str) -> None:
    allocatable = {"cpu": "64", "memory": "64Gi", "pods": "110", GPU: "4"}
    create(plane, NODES, {"metadata": {"name": name}, "status": {"allocatable": allocatable}})


def scheduled(plane: ControlPlane, group: str) -> tuple[str, str]:
    """Give reason and message of the condition."""
    found = condition_of(plane, f"{GROUPS}/{group}", "PodGroupScheduled")
    return found.get("reason", ""), found.get("message", "")


def create_members(plane: ControlPlane, group: str, count: int) -> None:
    amounts = {GPU: "2"}
    resources = {"requests": amounts, "limits": amounts}
    containers = [{"name": "c", "image": "x", "resources": resources}]
    for number in range(count):
        create_member(
            plane,
            f"{group}-{number}",
            group,
            containers=containers,
            terminationGracePeriodSeconds=0,
        )


def test_a_group_says_why_it_does_not_fit_and_then_that_it_does(both: ControlPlane) -> None:
    create_group(both, "train", 3)
    create_members(both, "train", 3)
    reason = ("Unschedulable", f"needs 3, 2 fit: 1 lacks {GPU}")
    wait_for("it says why it does not fit", lambda: scheduled(both, "train") == reason)
    assert status_of(both, f"{GROUPS}/train")["phase"] == "Pending"
    create_node(both, "n2")
    wait_for("it is scheduled", lambda: scheduled(both, "train")[0] == "Scheduled")
    assert status_of(both, f"{GROUPS}/train")["scheduled"] == 3
    delete(both, f"{PODS}/train-0")
    wait_for("it is short", lambda: scheduled(both, "train")[0] == "Short")
    wait_told(both, "train", "Unschedulable", "Scheduled", "Short")


def change_profile(plane: ControlPlane, **spec: Any) -> None:
    profile = read(plane, f"{PROFILES}/packing")
    profile["spec"] |= spec
    code, answer = request(plane, "PUT", f"{PROFILES}/packing", profile)
    assert code == 200, answer


def test_a_profile_says_which_generation_is_run(both: ControlPlane) -> None:
    path = f"{PROFILES}/packing"
    profile = {
        "apiVersion": "berthmaster.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": "packing"},
        "spec": {"schedulerName": "packing"},
    }
    create(both, PROFILES, profile)

    def active() -> tuple[str, int]:
        found = condition_of(both, path, "Active")
        return found.get("reason", ""), found.get("observedGeneration", 0)

    wait_for("the first is run", lambda: active() == ("Running", 1))
    score = {"score": {"disabled": [{"name": "ImageLocality"}]}}
    change_profile(both, plugins=score)
    wait_for("the second is run", lambda: active() == ("Running", 2))
    change_profile(both, plugins={"filter": {"enabled": [{"name": "NoSuchPlugin"}]}})
    wait_for("the third is invalid", lambda: active() == ("Invalid", 3))
    status = status_of(both, path)
    assert status["active"]["generation"] == 2
    assert [seen["generation"] for seen in status["observedBy"]] == [2]
    assert condition_of(both, path, "Valid")["message"].startswith(
        'spec.plugins.filter.enabled[0].name: Invalid value: "NoSuchPlugin": plugin does not exist'
    )
