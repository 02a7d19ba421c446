"""What runbooks tell people to type and to look for is there: flags, values, log lines, series."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any, Final

import click
import pytest
import yaml

from berthmaster.cli.root import cli
from kubeio.logs import JsonFormatter, TextFormatter
from tests.monitoring.prometheus_package import promtool
from tests.monitoring.runbook_commands import PAGES, expressions, searched_for, shell_lines
from tests.monitoring.shipped import CHART, DASHBOARDS, ROOT

PACKAGES: Final = ("scheduler_svc", "node_agent", "kubeio")
VALUE: Final = re.compile(
    r"\b(?:scheduler|controller|agent|podGroups|schedulerProfiles|monitoring|networkPolicy|flowSchemas|rbac|certManager)"
    r"(?!\.(?:md|json|yaml|coreos)\b)(?:\.\w+)+"
)


def test_expressions_are_accepted_by_prometheus(tmp_path: Path) -> None:
    rules = [
        {"record": f"runbook:{number}", "expr": each.text}
        for number, each in enumerate(expressions())
    ]
    assert rules
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "runbooks", "rules": rules}]}))
    promtool("check", "rules", str(path))


def test_calls_of_berthmaster_have_flags_that_there_are() -> None:
    calls = shell_lines("berthmaster")
    assert {words[1] for words in calls} == {"diagnose", "explain", "timeline"}
    context = click.Context(cli)
    for words in calls:
        command = cli.get_command(context, words[1])
        assert command is not None, words
        known = {flag for parameter in command.params for flag in parameter.opts}
        assert {word for word in words[2:] if word.startswith("-")} <= known, words


@pytest.mark.parametrize("path", [*PAGES, DASHBOARDS], ids=lambda path: path.stem)
def test_values_of_the_chart_that_a_page_names_are_there(path: Path) -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    named = set(VALUE.findall(path.read_text()))
    assert [value for value in sorted(named) if not _is_there(values, value)] == []


def _is_there(values: Any, path: str) -> bool:
    """Say whether `path` leads to a value, or into one that users fill in freely."""
    for part in path.split("."):
        if values == {} or (isinstance(values, dict) and "apiVersion" in values):
            return True
        if part not in values:
            return False
        values = values[part]
    return True


def test_what_logs_are_searched_for_is_written() -> None:
    source = "\n".join(
        path.read_text() for package in PACKAGES for path in (ROOT / package).rglob("*.py")
    )
    written = source + "\n".join(bad_lines())
    assert [pattern.pattern for pattern in searched_for() if not pattern.search(written)] == []


def test_a_search_for_bad_lines_finds_all_levels_in_both_formats() -> None:
    [pattern] = [each for each in searched_for() if "level" in each.pattern]
    assert [line for line in bad_lines() if not pattern.search(line)] == []


def bad_lines() -> list[str]:
    """Give an error and a warning as they are logged in each format."""
    return [
        formatter.format(logging.makeLogRecord({"levelno": level, "levelname": name, "msg": "m"}))
        for formatter in (TextFormatter(), JsonFormatter())
        for level, name in ((logging.ERROR, "ERROR"), (logging.WARNING, "WARNING"))
    ]
