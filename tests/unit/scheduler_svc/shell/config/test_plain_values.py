"""Scalars and durations, against what kube-scheduler reads."""

import math
from typing import Any

import pytest

from kubeio.durations import format_duration, parse_duration
from kubeio.yaml_scalars import resolve_plain
from tests.unit.scheduler_svc.shell.config.recorded import values_of

DURATIONS = values_of("durations")


@pytest.mark.parametrize(("text", "expected"), values_of("scalars").items())
def test_a_plain_scalar_is_what_kube_scheduler_reads(text: str, expected: Any) -> None:
    value = resolve_plain(text)

    # JSON has one kind of number, so 1e3 and 1000 are the same; true and 1 are not.
    assert value == (float(expected) if isinstance(value, float) else expected)
    assert isinstance(value, bool) == isinstance(expected, bool)


@pytest.mark.parametrize(
    ("text", "expected"),
    [(".inf", math.inf), ("-.INF", -math.inf), ("+.Inf", math.inf)],
)
def test_infinity(text: str, expected: float) -> None:
    assert resolve_plain(text) == expected


def test_not_a_number() -> None:
    value = resolve_plain(".NaN")

    assert isinstance(value, float)
    assert math.isnan(value)


def test_a_number_too_long_to_be_one_is_text() -> None:
    assert resolve_plain("9" * 5000) == "9" * 5000


@pytest.mark.parametrize(
    ("text", "written"),
    [(k, v) for k, v in DURATIONS.items() if not v.startswith("time: ") and len(v) < 20],
)
def test_a_duration_is_written_as_go_writes_it(text: str, written: str) -> None:
    assert format_duration(parse_duration(text)) == written


@pytest.mark.parametrize(
    ("text", "error"), [(k, v) for k, v in DURATIONS.items() if v.startswith("time: ")]
)
def test_what_go_does_not_parse_is_refused_in_its_words(text: str, error: str) -> None:
    with pytest.raises(ValueError, match=r"^time: ") as caught:
        parse_duration(text)

    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("text", "seconds"), [("15s", 15), ("1h2m3.5s", 3723.5), ("100ms", 0.1), ("-5s", -5)]
)
def test_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


def test_the_longest_duration() -> None:
    assert parse_duration("9223372036854775807ns") == pytest.approx((2**63 - 1) / 1e9)


def test_a_very_long_text_is_no_duration() -> None:
    with pytest.raises(ValueError, match="invalid duration"):
        parse_duration("1" * 200 + "s")
