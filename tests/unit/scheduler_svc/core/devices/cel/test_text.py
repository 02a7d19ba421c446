"""Texts as strconv.Quote writes them."""

import pytest

from scheduler_svc.core.devices.cel.text import quoted


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('a"\\b\n', r'"a\"\\b\n"'),
        ("é\x01\x7f", r'"é\x01\x7f"'),
        ("\u2028\U000e0001", r'"\u2028\U000e0001"'),
        ("\udcff", r'"\xff"'),
    ],
)
def test_what_cannot_be_shown_is_escaped(text: str, written: str) -> None:
    assert quoted(text) == written
