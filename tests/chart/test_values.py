"""Which values there may be."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.chart.rendering import CHART, ROOT, Helm, HelmError, find

SCHEMA: Final = json.loads((CHART / "values.schema.json").read_text())
VALUES: Final = yaml.safe_load((CHART / "values.yaml").read_text())
# Of Kubernetes, Prometheus or others, who check them; and what Helm hands on to all charts.
OPEN: Final = frozenset({"global", "kubernetes", "named", "extenders", "tlsConfig"})


def objects(schema: dict[str, Any], name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Give each schema of an object, with its name."""
    if schema.get("type") == "object":
        yield name, schema
    for group in ("properties", "definitions"):
        for key, value in schema.get(group, {}).items():
            yield from objects(value, key)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from objects(schema[key], name)
    for branch in schema.get("oneOf", ()):
        yield from objects(branch, name)


def test_every_object_is_closed() -> None:
    assert {
        name for name, schema in objects(SCHEMA) if "additionalProperties" not in schema
    } <= OPEN


def paths(values: dict[str, Any], schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Give the path of every object of the values that the schema has properties for."""
    yield path
    for key, value in values.items():
        inner = schema["properties"][key]
        if isinstance(value, dict) and "properties" in inner:
            yield from paths(value, inner, f"{path}{key}.")


def is_known(setting: str) -> bool:
    """Whether the schema has a place for the setting, e.g. `rbac.readers.metrics[0].name`."""
    schema = SCHEMA
    for key in re.findall(r"[^.\[\]]+", setting):
        if "$ref" in schema:
            schema = SCHEMA["definitions"][schema["$ref"].rpartition("/")[2]]
        if key.isdecimal():
            schema = schema["items"]
        elif key in schema.get("properties", {}):
            schema = schema["properties"][key]
        else:
            return schema.get("additionalProperties") is not False
    return True


def test_documents_set_what_there_is() -> None:
    texts = [path.read_text() for path in sorted((ROOT / "docs").rglob("*.md"))]
    found = {setting for text in texts for setting in re.findall(r"--set '?([^ =]+)=", text)}
    assert {"image.tag", "rbac.readers.metrics[0].kind"} <= found
    # The one by which docs/install.md shows what becomes of a mistake.
    assert {setting for setting in found if not is_known(setting)} == {"scheduler.replica"}


@pytest.mark.integration
def test_example_of_the_documents_is_taken(helm: Helm, tmp_path: Path) -> None:
    [example] = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/install.md").read_text(), re.DOTALL)
    (tmp_path / "values.yaml").write_text(example)
    configuration = find(
        helm.documents(values=[tmp_path / "values.yaml"]), "ConfigMap", "blue-berthmaster-scheduler"
    )["data"]["scheduler.yaml"]
    assert yaml.safe_load(configuration)["profiles"][0]["schedulerName"] == "batch"


def test_schema_knows_every_value() -> None:
    found = list(paths(VALUES, SCHEMA))
    assert {"", "scheduler.", "agent.kubelet.", "monitoring.token."} <= set(found)


PATHS: Final = list(paths(VALUES, SCHEMA))
# What is set, and what helm says of it.
NONSENSE: Final = {
    "nameOverride=Berths": "at '/nameOverride': 'Berths' does not match pattern",
    "scheduler.replicas=-1": "at '/scheduler/replicas': minimum: got -1, want 0",
    "scheduler.port=70000": "at '/scheduler/port': maximum: got 70,000, want 65,535",
    "scheduler.schedulerName=Berth_Master": "at '/scheduler/schedulerName': 'Berth_Master' does",
    "scheduler.authorization=basic": "at '/scheduler/authorization': value must be one of",
    "scheduler.config.profile=x": "at '/scheduler/config': additional properties 'profile' not",
    "scheduler.config.leaderElection.leaseDuration=15": "leaderElection/leaseDuration': got number",
    "scheduler.config.profiles[0].name=x": "config/profiles/0': additional properties 'name' not",
    "scheduler.plugins.enabled[0]=quota.py": "at '/scheduler/plugins/enabled/0': 'quota.py' does",
    "scheduler.extraArgs[0]=dry-run": "at '/scheduler/extraArgs/0': 'dry-run' does not match",
    "scheduler.podAntiAffinity=maybe": "at '/scheduler/podAntiAffinity': value must be one of",
    "scheduler.resources.limits.memory=lots": "/scheduler/resources/limits/memory': 'lots' does",
    "image.digest=latest": "at '/image/digest': 'latest' does not match pattern",
    "agent.maxUnavailable=101%": "at '/agent/maxUnavailable'",
    "agent.staticPods.path=manifests": "at '/agent/staticPods/path': 'manifests' does not match",
    "agent.tolerations[0].op=Exists": "at '/agent/tolerations/0': additional properties 'op' not",
    "commonLabels.app\\.kubernetes\\.io/name=x": "invalid propertyName 'app.kubernetes.io/name'",
}


def refusal(helm: Helm, settings: Iterable[str]) -> str:
    """Give all that helm has to say of these settings: it names each one."""
    with pytest.raises(HelmError) as refused:
        helm.template(*(f"--set={setting}" for setting in settings))
    return str(refused.value)


@pytest.fixture(scope="module")
def refused_keys(helm: Helm) -> str:
    """Give what becomes of an unknown key in every object at once."""
    return refusal(helm, (f"{path}tpyo=1" for path in PATHS))


@pytest.mark.integration
@pytest.mark.parametrize("path", PATHS)
def test_unknown_key_is_refused(refused_keys: str, path: str) -> None:
    place = "/".join(["", *path.split(".")]).rstrip("/")
    assert f"at '{place}': additional properties 'tpyo' not allowed" in refused_keys


@pytest.fixture(scope="module")
def refused_values(helm: Helm) -> str:
    """Give what becomes of all the nonsense at once."""
    return refusal(helm, NONSENSE)


@pytest.mark.integration
@pytest.mark.parametrize("message", NONSENSE.values(), ids=list(NONSENSE))
def test_nonsense_is_refused_with_its_place(refused_values: str, message: str) -> None:
    assert message in refused_values
