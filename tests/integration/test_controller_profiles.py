"""The status of SchedulerProfiles: a real controller beside a real API server."""

from __future__ import annotations

import json
import ssl
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.controller_objects import (
    EVENTS,
    PATIENCE_SECONDS,
    PROFILES,
    clear,
    condition_of,
    controller,
    define_all,
    status_of,
    versions,
    wait_told,
)
from tests.integration.rest import create, read, request, wait_for

pytestmark = pytest.mark.integration

NO_ELECTION = "--leader-elect=false"
FIT = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}


@pytest.fixture(scope="module")
def module_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane of our own."""
    state_dir = tmp_path_factory.mktemp("controller") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        define_all(running)
        yield running


@pytest.fixture
def plane(module_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give it without profiles and Events."""
    yield module_plane
    clear(module_plane, PROFILES, EVENTS)


def create_profile(plane: ControlPlane, name: str, **spec: Any) -> None:
    body = {
        "apiVersion": "berthmaster.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": {"schedulerName": name, **spec},
    }
    create(plane, PROFILES, body)


def change(plane: ControlPlane, name: str, **spec: Any) -> None:
    """Give a profile another spec; what is None is left out."""
    profile = read(plane, f"{PROFILES}/{name}")
    changed = {**profile["spec"], **spec}
    profile["spec"] = {field: value for field, value in changed.items() if value is not None}
    code, answer = request(plane, "PUT", f"{PROFILES}/{name}", profile)
    assert code == 200, answer


def observe(plane: ControlPlane, name: str, scheduler: str, generation: int) -> None:
    """Say that a scheduler runs a generation, as it does: by server-side apply."""
    seen = {"scheduler": scheduler, "generation": generation, "at": "2026-11-30T12:00:00Z"}
    body = {
        "apiVersion": "berthmaster.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "status": {"observedBy": [seen]},
    }
    url = f"{plane.url}{PROFILES}/{name}/status?fieldManager={scheduler}&force=true"
    asked = urllib.request.Request(url, json.dumps(body).encode(), method="PATCH")  # noqa: S310
    asked.add_header("Content-Type", "application/apply-patch+yaml")
    asked.add_header("Authorization", f"Bearer {plane.token}")
    context = ssl.create_default_context(cafile=plane.ca_path)
    with urllib.request.urlopen(asked, context=context, timeout=30) as answer:  # noqa: S310
        assert answer.status == 200


def says(plane: ControlPlane, name: str, type_: str) -> tuple[str, str, int]:
    """Give status, reason and generation of a condition."""
    found = condition_of(plane, f"{PROFILES}/{name}", type_)
    return (
        found.get("status", ""),
        found.get("reason", ""),
        found.get("observedGeneration", 0),
    )


def wait_says(plane: ControlPlane, name: str, type_: str, expected: tuple[str, str, int]) -> None:
    wait_for(
        f"{name}: {type_} {expected}",
        lambda: says(plane, name, type_) == expected,
        timeout_seconds=PATIENCE_SECONDS,
    )


def test_a_profile_is_judged_and_its_last_valid_spec_stays(
    plane: ControlPlane, tmp_path: Path
) -> None:
    path = f"{PROFILES}/gpu"
    with controller(plane, tmp_path / "log", NO_ELECTION) as process:
        create_profile(plane, "gpu", pluginConfig=[FIT])
        wait_says(plane, "gpu", "Valid", ("True", "Valid", 1))
        assert says(plane, "gpu", "Active") == ("False", "NotObserved", 1)
        good = {"schedulerName": "gpu", "pluginConfig": [FIT]}
        assert status_of(plane, path)["active"] == {"generation": 1, "spec": good}

        observe(plane, "gpu", "one", 1)
        wait_says(plane, "gpu", "Active", ("True", "Running", 1))
        assert condition_of(plane, path, "Active")["message"] == "run by one"

        wrong = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Best"}}}
        change(plane, "gpu", pluginConfig=[wrong])
        wait_says(plane, "gpu", "Valid", ("False", "Invalid", 2))
        message = condition_of(plane, path, "Valid")["message"]
        assert message.startswith(
            'spec.pluginConfig[0].args.scoringStrategy.type: Unsupported value: "Best"'
        )
        assert says(plane, "gpu", "Active") == ("False", "Invalid", 2)
        assert "generation 1 stays in use" in condition_of(plane, path, "Active")["message"]
        status = status_of(plane, path)
        assert status["active"] == {"generation": 1, "spec": good}
        assert [seen["scheduler"] for seen in status["observedBy"]] == ["one"]
        assert process.metric('berthmaster_scheduler_profiles{valid="false"}') == 1

        # Without arguments again: what the active spec no longer has must not stay in it.
        change(plane, "gpu", pluginConfig=None, percentageOfNodesToScore=50)
        wait_says(plane, "gpu", "Valid", ("True", "Valid", 3))
        assert status_of(plane, path)["active"] == {
            "generation": 3,
            "spec": {"schedulerName": "gpu", "percentageOfNodesToScore": 50},
        }
        assert says(plane, "gpu", "Active") == ("False", "NotObserved", 3)
        observe(plane, "gpu", "one", 3)
        observe(plane, "gpu", "two", 3)
        wait_says(plane, "gpu", "Active", ("True", "Running", 3))
        assert "Traceback" not in process.log()
        reasons = ("Valid", "Active", "Invalid", "Valid", "Active")
        told = wait_told(plane, "gpu", *reasons, kind="SchedulerProfile")
    types = ["Normal", "Normal", "Warning", "Normal", "Normal"]
    assert [event["type"] for event in told] == types
    assert told[2]["note"] == message


