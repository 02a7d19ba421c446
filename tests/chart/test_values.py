"""Which values there may be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
import yaml

from tests.chart.rendering import CHART, Helm, HelmError

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


def test_schema_knows_every_value() -> None:
    found = list(paths(VALUES, SCHEMA))
    assert {"", "scheduler.", "agent.kubelet.", "monitoring.token."} <= set(found)


@pytest.mark.integration
@pytest.mark.parametrize("path", list(paths(VALUES, SCHEMA)))
def test_unknown_key_is_refused(helm: Helm, path: str) -> None:
    with pytest.raises(HelmError, match="additional properties 'tpyo' not allowed"):
        helm.template(f"--set={path}tpyo=1")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("setting", "place"),
    [
        ("scheduler.replicas=-1", "/scheduler/replicas"),
        ("scheduler.port=70000", "/scheduler/port"),
        ("scheduler.schedulerName=Berth_Master", "/scheduler/schedulerName"),
        ("scheduler.authorization=basic", "/scheduler/authorization"),
        ("scheduler.config.profile=x", "/scheduler/config"),
        ("scheduler.config.leaderElection.leaseDuration=15", "leaseDuration"),
        ("scheduler.config.profiles[0].name=x", "/scheduler/config/profiles/0"),
        ("scheduler.plugins.enabled[0]=quota.py", "/scheduler/plugins/enabled/0"),
        ("scheduler.extraArgs[0]=dry-run", "/scheduler/extraArgs/0"),
        ("scheduler.podAntiAffinity=maybe", "/scheduler/podAntiAffinity"),
        ("scheduler.resources.limits.memory=lots", "/scheduler/resources/limits/memory"),
        ("image.digest=latest", "/image/digest"),
        ("agent.maxUnavailable=101%", "/agent/maxUnavailable"),
        ("agent.staticPods.path=manifests", "/agent/staticPods/path"),
        ("agent.tolerations[0].op=Exists", "/agent/tolerations/0"),
        ("commonLabels.app\\.kubernetes\\.io/name=x", "invalid propertyName"),
    ],
)
def test_nonsense_is_refused_with_its_place(helm: Helm, setting: str, place: str) -> None:
    with pytest.raises(HelmError) as refused:
        helm.template(f"--set={setting}")
    assert place in str(refused.value)
