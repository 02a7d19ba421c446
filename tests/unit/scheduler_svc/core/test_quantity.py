"""Quantities: read exactly, rounded up once."""

import pytest

from scheduler_svc.core.errors import InputError
from scheduler_svc.core.quantity import (
    MAX_AMOUNT,
    MAX_INT64,
    milli_value,
    parse_quantity,
    unit_value,
)

NANO = 10**9


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        ("0", 0),
        ("1", NANO),
        ("+1", NANO),
        ("-1", -NANO),
        ("1.5", 1_500_000_000),
        (".5", 500_000_000),
        ("5.", 5 * NANO),
        ("007", 7 * NANO),
        ("1n", 1),
        ("1u", 1_000),
        ("100m", 100_000_000),
        ("1k", 1_000 * NANO),
        ("1M", 10**6 * NANO),
        ("1G", 10**9 * NANO),
        ("1T", 10**12 * NANO),
        ("1P", 10**15 * NANO),
        ("1E", 10**18 * NANO),
        ("1Ki", 2**10 * NANO),
        ("1.5Mi", 3 * 2**19 * NANO),
        ("1Gi", 2**30 * NANO),
        ("1Ti", 2**40 * NANO),
        ("1Pi", 2**50 * NANO),
        ("1Ei", 2**60 * NANO),
        ("1e3", 1_000 * NANO),
        ("1E3", 1_000 * NANO),
        ("12e-3", 12_000_000),
        ("1.5e+2", 150 * NANO),
        (2, 2 * NANO),
        (0.25, 250_000_000),
        (1e21, MAX_INT64 * NANO),
        (1e-7, 100),
        # Go cuts off spaces, and takes a number without digits for 0.
        (" 100m ", 100_000_000),
        *((text, 0) for text in (".", "+", "-", "m", "Ki")),
        ("1e0003", 1_000 * NANO),
        ("1e-20", 1),
        ("0e999999999", 0),
    ],
)
def test_quantities_are_read_exactly(text: str | float, nano: int) -> None:
    assert parse_quantity(text) == nano


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        ("0.1n", 1),
        ("1.0000000001", NANO + 1),
        ("1." + "0" * 40 + "1", NANO + 1),
        (".5e-99999", 1),
        ("-0.1n", -1),
        ("1.5n", 2),
        ("-1.5n", -2),
    ],
)
def test_what_is_finer_than_nano_is_rounded_away_from_zero(text: str, nano: int) -> None:
    assert parse_quantity(text) == nano


@pytest.mark.parametrize(("text", "sign"), [("10E", 1), ("1e999", 1), ("8Ei", 1), ("-10E", -1)])
def test_nothing_is_more_than_int64_holds(text: str, sign: int) -> None:
    assert parse_quantity(text) == sign * MAX_INT64 * NANO


@pytest.mark.parametrize(
    "text", ["", " ", "1 k", "1x", "1ki", "1.2.3", "1e", "e", "--1", "1,5", "1i", "1" * 9999]
)
def test_what_is_no_quantity_is_said_to_be_none(text: str) -> None:
    with pytest.raises(InputError, match="is no quantity: write a number and a unit") as error:
        parse_quantity(text)
    assert repr(text) in str(error.value)


def test_amounts_are_rounded_up() -> None:
    assert milli_value(1) == 1
    assert milli_value(100 * 10**6) == 100
    assert milli_value(100 * 10**6 + 1) == 101
    assert unit_value(0) == 0
    assert unit_value(1) == 1
    assert unit_value(2 * NANO) == 2
    assert unit_value(2 * NANO + 1) == 3


def test_amounts_are_bounded() -> None:
    """The API server refuses negative ones, a file may have them."""
    assert milli_value(-5 * NANO) == unit_value(-5 * NANO) == 0
    assert milli_value(MAX_INT64 * NANO) == MAX_AMOUNT
    assert unit_value(2 * MAX_INT64 * NANO) == MAX_AMOUNT
    assert MAX_AMOUNT == 2**53