def test_of_two_with_one_name_the_older_has_it_until_it_is_gone(
    plane: ControlPlane, tmp_path: Path
) -> None:
    with controller(plane, tmp_path / "log", NO_ELECTION):
        create_profile(plane, "a-first", schedulerName="shared")
        wait_says(plane, "a-first", "Valid", ("True", "Valid", 1))
        create_profile(plane, "b-second", schedulerName="shared")
        create_profile(plane, "static", schedulerName="berthmaster")
        wait_says(plane, "b-second", "Valid", ("False", "Invalid", 1))
        wait_says(plane, "static", "Valid", ("False", "Invalid", 1))
        message = condition_of(plane, f"{PROFILES}/b-second", "Valid")["message"]
        assert message.startswith('spec.schedulerName: Duplicate value: "shared"')
        assert says(plane, "a-first", "Valid") == ("True", "Valid", 1)
        request(plane, "DELETE", f"{PROFILES}/a-first")
        wait_says(plane, "b-second", "Valid", ("True", "Valid", 1))


def test_profiles_are_judged_beside_the_schedulers_own_configuration(
    plane: ControlPlane, tmp_path: Path
) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: team-a}]\n"
    )
    arguments = (NO_ELECTION, "--config", str(config), "--scheduler-name", "team-b")
    create_profile(plane, "team-a")
    create_profile(plane, "berthmaster")
    with controller(plane, tmp_path / "log", *arguments):
        wait_says(plane, "team-a", "Valid", ("False", "Invalid", 1))
        wait_says(plane, "berthmaster", "Valid", ("True", "Valid", 1))


def test_a_restart_writes_nothing(plane: ControlPlane, tmp_path: Path) -> None:
    # An argument that is null has no place in a merge patch: it must not be written for ever.
    odd = {"name": "NodeAffinity", "args": {"addedAffinity": None}}
    with controller(plane, tmp_path / "first", NO_ELECTION) as process:
        create_profile(plane, "good", pluginConfig=[odd])
        create_profile(plane, "bad", plugins={"filter": {"enabled": [{"name": "NoSuch"}]}})
        wait_says(plane, "good", "Valid", ("True", "Valid", 1))
        wait_says(plane, "bad", "Valid", ("False", "Invalid", 1))
        process.wait_settled()
    before, events = versions(plane, PROFILES), read(plane, EVENTS)["items"]
    with controller(plane, tmp_path / "second", NO_ELECTION) as process:
        process.wait_settled()
        assert versions(plane, PROFILES) == before
        assert process.write_count() == 0
        assert process.metric('berthmaster_scheduler_profiles{valid="true"}') == 1
    assert read(plane, EVENTS)["items"] == events


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"schedulerName": ""}, "spec.schedulerName"),
        ({"schedulerName": "No_DNS"}, "spec.schedulerName"),
        ({"percentageOfNodesToScore": 101}, "spec.percentageOfNodesToScore"),
        (
            {"plugins": {"score": {"enabled": [{"name": "X", "weight": 101}]}}},
            "spec.plugins.score.enabled[0].weight",
        ),
        (
            {"plugins": {"score": {"enabled": [{"name": "X", "weight": 0}]}}},
            "spec.plugins.score.enabled[0].weight",
        ),
        (
            {"plugins": {"score": {"enabled": [{"name": "*"}]}}},
            "spec.plugins.score.enabled[0].name",
        ),
        (
            {"plugins": {"filter": {"enabled": [{"name": "X"}, {"name": "X"}]}}},
            "spec.plugins.filter.enabled[1]",
        ),
        (
            {"plugins": {"queueSort": {"enabled": [{"name": "X"}, {"name": "Y"}]}}},
            "spec.plugins.queueSort.enabled",
        ),
        ({"pluginConfig": [{"name": "X"}, {"name": "X"}]}, "spec.pluginConfig[1]"),
        (
            {"plugins": {"filter": {"disabled": [{"name": f"P{n}"} for n in range(65)]}}},
            "spec.plugins.filter.disabled",
        ),
    ],
)
def test_the_definition_refuses_what_can_never_be(
    plane: ControlPlane, spec: dict[str, Any], path: str
) -> None:
    body = {"metadata": {"name": "refused"}, "spec": {"schedulerName": "refused", **spec}}
    kind = {"apiVersion": "berthmaster.dev/v1alpha1", "kind": "SchedulerProfile"}
    code, answer = request(plane, "POST", PROFILES, {**kind, **body})
    assert code == 422, answer
    assert path in [cause["field"] for cause in answer["details"]["causes"]]


def test_the_definition_takes_a_profile_as_kube_scheduler_does(plane: ControlPlane) -> None:
    """Among others, one that is disabled and enabled: that is how a weight is changed."""
    points = {
        "score": {
            "disabled": [{"name": "NodeResourcesFit"}],
            "enabled": [{"name": "NodeResourcesFit", "weight": 5}],
        },
        "multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeName"}]},
    }
    create_profile(plane, "whole", plugins=points, pluginConfig=[FIT], percentageOfNodesToScore=0)
    assert read(plane, f"{PROFILES}/whole")["spec"]["plugins"] == points
