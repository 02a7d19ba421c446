"""``berthmaster explain`` and the SchedulerProfiles of a cluster."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.berthmaster.test_explain import CONFIG, answers, explain, node, pod

PACKING = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]
NO_PLUGIN = {"score": {"enabled": [{"name": "NodeResourceFit"}]}}


def profile(name: str, **fields: Any) -> dict[str, Any]:
    """Write a SchedulerProfile; `active` is the last spec that was valid."""
    active = fields.pop("active", None)
    return {
        "apiVersion": "berthmaster.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name, "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"schedulerName": "packing", **fields},
        "status": {"active": {"generation": 1, "spec": active}} if active else {},
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cluster.yaml"


def save(path: Path, *profiles: dict[str, Any]) -> None:
    """Save a cluster where a Pod fits on either Node, and better on the small one if packed."""
    web = pod("web", "500m", schedulerName="packing", priority=0)
    objects = [node("small", "1"), node("large", "4"), web, pod("plain", "500m"), *profiles]
    path.write_text(yaml.safe_dump_all(objects))


def best(path: Path, *arguments: str) -> list[str]:
    given = answers(explain("--snapshot", str(path), "-o", "json", *arguments))
    found: list[str] = given["default/web"]["best"]
    return found


def test_a_pod_is_judged_by_the_scheduler_profile_that_it_names(path: Path) -> None:
    save(path)
    assert best(path) == ["large"]
    save(path, profile("night", pluginConfig=PACKING))
    assert best(path) == ["small"]
    given = answers(explain("--snapshot", str(path), "-o", "json"))
    # It has a scheduler; who names none is judged as before.
    assert "waitsForScheduler" not in given["default/web"]
    assert given["default/plain"]["best"] == ["large"]


def test_beside_a_configuration_it_is_known_too(path: Path, tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text(CONFIG)
    save(path, profile("night", pluginConfig=PACKING))
    assert best(path, "--config", str(config)) == ["small"]


def test_of_an_invalid_one_the_last_that_was_valid_is_asked(path: Path) -> None:
    active = {"schedulerName": "packing", "pluginConfig": PACKING}
    save(path, profile("night", plugins=NO_PLUGIN, active=active))
    assert best(path) == ["small"]
    result = explain("--snapshot", str(path))
    assert "Note: SchedulerProfile night: generation 1 is run: " in result.stderr
    assert "spec.plugins.score.enabled[0].name" in result.stderr


def test_one_that_was_never_valid_is_told_and_left_out(path: Path) -> None:
    save(path, profile("night", plugins=NO_PLUGIN))
    assert best(path) == ["large"]
    result = explain("--snapshot", str(path))
    assert "Note: SchedulerProfile night: nothing of it is run: " in result.stderr


def test_what_is_probably_meant_is_told_as_in_the_status(path: Path) -> None:
    save(path, profile("night", plugins=NO_PLUGIN))
    assert "(did you mean NodeResourcesFit?)" in explain("--snapshot", str(path)).stderr
