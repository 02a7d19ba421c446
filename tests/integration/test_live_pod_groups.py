"""Groups of Pods on a real API server: together or not at all, whatever happens meanwhile."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.controller_objects import CRDS, GROUPS, PODS, create_group, define
from tests.integration.group_cluster import (
    AT_ONCE,
    GPU,
    LEASE,
    bound,
    create_members,
    create_node,
    create_pod,
    message,
    scheduler,
    two_nodes,
)
from tests.integration.rest import create, request, wait_for

pytestmark = pytest.mark.integration

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@pytest.fixture(scope="module")
def module_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane of our own; no test may leave anything behind."""
    state_dir = tmp_path_factory.mktemp("live-pod-groups") / "state"
    with ControlPlane(state_dir, reporter=Reporter()) as running:
        create(running, CLASSES, {"metadata": {"name": "high"}, "value": 10})
        yield running


@pytest.fixture
def plane(module_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give it with two Nodes of four GPUs each."""
    with two_nodes(module_plane, GROUPS) as plane:
        yield plane


@pytest.mark.timeout(240)
def test_groups_that_are_defined_while_the_scheduler_runs(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """Members wait until there are such objects, and their group is one of them."""
    with scheduler(plane, tmp_path / "log") as process:
        process.wait_line("Leading:")
        create_members(plane, "early", 2)
        create_pod(plane, "alone", gpus=1)
        wait_for("the Pod on its own is bound", lambda: bound(plane) == ["alone"])
        define(plane, CRDS / "podgroups.scheduling.x-k8s.io.yaml")
        create_group(plane, "early", 2)
        # Whether there are such objects now is asked every 20 s.
        wait_for("the group is bound", lambda: len(bound(plane)) == 3, timeout_seconds=60)


def test_the_last_member_starts_the_group(defined: ControlPlane, tmp_path: Path) -> None:
    with scheduler(defined, tmp_path / "log"):
        create_group(defined, "train", 4)
        create_members(defined, "train", 3)
        create_pod(defined, "alone", gpus=0)
        wait_for("the Pod on its own is bound", lambda: "alone" in bound(defined))
        wait_for("the reason is written", lambda: bool(message(defined, "train-2")))
        assert message(defined, "train-0") == "pod group train: needs 4 Pods, has 3"
        assert bound(defined) == ["alone"]
        create_pod(defined, "train-3", "train")
        wait_for("all are bound", lambda: len(bound(defined)) == 5)


@pytest.fixture
def defined(plane: ControlPlane) -> ControlPlane:
    """Give a control plane that serves PodGroups."""
    if request(plane, "GET", GROUPS)[0] != 200:
        define(plane, CRDS / "podgroups.scheduling.x-k8s.io.yaml")
    return plane


def test_a_group_that_does_not_fit_says_why_and_holds_nothing(
    defined: ControlPlane, tmp_path: Path
) -> None:
    with scheduler(defined, tmp_path / "log"):
        create_group(defined, "large", 5)
        create_members(defined, "large", 5)
        wait_for("the reason is written", lambda: bool(message(defined, "large-4")))
        assert message(defined, "large-0").startswith(
            f"pod group large: needs 5, 4 fit: 1 lacks {GPU}; 0/2 nodes are available: "
        )
        create_group(defined, "small", 4)
        create_members(defined, "small", 4)
        wait_for("the other group is bound", lambda: len(bound(defined)) == 4)
        assert {name.split("-")[0] for name in bound(defined)} == {"small"}
        for number in range(4):
            request(defined, "DELETE", f"{PODS}/small-{number}", AT_ONCE)
        create_node(defined, "n3")
        wait_for("the group has its room", lambda: len(bound(defined)) == 5)
        assert {name.split("-")[0] for name in bound(defined)} == {"large"}


def test_pods_are_evicted_only_if_the_whole_group_fits(
    defined: ControlPlane, tmp_path: Path
) -> None:
    with scheduler(defined, tmp_path / "log"):
        for number in range(4):
            create_pod(defined, f"low-{number}")
        wait_for("the Nodes are full", lambda: len(bound(defined)) == 4)
        create_group(defined, "many", 5)
        create_members(defined, "many", 5, priority="high")
        wait_for("the reason is written", lambda: bool(message(defined, "many-4")))
        assert len(bound(defined)) == 4
        create_group(defined, "enough", 3)
        create_members(defined, "enough", 3, priority="high")
        wait_for(
            "the group is bound",
            lambda: {f"enough-{n}" for n in range(3)} <= set(bound(defined)),
        )
        assert len([name for name in bound(defined) if name.startswith("low")]) == 1


def test_a_scheduler_that_is_killed_while_a_group_is_bound(
    defined: ControlPlane, tmp_path: Path
) -> None:
    """The next one completes the group, though its rest is less than the group needs."""
    create_group(defined, "big", 200)
    create_members(defined, "big", 200, gpus=0)
    with scheduler(defined, tmp_path / "first", "--bind-concurrency", "1") as process:
        wait_for("some are bound", lambda: len(bound(defined)) > 0)
        process.send_signal(signal.SIGKILL)
        process.wait_exit()
    request(defined, "DELETE", LEASE)
    with scheduler(defined, tmp_path / "second"):
        wait_for("all are bound", lambda: len(bound(defined)) == 200)
