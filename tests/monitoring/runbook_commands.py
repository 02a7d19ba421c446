"""What the runbooks tell people to type."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Final

from tests.monitoring.shipped import RUNBOOKS

SHELL: Final = frozenset(
    {"berthmaster", "kubectl", "helm", "curl", "comm", "journalctl", "systemctl"}
)
PAGES: Final = tuple(sorted(RUNBOOKS.glob("*.md")))
_LINE: Final = re.compile(r"^    (\S.*)$", re.MULTILINE)
_INLINE: Final = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Command:
    """A line to type, and the page that has it."""

    page: str
    text: str


def expressions() -> list[Command]:
    """Give the lines that are for Prometheus: those that begin with no program."""
    return [command for command in _lines() if command.text.split()[0] not in SHELL]


def shell_lines(program: str) -> list[list[str]]:
    """Give the words of all calls of a program, in lines of their own and in the text."""
    texts = [command.text for command in _lines()]
    texts += [text for page in PAGES for text in _INLINE.findall(page.read_text())]
    found = []
    for text in texts:
        for part in re.split(r"\s(?:\||&&|&)(?=\s|$)", text):
            words = shlex.split(part, comments=True) if part.split()[:1] == [program] else []
            if len(words) > 1:
                found.append(words)
    return found


def searched_for() -> list[re.Pattern[str]]:
    """Give what logs are searched for."""
    found = []
    for command in _lines():
        printed, _, search = command.text.partition("| grep ")
        if search and " logs " in printed:
            *options, pattern = shlex.split(search, comments=True)
            literal = pattern if "-E" in options else re.escape(pattern)
            found.append(re.compile(literal, re.IGNORECASE if "-i" in options else re.NOFLAG))
    return found


def _lines() -> list[Command]:
    return [Command(page.stem, line) for page in PAGES for line in _LINE.findall(page.read_text())]
