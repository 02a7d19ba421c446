"""Each alert has its page: questions, commands, answers; and pages name only what there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.monitoring.exported import agent_samples, controller_samples, scheduler_samples
from tests.monitoring.promql import selectors
from tests.monitoring.shipped import DASHBOARDS, RULE_FILES, RUNBOOKS, alerts

INDEX: Final = "README"
PAGES: Final = tuple(sorted(path for path in RUNBOOKS.glob("*.md") if path.stem != INDEX))
DOCUMENTS: Final = (*sorted(RUNBOOKS.glob("*.md")), DASHBOARDS)
PREFIXES: Final = ("berthmaster_", "scheduler_", "leader_election_")
each_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)


def test_each_alert_has_a_page_and_each_page_an_alert() -> None:
    names = {alert["alert"] for path in RULE_FILES for alert in alerts(path)}
    assert {path.stem for path in PAGES} == names


def test_the_table_of_alerts_is_that_of_the_rules() -> None:
    rows = re.findall(
        r"^\| \[(\w+)\]\(runbooks/\w+\.md\) \| (\w+) \| ([^|]+) \|$",
        DASHBOARDS.read_text(),
        re.MULTILINE,
    )
    assert set(rows) == {
        (alert["alert"], alert["labels"]["severity"], alert.get("for", "at once"))
        for path in RULE_FILES
        for alert in alerts(path)
    }


@each_page
def test_a_page_asks_and_says_how_to_answer(path: Path) -> None:
    title, *sections = re.split(r"^## ", path.read_text(), flags=re.MULTILINE)
    assert title.startswith(f"# {path.stem}\n\n")
    assert sections
    for section in sections:
        question, _, rest = section.partition("\n")
        assert question.endswith("?"), question
        assert re.search(r"^(- |\| )", rest, re.MULTILINE), question
    assert re.search(r"^    \S", path.read_text(), re.MULTILINE), "no command"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_metrics_that_a_page_names_are_exported(path: Path) -> None:
    known = scheduler_samples() | controller_samples() | agent_samples()
    text = path.read_text()
    ours = [selector.name for selector in selectors(text) if selector.name.startswith(PREFIXES)]
    assert set(ours) <= known.keys()
    families = {re.sub("_(bucket|sum|count)$", "", name) for name in known} | set(known)
    named = set(re.findall(r"`((?:berthmaster|scheduler|leader_election)_[a-z_]+)`", text))
    assert named <= families


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text()):
        assert (path.parent / target).exists(), target
