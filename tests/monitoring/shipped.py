"""What the chart ships for Prometheus and Grafana."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[2]
CHART: Final = ROOT / "charts/berthmaster"
RUNBOOKS: Final = ROOT / "docs/runbooks"
DASHBOARDS: Final = ROOT / "docs/dashboards.md"
RULE_FILES: Final = tuple(sorted((CHART / "rules").glob("*.yaml")))
DASHBOARD_FILES: Final = tuple(sorted((CHART / "dashboards").glob("*.json")))


_JOBS: Final = {
    "scheduler": "berthmaster-scheduler",
    "controller": "berthmaster-controller",
    "node": "berthmaster-agent",
}
_CHOICES: Final = {
    "cluster": ".*",
    "namespace": ".*",
    "release": ".*",
    "profile": ".*",
    "node": ".*",
    "__rate_interval": "1m",
}


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a dashboard; `where` is for people."""

    where: str
    expression: str
    legend: str


def scrape_configuration() -> dict[str, Any]:
    """Give what the documentation has for a Prometheus without the operator."""
    [text] = re.findall(r"^```yaml\n(.*?)^```", DASHBOARDS.read_text(), re.MULTILINE | re.DOTALL)
    document: dict[str, Any] = yaml.safe_load(text)
    return document


def dashboard(path: Path) -> dict[str, Any]:
    """Read a dashboard."""
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def panels(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Give all panels and rows, those in collapsed rows too."""
    return [panel for outer in document["panels"] for panel in (outer, *outer.get("panels", ()))]


def panels_by_row(document: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Give panels by their row's title: an open row's stand after it, a closed one's in it."""
    found: dict[str, list[dict[str, Any]]] = {}
    row = ""
    for panel in document["panels"]:
        if panel["type"] == "row":
            row = panel["title"]
            found[row] = list(panel["panels"])
        else:
            found[row].append(panel)
    return found


def queries(path: Path) -> list[Query]:
    """Give the queries of a dashboard's panels."""
    return [
        Query(
            f"{path.stem}: {row}: {panel['title']} ({target['refId']})",
            target["expr"],
            target["legendFormat"],
        )
        for row, shown in panels_by_row(dashboard(path)).items()
        for panel in shown
        for target in panel.get("targets", ())
    ]


def everything_chosen(query: Query) -> str:
    """Give a query as Grafana sends it with everything chosen."""
    choices = {**_CHOICES, "job": _JOBS[query.where.partition(":")[0]]}
    expression = re.sub(r"\$(\w+)", lambda found: choices[found[1]], query.expression)
    assert "$" not in expression
    return expression


def rules(path: Path) -> list[dict[str, Any]]:
    """Give the rules of a file."""
    document = yaml.safe_load(path.read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


def alerts(path: Path) -> list[dict[str, Any]]:
    """Give the alerts of a file."""
    return [rule for rule in rules(path) if "alert" in rule]


def recorded_names() -> set[str]:
    """Give the names of series that rules record."""
    return {rule["record"] for path in RULE_FILES for rule in rules(path) if "record" in rule}
