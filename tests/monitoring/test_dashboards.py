"""Dashboards can be imported, explain themselves, and ask for series that are exported."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.monitoring.exported import (
    TARGET_LABELS,
    Samples,
    agent_samples,
    controller_samples,
    scheduler_samples,
)
from tests.monitoring.promql import bare_names, grouped_labels, selectors
from tests.monitoring.shipped import (
    DASHBOARD_FILES,
    dashboard,
    panels,
    panels_by_row,
    queries,
    recorded_names,
)

BUILT_IN: Final = frozenset({"__rate_interval"})
WIDTH: Final = 24
EXPORTED: Final = {
    "scheduler": scheduler_samples,
    "controller": controller_samples,
    "node": agent_samples,
}
each_dashboard = pytest.mark.parametrize("path", DASHBOARD_FILES, ids=lambda path: path.stem)


def exported(path: Path) -> Samples:
    return EXPORTED[path.stem]()


def test_there_are_those_that_are_documented() -> None:
    assert {path.stem for path in DASHBOARD_FILES} == set(EXPORTED)
    uids = [dashboard(path)["uid"] for path in DASHBOARD_FILES]
    assert len(set(uids)) == len(uids)


@each_dashboard
def test_panels_have_ids_of_their_own(path: Path) -> None:
    ids = [panel["id"] for panel in panels(dashboard(path))]
    assert len(set(ids)) == len(ids)


@each_dashboard
def test_panels_have_titles_of_their_own_and_say_what_to_do(path: Path) -> None:
    rows = panels_by_row(dashboard(path))
    places = [(row, panel["title"]) for row, shown in rows.items() for panel in shown]
    all_shown = [panel for panel in panels(dashboard(path)) if panel["type"] != "row"]
    assert len(set(places)) == len(places) == len(all_shown)
    assert [panel["title"] for panel in all_shown if len(panel.get("description", "")) < 40] == []


@each_dashboard
def test_panels_do_not_overlap(path: Path) -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in dashboard(path)["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= WIDTH
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert taken.setdefault((x, y), panel["title"]) == panel["title"]


@each_dashboard
def test_panels_ask_the_chosen_data_source(path: Path) -> None:
    for panel in panels(dashboard(path)):
        if panel["type"] != "row":
            asked = [panel["datasource"], *(target["datasource"] for target in panel["targets"])]
            assert {source["uid"] for source in asked} == {"${datasource}"}, panel["title"]


@each_dashboard
def test_every_variable_that_is_used_is_there(path: Path) -> None:
    variables = {variable["name"] for variable in dashboard(path)["templating"]["list"]}
    used = {name for query in queries(path) for name in re.findall(r"\$\{?(\w+)", query.expression)}
    assert used - variables == used & BUILT_IN
    assert variables >= {"datasource", "cluster", "namespace", "release", "job"}


@each_dashboard
def test_variables_ask_for_exported_series(path: Path) -> None:
    known = exported(path)
    for variable in dashboard(path)["templating"]["list"]:
        if variable["type"] == "query":
            asked = variable["query"]["query"]
            name, label = re.fullmatch(r"label_values\((\w+)(?:\{.*\})?, (\w+)\)", asked).groups()  # type: ignore[union-attr]
            assert label in known[name] | TARGET_LABELS, asked


@each_dashboard
def test_queries_ask_for_exported_series(path: Path) -> None:
    known, recorded = exported(path), recorded_names()
    for query in queries(path):
        assert bare_names(query.expression) == set(), query.where
        found = selectors(query.expression)
        assert found, query.where
        for selector in found:
            if selector.name in recorded:
                continue
            assert selector.name in known, query.where
            labels = known[selector.name] | TARGET_LABELS
            assert selector.matchers.keys() <= labels, query.where
            # kube-scheduler has series of the same names.
            assert selector.matchers["job"] == ("=~", "$job"), query.where


@each_dashboard
def test_queries_group_by_labels_that_there_are(path: Path) -> None:
    known = exported(path)
    for query in queries(path):
        labels = set(TARGET_LABELS) | {"phase", "le"}
        for selector in selectors(query.expression):
            labels |= known.get(selector.name, frozenset())
        assert grouped_labels(query.expression) <= labels, query.where
        assert set(re.findall(r"\{\{(\w+)\}\}", query.legend)) <= labels, query.where
