"""A cluster whose resources are not the chart's: upstream's, none yet, Kubernetes' own."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.controlplane import ControlPlane, Reporter
from scheduler_svc.controller.custom_resources import POD_GROUPS
from scheduler_svc.controller.schemas import has_status
from tests.integration.controller_objects import (
    BUILT_IN_GROUPS,
    CRDS,
    DEFINITIONS,
    EVENTS,
    GROUPS,
    PODS,
    ROOT,
    bind,
    clear,
    condition_of,
    controller,
    create_group,
    create_member,
    define,
    delete,
    events_about,
    refuse,
    set_phase,
    status_of,
    undefine,
    versions,
    wait_told,
)
from tests.integration.rest import create, read, request, wait_for

pytestmark = pytest.mark.integration

NO_ELECTION = "--leader-elect=false"
UPSTREAM = ROOT / "tests/data/definitions/scheduler-plugins-podgroups-v0.34.7.yaml"
OURS = CRDS / "podgroups.scheduling.x-k8s.io.yaml"
SERVED_SECONDS = 90.0
"""The census looks twice a minute."""


@pytest.fixture(scope="module")
def module_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane with Kubernetes' own groups, and without definitions of ours."""
    state_dir = tmp_path_factory.mktemp("controller") / "state"
    arguments = (
        "--feature-gates=GenericWorkload=true",
        "--runtime-config=scheduling.k8s.io/v1alpha2=true",
    )
    with ControlPlane(
        state_dir,
        with_controller_manager=False,
        apiserver_args=arguments,
        reporter=Reporter(),
    ) as running:
        yield running


