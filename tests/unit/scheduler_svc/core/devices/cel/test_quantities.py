"""Quantities as upstream holds them: as integers with a power of ten, or as decimal numbers."""

import math

import pytest

from scheduler_svc.core.devices.cel.quantities import (
    Quantity,
    added,
    compare,
    decoded,
    encoded,
    quantity_value,
)
from scheduler_svc.core.errors import InputError
from tests.unit.scheduler_svc.core.devices.cel_asking import ask

NO_QUANTITY = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


def value(text: str) -> Quantity:
    return decoded(quantity_value(text))


@pytest.mark.parametrize(
    "expression",
    [
        'quantity("1500m").compareTo(quantity("2")) == -1',
        'quantity("3").isGreaterThan(quantity("2")) && quantity("1").isLessThan(quantity("1500m"))',
        'isQuantity("1.3Gi") && !isQuantity("1,3G") && !isQuantity("200K") && isQuantity("+")',
        'sign(quantity("-3")) == -1 && sign(quantity("0")) == 0',
        # Upstream does not look for trailing zeros.
        'quantity("5").isInteger() && !quantity("50m").isInteger() && !quantity("1.0").isInteger()',
        'quantity("50000000G").asInteger() == 50000000000000000',
        'quantity("50k").add(20) == quantity("50020")',
        'quantity("50k").sub(quantity("20")) == quantity("49980")',
        '!quantity("100Ti").isInteger() && quantity("e51").asInteger() == 0',
        'quantity("0.3").asApproximateFloat() == 3.0 * 0.1',
    ],
)
def test_what_is_so_of_quantities(expression: str) -> None:
    assert ask(expression) is True


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", NO_QUANTITY),
        ("1 ", NO_QUANTITY),
        ("1K", "unable to parse quantity's suffix"),
        ("1e5000", "unable to parse quantity's suffix"),
        ("Pi", "unable to parse numeric part of quantity"),
    ],
)
def test_what_is_no_quantity(text: str, fault: str) -> None:
    with pytest.raises(InputError) as found:
        quantity_value(text)
    assert str(found.value) == fault


def test_amounts_are_rounded_away_from_zero_and_limited() -> None:
    assert value("0.1n") == Quantity(1, -9, is_decimal=True)
    assert value("-0.1n") == Quantity(-1, -9, is_decimal=True)
    assert compare(value("9Ei"), value("9223372036854775807")) == 0
    assert compare(value("-9Ei"), value("-9223372036854775807")) == 0
    assert value("0.0Ki").value == 0
    assert Quantity(10**400, 0).approximately == math.inf
    assert value("1e19").integer is None


def test_sums_are_held_as_upstream_holds_them() -> None:
    whole, part = value("2"), value("500m")
    assert added(whole, value("0")) == Quantity(2, 0, is_sum=True)
    assert added(value("0"), part) == Quantity(500, -3, is_sum=True)
    assert added(whole, part) == Quantity(2500, -3, is_sum=True)
    assert added(value("1Pi"), whole).is_decimal
    assert added(value("9223372036854775807"), whole).is_decimal
    assert decoded(encoded(added(whole, part))) == added(whole, part)
    assert decoded(encoded(added(whole, whole))) == Quantity(4, 0, is_sum=True)
    assert decoded(encoded(value("1Pi"))).is_decimal
