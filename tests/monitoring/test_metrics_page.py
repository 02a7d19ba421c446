"""docs/metrics.md names all metrics that are exported, with their labels, and no others."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Final

import pytest

from tests.monitoring.exported import Samples, agent_samples, controller_samples, scheduler_samples
from tests.monitoring.shipped import ROOT

PAGE: Final = (ROOT / "docs/metrics.md").read_text()
OF_PROMETHEUS: Final = "up"
OF_ANOTHER_PATH: Final = "kube_pod_resource_"
"""At ``/metrics/resources``."""


def section(title: str) -> list[tuple[list[str], list[str]]]:
    """Give a section's rows: the metrics' names in the first column, and the other columns."""
    text = re.split(r"^## ", PAGE.partition(f"\n## {title}\n")[2], flags=re.MULTILINE)[0]
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| `")]
    assert rows, title
    return [(re.findall(r"`([^`]+)`", first), others) for first, *others in rows]


def families(samples: Samples) -> dict[str, frozenset[str]]:
    """Give labels by metric, histograms as one."""
    return {
        re.sub("_(bucket|sum|count)$", "", name): labels - {"le"}
        for name, labels in samples.items()
        if name != OF_PROMETHEUS
    }


SCHEDULER: Final = (families(scheduler_samples()), ("kube-scheduler's", "Ours"))
CONTROLLER: Final = (families(controller_samples()), ("The controller's",))
AGENT: Final = (families(agent_samples()), ("The agent's",))


@pytest.mark.parametrize(
    ("exported", "titles"),
    [SCHEDULER, CONTROLLER, AGENT],
    ids=["scheduler", "controller", "agent"],
)
def test_the_page_has_all_and_no_others(
    exported: dict[str, frozenset[str]], titles: tuple[str, ...]
) -> None:
    named = [name for title in titles for names, _ in section(title) for name in names]
    assert [metric for metric in sorted(exported) if not _is_named(metric, named)] == []
    known = [name for name in named if not name.startswith(OF_ANOTHER_PATH)]
    assert [name for name in known if not any(fnmatchcase(each, name) for each in exported)] == []


def test_what_is_said_not_to_be_here_is_not() -> None:
    named = [name for names, _ in section("Not here") for name in names]
    exported = {**SCHEDULER[0], **CONTROLLER[0], **AGENT[0]}
    assert [metric for metric in sorted(exported) if _is_named(metric, named)] == []


@pytest.mark.parametrize(
    ("title", "exported"),
    [
        ("kube-scheduler's", SCHEDULER[0]),
        ("The controller's", CONTROLLER[0]),
        ("The agent's", AGENT[0]),
    ],
    ids=["scheduler", "controller", "agent"],
)
def test_labels_are_those_of_the_metrics(title: str, exported: dict[str, frozenset[str]]) -> None:
    for names, (told, *_) in section(title):
        known = [exported[name] for name in names if name in exported]
        if len(known) < len(names):
            continue  # a pattern, or of another path
        labels = [frozenset(re.findall(r"\w+", part)) for part in told.split(";")]
        assert set(labels) == set(known), names


def _is_named(metric: str, named: list[str]) -> bool:
    return any(fnmatchcase(metric, name) for name in named)
