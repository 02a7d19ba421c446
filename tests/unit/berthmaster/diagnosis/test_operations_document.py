"""docs/operations.md names metrics, flags and places that there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from berthmaster.cli.root import cli
from tests.monitoring.exported import agent_samples, scheduler_samples

DOCS = Path(__file__).parents[4] / "docs"
DOCUMENTS = (DOCS / "operations.md", DOCS / "diagnose.md")
each_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
# A name that ends there: not the beginning of a pattern.
METRIC = re.compile(r"\b((?:berthmaster|scheduler|leader_election)_[a-z_]*[a-z])(?![\w$(*])")


def anchors_of(path: Path) -> set[str]:
    """Give what headings are linked by."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands_in(text: str) -> list[list[str]]:
    """Give the words of each call of ours: lines of code, and code in the text."""
    lines = re.findall(r"^    (?:\$ )?(berthmaster [a-z].*)$", text, re.MULTILINE)
    lines += re.findall(r"`(berthmaster [a-z][^`\n]+)`", text)
    calls = [re.split(r"\s(?:\||&)(?=\s|$)|; ", line)[0] for line in lines]
    return [words for call in calls if len(words := shlex.split(call, comments=True)) > 1]


@each_document
def test_metrics_are_those_that_are_exported(path: Path) -> None:
    known = scheduler_samples().keys() | agent_samples().keys()
    known |= {re.sub("_(bucket|sum|count)$", "", name) for name in known}
    assert set(METRIC.findall(path.read_text())) <= known


@each_document
def test_commands_of_ours_are_understood(path: Path) -> None:
    commands = [words for words in commands_in(path.read_text()) if words[1][0] != "-"]
    assert commands
    for _, name, *words in commands:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, name
        known = {flag for option in command.params for flag in option.opts} | {"--help"}
        flags = {word.partition("=")[0] for word in words if word.startswith("-")}
        assert flags <= known, (name, flags - known)


@each_document
def test_links_lead_to_pages_and_headings(path: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", path.read_text()):
        page = path.parent / target if target else path
        assert page.exists(), target
        assert not anchor or anchor in anchors_of(page), f"{target}#{anchor}"
