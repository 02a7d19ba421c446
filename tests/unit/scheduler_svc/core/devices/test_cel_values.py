"""Kubernetes' CEL functions on quantities, versions and lists, as its documentation has them."""

import pytest

from scheduler_svc.core.device_objects import Device
from scheduler_svc.core.devices.cel_values import compare, quantity_value, version_value
from scheduler_svc.core.devices.selectors import SelectorFailure, Selectors
from scheduler_svc.core.errors import InputError

NO_QUANTITY = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


def ask(expression: str) -> object:
    selectors = Selectors()
    answer = selectors.matches(expression, selectors.traits("d", Device("x")))
    return answer.text if isinstance(answer, SelectorFailure) else answer


@pytest.mark.parametrize(
    "expression",
    [
        'quantity("1Gi") == quantity("1024Mi")',
        'quantity("1500m").compareTo(quantity("2")) == -1',
        'quantity("2").compareTo(quantity("2")) == 0',
        'quantity("3").isGreaterThan(quantity("2"))',
        'quantity("1").isLessThan(quantity("1500m"))',
        'isQuantity("1.3Gi") && !isQuantity("1,3G") && !isQuantity("200K")',
        'sign(quantity("-3")) == -1 && sign(quantity("0")) == 0',
        'quantity("5").isInteger() && !quantity("50m").isInteger()',
        'quantity("50000000G").asInteger() == 50000000000000000',
        'quantity("9999999999999999").asApproximateFloat() > 1.0',
        'quantity("50k").add(quantity("20")) == quantity("50020")',
        'quantity("50k").add(20) == quantity("50020")',
        'quantity("50k").sub(quantity("20")) == quantity("49980")',
        'quantity("50k").sub(20) == quantity("49980")',
        'semver("1.2.3").major() == 1 && semver("1.2.3").minor() == 2',
        'semver("1.2.3").patch() == 3',
        'semver("1.2.3").isLessThan(semver("1.10.0"))',
        'semver("1.0.0").isGreaterThan(semver("1.0.0-rc.1"))',
        'semver("1.0.0-alpha.2").isLessThan(semver("1.0.0-alpha.10"))',
        'semver("1.0.0-2").isLessThan(semver("1.0.0-alpha"))',
        'semver("1.0.0+build") == semver("1.0.0")',
        'semver("v01.02", true) == semver("1.2.0") && semver("1.00.3", true).minor() == 0',
        '!isSemver("01.0.0") && isSemver("v01.0.0", true) && !isSemver("1.0-rc", true)',
        '"abc 123".find("[0-9]*$") == "123" && "x".find("y") == ""',
        '"12 34".findAll("[0-9]+") == ["12", "34"] && "12 34".findAll("[0-9]+", 1) == ["12"]',
        "[1, 2].isSorted() && ![2, 1].isSorted()",
        "[2, 1, 2].sort() == [1, 2, 2] && [2, 1, 2].distinct() == [2, 1]",
        "lists.range(3) == [0, 1, 2]",
        "[1, 2, 3].slice(1, 3) == [2, 3] && [1].slice(0, 0) == []",
        "[[1], [2]].flatten() == [1, 2] && [[[1]], [[2]]].flatten() == [[1], [2]]",
        "[[[1]], [[2]]].flatten(2) == [1, 2] && [[1]].flatten(0) == [[1]]",
        # Numbers of two types are compared.
        'quantity("3").asApproximateFloat() > 2 && 4 >= quantity("3").asApproximateFloat()',
        'quantity("3").asInteger() < 3.5 && semver("1.2.3").major() <= 1.5',
        "[1, 3].sum() == 4 && [3, 1].min() == 1 && [3, 1].max() == 3",
        "sets.contains([1, 2], [1]) && !sets.contains([1], [1, 2])",
        "sets.equivalent([1, 1, 2], [2, 1]) && !sets.equivalent([1], [1, 2])",
        "sets.intersects([1], [1, 2]) && !sets.intersects([1], [2])",
    ],
)
def test_what_kubernetes_says_is_true(expression: str) -> None:
    assert ask(expression) is True


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ('quantity("50m").asInteger() == 1', "cannot convert value to integer"),
        ('dyn("x").isGreaterThan(semver("1.0.0"))', "no such overload"),
        ('semver("1.0.0").isGreaterThan(dyn("x"))', "no such overload"),
        ("[].min() == 1", "min called on empty list"),
        ("[1].slice(-1, 0) == []", "cannot slice(-1, 0), negative indexes not supported"),
        (
            "[1].slice(1, 0) == []",
            "cannot slice(1, 0), start index must be less than or equal to end index",
        ),
        ("[1].slice(0, 2) == []", "cannot slice(0, 2), list is length 1"),
        ("[[1]].flatten(-1) == []", "level must be non-negative"),
        (
            'quantity("x") == quantity("1")',
            NO_QUANTITY,
        ),
    ],
)
def test_what_has_no_meaning_is_said_to_have_none(expression: str, text: str) -> None:
    assert ask(expression) == text


def test_an_empty_list_has_a_sum() -> None:
    assert ask("[].sum() == 0") is True


def test_values_are_read_or_refused() -> None:
    assert compare(quantity_value("1"), quantity_value("1000m")) == 0
    assert compare(version_value("1.0.0"), version_value("2.0.0")) == -1
    with pytest.raises(InputError, match=r"'1\.0\.x' is no semantic version"):
        version_value("1.0.x")
    with pytest.raises(InputError, match=r"No Major\.Minor\.Patch elements found"):
        version_value("1.0")
