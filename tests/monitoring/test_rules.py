"""Rules are accepted by Prometheus, fire when they should, and ask for series that are exported."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.monitoring.exported import (
    TARGET_LABELS,
    agent_samples,
    controller_samples,
    scheduler_samples,
)
from tests.monitoring.prometheus_package import promtool
from tests.monitoring.promql import bare_names, grouped_labels, selectors
from tests.monitoring.shipped import RULE_FILES, RUNBOOKS, alerts, rules

TESTS: Final = Path(__file__).parent / "rules"
SEVERITIES: Final = frozenset({"critical", "warning", "info"})
AT_ONCE: Final = frozenset({"BerthmasterFlushFoundPod"})
EXPORTED: Final = {
    "berthmaster-scheduler": scheduler_samples(),
    "berthmaster-controller": controller_samples(),
    "berthmaster-agent": agent_samples(),
}
each_file = pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: path.stem)


def test_promtool_accepts_the_rules() -> None:
    promtool("check", "rules", "--lint=all", "--lint-fatal", *map(str, RULE_FILES))


@each_file
def test_alerts_fire_when_they_should(path: Path) -> None:
    promtool("test", "rules", str(TESTS / f"{path.stem}.test.yaml"))


@each_file
def test_each_alert_is_tested_to_fire_and_not_to(path: Path) -> None:
    document = yaml.safe_load((TESTS / f"{path.stem}.test.yaml").read_text())
    outcomes: dict[str, set[bool]] = {}
    for case in document["tests"]:
        for check in case.get("promql_expr_test", ()):
            found = re.search(r'alertname="(\w+)", alertstate="firing"', check["expr"])
            if found:
                outcomes.setdefault(found[1], set()).add(bool(check["exp_samples"]))
    assert outcomes == {alert["alert"]: {True, False} for alert in alerts(path)}


@each_file
def test_alerts_say_how_bad_what_and_where_to_read_on(path: Path) -> None:
    for alert in alerts(path):
        name = alert["alert"]
        assert alert["labels"]["severity"] in SEVERITIES, name
        assert ("for" in alert) != (name in AT_ONCE), name
        texts = alert["annotations"]
        assert set(texts) == {"summary", "description", "runbook_url"}, name
        assert len(texts["summary"]) <= 100, name
        assert texts["runbook_url"] == f"docs/runbooks/{name}.md"
        assert (RUNBOOKS / f"{name}.md").is_file()


@each_file
def test_rules_ask_for_exported_series(path: Path) -> None:
    for rule in rules(path):
        name = rule.get("alert") or rule["record"]
        assert bare_names(rule["expr"]) == set(), name
        assert selectors(rule["expr"]), name
        labels = set(TARGET_LABELS)
        for selector in selectors(rule["expr"]):
            # kube-scheduler has series of the same names; the chart writes its release before this.
            operator, job = selector.matchers["job"]
            assert operator == "=", name
            known = EXPORTED[job][selector.name] | TARGET_LABELS
            assert selector.matchers.keys() <= known, name
            labels |= known
        assert grouped_labels(rule["expr"]) <= labels, name


@each_file
def test_texts_use_labels_that_the_alert_has(path: Path) -> None:
    for alert in alerts(path):
        texts = " ".join(alert["annotations"].values())
        used = set(re.findall(r"\$labels\.(\w+)", texts))
        assert used <= labels_of(alert), alert["alert"]


def labels_of(alert: dict[str, Any]) -> set[str]:
    """Give the labels that the alert's expression leaves: those it groups by, or all."""
    grouped = re.search(r"\bby \(([^)]*)\)", alert["expr"])
    if grouped:
        return {label.strip() for label in grouped[1].split(",")}
    [first, *_] = selectors(alert["expr"])
    operator, job = first.matchers["job"]
    assert operator == "="
    return set(EXPORTED[job][first.name] | TARGET_LABELS)
