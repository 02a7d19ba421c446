"""docs/diagnose.md has every check, and no other; links and flags are those there are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import berthmaster.cli.diagnosis
from berthmaster.cli.diagnose_flags import OPTIONS
from berthmaster.cli.diagnosis.finding import Area
from node_agent.core.divergence.causes import Cause

DOCUMENT = Path(__file__).parents[4] / "docs" / "diagnose.md"
SOURCES = Path(berthmaster.cli.diagnosis.__file__).parent
NAME = re.compile(r"[a-z]+(-[a-z]+)*")


def checks_of(module: ast.Module) -> Iterator[str]:
    """Give what is passed as `check`, and to `_nothing` and `_without_leader`, which pass it on."""
    for node in ast.walk(module):
        if not isinstance(node, ast.Call):
            continue
        given = [keyword.value for keyword in node.keywords if keyword.arg == "check"]
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        if called in ("_nothing", "_without_leader"):
            given += node.args
        for value in given:
            for part in ast.walk(value):
                if isinstance(part, ast.Constant) and NAME.fullmatch(str(part.value)):
                    yield str(part.value)


def test_every_check_is_told_in_the_table_and_no_other() -> None:
    found = {
        check for path in SOURCES.glob("*.py") for check in checks_of(ast.parse(path.read_text()))
    }
    assert {"no-nodes", "lease-stale", "nodes-full", "room", "pods-gated"} <= found
    table = DOCUMENT.read_text().partition("## What is looked for")[2].partition("## ")[0]
    first_cells = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    told = {name for cell in first_cells for name in re.findall(r"`([a-z-]+)`", cell)}
    of_causes = {f"pods-{cause.value.replace('_', '-')}" for cause in Cause}
    assert told - of_causes == found
    assert "`pods-CAUSE`" in table


def test_flags_areas_and_links_are_those_there_are() -> None:
    text = DOCUMENT.read_text()
    flags = {flag for option in OPTIONS for flag in option.opts}
    assert set(re.findall(r"`(--?[a-z-]+)", text)) <= flags
    areas = re.search(r"areas are ([a-z, ]+)", text)
    assert areas is not None
    assert areas[1].strip().split(", ") == [area.value for area in Area]
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert (DOCUMENT.parent / target).exists(), target
