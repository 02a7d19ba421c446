"""Matches of regular expressions, as Go goes through a text."""

import pytest

from scheduler_svc.core.devices.cel.regex import find, find_all
from scheduler_svc.core.errors import InputError


@pytest.mark.parametrize(
    ("text", "pattern", "matches"),
    [
        ("aab", "a*", ["aa", ""]),
        ("baab", "a*", ["", "aa", ""]),
        ("aab", "a??", ["", "", "", ""]),
        ("abab", "b|$", ["b", "b"]),
        ("a1 b2", r"\b", ["", "", "", ""]),
        ("a1b2", "([a-z])(?P<n>[0-9])", ["a1", "b2"]),
        ("(a)]", r"\Q(a)\E|[]\]]", ["(a)", "]"]),
        ("x(1)", r"\(\d\)", ["(1)"]),
        ("x" * 2001 + "y", "y$", ["y"]),
        ("AB", "(?i:a)b|B", ["B"]),
        ("a[b", r"[[:alpha:](]", ["a", "b"]),
    ],
)
def test_matches_are_those_of_go(text: str, pattern: str, matches: list[str]) -> None:
    assert find_all(text, pattern) == matches
    assert find(text, pattern) == matches[0]
    assert find_all(text, pattern, 1) == matches[:1]
    assert find_all(text, pattern, 0) == []


def test_where_nothing_matches_the_first_is_empty() -> None:
    assert find("x", "y") == ""


@pytest.mark.parametrize("pattern", ["[", "(?=x)", r"\1", "a++"])
def test_what_go_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(InputError, match="Illegal regex: error parsing regexp: "):
        find("x", pattern)
