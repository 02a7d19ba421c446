"""Kubernetes' own groups on a real API server that has them: alpha in 1.36, by a feature gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.controller_objects import BUILT_IN_GROUPS, PODS
from tests.integration.group_cluster import (
    AT_ONCE,
    GPU,
    bound,
    create_node,
    create_pod,
    message,
    scheduler,
    two_nodes,
)
from tests.integration.rest import create, request, wait_for

pytestmark = pytest.mark.integration

GANG: Final = {"gang": {"minCount": 5}}
BASIC: Final[Mapping[str, Any]] = {"basic": {}}


@pytest.fixture(scope="module")
def module_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane that serves the API."""
    state_dir = tmp_path_factory.mktemp("built-in-groups") / "state"
    arguments = (
        "--feature-gates=GenericWorkload=true",
        "--runtime-config=scheduling.k8s.io/v1alpha2=true",
    )
    with ControlPlane(state_dir, apiserver_args=arguments, reporter=Reporter()) as running:
        yield running


@pytest.fixture
def plane(module_plane: ControlPlane) -> Iterator[ControlPlane]:
    with two_nodes(module_plane, BUILT_IN_GROUPS) as plane:
        yield plane


def create_group(plane: ControlPlane, name: str, policy: Mapping[str, Any]) -> None:
    group = {"metadata": {"name": name}, "spec": {"schedulingPolicy": policy}}
    create(plane, BUILT_IN_GROUPS, group)


def create_member(plane: ControlPlane, name: str, group: str) -> None:
    create_pod(plane, name, schedulingGroup={"podGroupName": group})


def test_a_gang_is_placed_once_all_of_it_fits(plane: ControlPlane, tmp_path: Path) -> None:
    with scheduler(plane, tmp_path / "log"):
        for number in range(4):
            create_member(plane, f"gang-{number}", "gang")
        wait_for("that there is no such group", lambda: bool(message(plane, "gang-3")))
        create_group(plane, "gang", GANG)
        few = "pod group gang: needs 5 Pods, has 4"
        wait_for("that it is too few", lambda: message(plane, "gang-0") == few)
        create_member(plane, "gang-4", "gang")
        said = f"pod group gang: needs 5, 4 fit: 1 lacks {GPU}; 0/2 nodes are available: "
        wait_for("that it does not fit", lambda: message(plane, "gang-0").startswith(said))
        assert not bound(plane)
        create_node(plane, "n3")
        wait_for("all are bound", lambda: len(bound(plane)) == 5)


def test_members_of_a_basic_group_are_placed_one_by_one(
    plane: ControlPlane, tmp_path: Path
) -> None:
    with scheduler(plane, tmp_path / "log"):
        create_group(plane, "basic", BASIC)
        for number in range(5):
            create_member(plane, f"basic-{number}", "basic")
        wait_for("the Nodes are full", lambda: len(bound(plane)) == 4)
        (waiting,) = {f"basic-{number}" for number in range(5)} - set(bound(plane))
        request(plane, "DELETE", f"{PODS}/{bound(plane)[0]}", AT_ONCE)
        wait_for("the last has its room", lambda: waiting in bound(plane))
