"""What a PromQL expression names: series with their matchers, and the labels it groups by."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_RANGE: Final = re.compile(r"\[[^\]]*\]")
_SELECTOR: Final = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)\s*\{((?:[^}"]|"(?:[^"\\]|\\.)*")*)\}')
_GROUPING: Final = re.compile(r"\b(by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_MATCHER: Final = re.compile(r'([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*")')
_NAME: Final = re.compile(r"(?<![\w.$])[a-zA-Z_:][a-zA-Z0-9_:]*(?!\w*\s*\()")
_OPERATORS: Final = frozenset({"and", "or", "unless", "bool"})


@dataclass(frozen=True, slots=True)
class Selector:
    """A series as it is asked for: its name, and its matchers as ``label -> (operator, value)``."""

    name: str
    matchers: dict[str, tuple[str, str]]


def selectors(expression: str) -> list[Selector]:
    """Give all selectors; all have to be written with braces, or `bare_names` gives them."""
    return [
        Selector(name, {label: (op, text[1:-1]) for label, op, text in _MATCHER.findall(matchers)})
        for name, matchers in _SELECTOR.findall(expression)
    ]


def grouped_labels(expression: str) -> set[str]:
    """Give the labels in ``by``, ``on`` and the like."""
    return {
        label.strip()
        for _, labels in _GROUPING.findall(expression)
        for label in labels.split(",")
        if label.strip()
    }


def bare_names(expression: str) -> set[str]:
    """Give names that are no function, operator, label or selector with braces."""
    rest = _GROUPING.sub(" ", _SELECTOR.sub(" ", _RANGE.sub(" ", expression)))
    return set(_NAME.findall(_STRING.sub(" ", rest))) - _OPERATORS