@pytest.fixture
def plane(module_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give it, and take out what the test has made.

    Kubernetes' own groups stay: its controller manager, which is not here, finishes them.
    """
    yield module_plane
    clear(module_plane, PODS, EVENTS)
    undefine(module_plane)
    wait_for("definitions are gone", lambda: request(module_plane, "GET", GROUPS)[0] == 404)


def test_upstreams_definition_is_enough_and_what_it_drops_is_not_written_again(
    plane: ControlPlane, tmp_path: Path
) -> None:
    define(plane, UPSTREAM)
    path = f"{GROUPS}/train"
    with controller(plane, tmp_path / "first", NO_ELECTION) as process:
        create_group(plane, "train", 2)
        wait_for("its phase", lambda: status_of(plane, path).get("phase") == "Pending")
        for number in range(2):
            create_member(plane, f"train-{number}", "train")
        wait_for("its phase", lambda: status_of(plane, path).get("phase") == "PreScheduling")
        for number in range(2):
            refuse(plane, f"train-{number}", "pod group train: needs 2, 1 fits; and more")
        wait_for("its phase", lambda: status_of(plane, path).get("phase") == "Pending")
        for number in range(2):
            bind(plane, f"train-{number}")
            set_phase(plane, f"train-{number}", "Running")
        wait_for("it runs", lambda: status_of(plane, path).get("running") == 2)
        process.wait_settled()
        status = status_of(plane, path)
        assert status["phase"] == "Running"
        assert status.keys() == {"phase", "running", "scheduleStartTime"}
        version = versions(plane, GROUPS)
        process.wait_line("lacks fields")
        # What is told again by every watch event must not be written again.
        create_group(plane, "other", 2)
        other = f"{GROUPS}/other"
        wait_for("another", lambda: status_of(plane, other).get("phase") == "Pending")
        assert versions(plane, GROUPS)[path] == version[path]
        wait_told(plane, "train", "Unschedulable", "Scheduled")
        process.send_signal(signal.SIGTERM)
        assert process.wait_exit() == 0
    before, events = versions(plane, GROUPS), read(plane, EVENTS)["items"]
    with controller(plane, tmp_path / "second", NO_ELECTION) as process:
        process.wait_settled()
        assert versions(plane, GROUPS) == before
        assert process.write_count() == 0
    assert read(plane, EVENTS)["items"] == events


def is_published_with_status(plane: ControlPlane) -> bool:
    """Whether the API server's OpenAPI, which is behind its definitions, has a status to write."""
    path = f"/openapi/v3/apis/{POD_GROUPS.api_version}"
    status, document = request(plane, "GET", path)
    return status != 200 or has_status(document, POD_GROUPS)


def test_a_definition_without_a_status_is_lived_with(plane: ControlPlane, tmp_path: Path) -> None:
    """Nothing can be written then: Events tell, and nothing is tried again and again."""
    definition = yaml.safe_load(OURS.read_text())
    del definition["spec"]["versions"][0]["subresources"]
    path = tmp_path / "definition.yaml"
    path.write_text(yaml.safe_dump(definition))
    define(plane, path)
    wait_for("it is published as it is now", lambda: not is_published_with_status(plane))
    with controller(plane, tmp_path / "log", NO_ELECTION) as process:
        process.wait_line("lacks fields")
        create_group(plane, "train", 1)
        create_member(plane, "train-0", "train")
        process.wait_settled()
        refuse(plane, "train-0", "pod group train: needs 1, 0 fit")
        wait_for("its Event", lambda: bool(events_about(plane, "train")))
        assert process.write_count() == 0
        assert status_of(plane, f"{GROUPS}/train") == {}


def test_definitions_may_come_and_go(plane: ControlPlane, tmp_path: Path) -> None:
    with controller(plane, tmp_path / "log", NO_ELECTION) as process:
        wait_for("it is ready with what there is", lambda: process.get("/readyz")[0] == 200)
        name = define(plane, OURS)
        create_group(plane, "early", 1)
        wait_for(
            "the group is told of",
            lambda: status_of(plane, f"{GROUPS}/early").get("phase") == "Pending",
            timeout_seconds=SERVED_SECONDS,
        )
        delete(plane, f"{DEFINITIONS}/{name}")
        wait_for(
            "the group is forgotten",
            lambda: process.metric('berthmaster_pod_groups{phase="Pending"}') == 0,
            timeout_seconds=SERVED_SECONDS,
        )
        define(plane, OURS)
        create_group(plane, "again", 1)
        wait_for(
            "the group is told of",
            lambda: status_of(plane, f"{GROUPS}/again").get("phase") == "Pending",
            timeout_seconds=SERVED_SECONDS,
        )
        assert process.get("/livez")[0] == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait_exit() == 0


def create_gang(plane: ControlPlane, name: str, min_count: int) -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": min_count}}}
    create(plane, BUILT_IN_GROUPS, {"metadata": {"name": name}, "spec": spec})


def create_gang_member(plane: ControlPlane, name: str, group: str, **spec: Any) -> None:
    create_member(plane, name, "", schedulingGroup={"podGroupName": group}, **spec)


def test_kubernetes_own_groups_are_told_of_and_stay_scheduled(
    plane: ControlPlane, tmp_path: Path
) -> None:
    path = f"{BUILT_IN_GROUPS}/gang"
    with controller(plane, tmp_path / "log", NO_ELECTION) as process:
        create_gang(plane, "gang", 2)
        for number in range(2):
            create_gang_member(plane, f"gang-{number}", "gang")
            refuse(plane, f"gang-{number}", "pod group gang: needs 2, 1 fits; and more")

        def said() -> tuple[str, str, str]:
            found = condition_of(plane, path, "PodGroupScheduled")
            return found.get("status", ""), found.get("reason", ""), found.get("message", "")

        wait_for("it does not fit", lambda: said() == ("False", "Unschedulable", "needs 2, 1 fits"))
        for number in range(2):
            bind(plane, f"gang-{number}")
        wait_for("it is scheduled", lambda: said()[:2] == ("True", "Scheduled"))
        version = versions(plane, BUILT_IN_GROUPS)
        delete(plane, f"{PODS}/gang-0")
        create_gang_member(plane, "gang-2", "gang")
        refuse(plane, "gang-2", "pod group gang: needs 2, 1 fits; and more")
        # A group of another scheduler is that scheduler's to tell of.
        create_gang(plane, "foreign", 1)
        create_gang_member(plane, "foreign-0", "foreign", schedulerName="default-scheduler")
        create_gang(plane, "ours", 1)
        create_gang_member(plane, "ours-0", "ours")
        for pod in ("foreign-0", "ours-0"):
            bind(plane, pod)
        ours = f"{BUILT_IN_GROUPS}/ours"
        wait_for("ours is told of", lambda: condition_of(plane, ours, "PodGroupScheduled"))
        process.wait_settled()
        assert versions(plane, BUILT_IN_GROUPS)[path] == version[path]
        assert "conditions" not in status_of(plane, f"{BUILT_IN_GROUPS}/foreign")
        assert "Traceback" not in process.log()
        wait_told(plane, "gang", "Unschedulable", "Scheduled")
