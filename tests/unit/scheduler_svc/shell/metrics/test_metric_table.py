import json
from pathlib import Path
from typing import Any, Final

import pytest

from kubeio import metric_table as shared
from kubeio.instruments import Definition
from scheduler_svc.shell.metrics import metric_table, plugin_metric_table

DATA: Final = Path(__file__).parents[4] / "data/metrics"
RECORDED: Final = ("kube-scheduler-1.36.3.jsonl", "unseen-1.36.3.jsonl")


def read_recorded() -> dict[str, dict[str, Any]]:
    """What kube-scheduler itself shows, by name."""
    lines = [line for name in RECORDED for line in (DATA / name).read_text().splitlines()]
    return {document["name"]: document for document in map(json.loads, lines)}


def definitions() -> list[Definition]:
    tables = (metric_table, plugin_metric_table, shared)
    values = [value for table in tables for value in vars(table).values()]
    return [value for value in values if isinstance(value, Definition)]


UPSTREAMS = [d for d in definitions() if not d.name.startswith("berthmaster_")]


def test_every_metric_is_upstreams_or_has_our_prefix() -> None:
    recorded = read_recorded()
    assert len(UPSTREAMS) >= 30
    assert [d.name for d in UPSTREAMS if d.name not in recorded] == []


@pytest.mark.parametrize("definition", UPSTREAMS, ids=lambda definition: definition.name)
def test_metric_is_as_kube_scheduler_shows_it(definition: Definition) -> None:
    recorded = read_recorded()[definition.name]
    assert definition.kind == recorded["type"]
    assert definition.help == recorded["help"]
    assert sorted(definition.labels) == recorded["labels"]
    assert list(definition.buckets) == pytest.approx(recorded["buckets"], rel=1e-12)


def test_names_are_unique_and_well_formed() -> None:
    names = [definition.name for definition in definitions()]
    assert len(names) == len(set(names))
    for definition in definitions():
        assert definition.name.endswith("_total") == (definition.kind == "counter")
        assert bool(definition.buckets) == (definition.kind == "histogram")
        assert list(definition.buckets) == sorted(set(definition.buckets))
