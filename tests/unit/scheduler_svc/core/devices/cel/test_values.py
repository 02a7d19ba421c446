"""Values of Kubernetes' types: equality, order, and what upstream refuses to compare."""

import math

import pytest

from scheduler_svc.core.devices.cel.quantities import quantity_value
from scheduler_svc.core.devices.cel.urls import url_value
from scheduler_svc.core.devices.cel.values import (
    NO_OVERLOAD,
    as_string,
    compare,
    equals,
    extreme,
    includes,
    index_of,
    inserted,
    is_among,
    is_sorted,
    last_index_of,
    names_of,
    size,
    total,
    up_to,
)
from scheduler_svc.core.devices.cel.versions import version_value
from scheduler_svc.core.errors import InputError
from tests.unit.scheduler_svc.core.devices.cel_asking import ask


@pytest.mark.parametrize(
    "expression",
    [
        'semver("1.0.0+build") == semver("1.0.0") && semver("1.0.0") != semver("1.0.1")',
        'quantity("1Gi") == quantity("1024Mi")',
        'url("http://h/a?") != url("http://h/a") && url("HTTP://h/") == url("http://h/")',
        'dyn(semver("1.0.0")) != "1.0.0" && !("1.0.0" == dyn(semver("1.0.0")))',
        'dyn(semver("1.0.0")) != null && !(dyn(semver("1.0.0")) == null)',
        'quantity("512Mi") in [quantity("1"), quantity("0.5Gi")]',
        'dyn(bytes("ab")).size() == 2 && string(dyn(bytes("ab"))) == "ab"',
        'dyn(b"a") == b"a" && dyn(b"a") != b"b"',
        '!(dyn(quantity("1")) in ["1"]) && !(dyn(semver("1.0.0")) in {"a": 1})',
        '!(device.attributes["d"].missing in [])',
    ],
)
def test_what_is_equal(expression: str) -> None:
    assert ask(expression) is True


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ('dyn(semver("1.0.0")) == "1.0.0"', NO_OVERLOAD),
        ('dyn(semver("1.0.0")) < "1.0.0"', "no such overload: _<_"),
        ('size(dyn(semver("1.0.0"))) == 5', "no such overload: size"),
        ('string(dyn(semver("1.0.0"))) == ""', "no such overload: string(kubernetes.Semver)"),
        (
            'dyn("x").isGreaterThan(semver("1.0.0"))',
            "no such overload: isGreaterThan(string, kubernetes.Semver)",
        ),
        ('dyn(semver("1.0.0")).startsWith("1")', NO_OVERLOAD),
        ('ip(dyn(semver("1.0.0"))) == ip("::1")', NO_OVERLOAD),
        ('quantity("50m").asInteger() == 1', "cannot convert value to integer"),
        ('dyn(quantity("1")).major() == 1', "no such overload: major(kubernetes.Quantity)"),
        # The sum is no plain quantity upstream.
        ('quantity("2") == quantity("1").add(1)', NO_OVERLOAD),
        (
            'dyn(semver("1.0.0")) in ["1.0.0"]',
            "internal error: runtime error: hash of unhashable type cel.Semver",
        ),
        ("dyn(quantity('1')) in dyn('1')", NO_OVERLOAD),
        ("int(dyn(true)) == 1", "no such overload: int(bool)"),
        ("lists.range(1000001) == []", "operation cancelled: actual cost limit exceeded"),
    ],
)
def test_what_upstream_has_no_answer_to(expression: str, text: str) -> None:
    assert ask(expression) == text


def test_values_have_an_order_and_an_equality() -> None:
    one, two = version_value("1.0.0"), version_value("2.0.0")
    assert compare(quantity_value("1"), quantity_value("1000m")) == 0
    assert compare(one, two) == -1
    assert equals([url_value("http://h/?"), url_value("http://h/?")])
    for left, right in ((one, quantity_value("1")), (url_value("/"), url_value("/"))):
        with pytest.raises(InputError, match=NO_OVERLOAD):
            compare(left, right)
    assert names_of("text") is None
    assert size(b"abc") == 3
    assert as_string(b"abc") == "abc"


def test_what_has_no_order_is_passed_over() -> None:
    assert is_sorted([1, 1.5, 2])
    assert not is_sorted([2, 1])
    assert is_sorted([2, True, "x", math.nan, None, {}, {}])
    assert extreme("min", 1)([2, True, "x", 1]) == 1
    with pytest.raises(InputError, match="max called on empty list"):
        extreme("max", -1)([])


def test_a_sum_is_of_numbers_of_one_type() -> None:
    assert total([1.5, 2.0]) == 3.5
    assert total([2**63, 1]) == 2**63 + 1
    with pytest.raises(InputError, match=NO_OVERLOAD):
        total([1, 1.5])
    with pytest.raises(InputError, match="integer overflow"):
        total([2**63 - 1, 1])


def test_places_in_lists_and_texts() -> None:
    assert index_of([[1, True, 1.0], 1.0]) == 0
    assert last_index_of([[1, True, 1.0], True]) == 1
    assert index_of([[version_value("1.0.0")], version_value("1.0.0+b")]) == 0
    assert index_of(["abcabc", "c", 3]) == 5
    assert index_of(["abc", "", 9]) == last_index_of(["abc", "", 9]) == 9
    assert last_index_of(["abcabc", "c", 4]) == 2
    assert last_index_of(["abc", "c", 3]) == -1
    assert last_index_of(["abcabc", "c"]) == 5
    with pytest.raises(InputError, match="index out of range: -1"):
        index_of(["abc", "c", -1])
    with pytest.raises(InputError, match=NO_OVERLOAD):
        index_of([5, "c"])


def test_what_a_list_includes() -> None:
    assert includes(["a", "a"])
    assert includes([["a", "b"], "b"])
    assert not includes([[1], True])
    with pytest.raises(InputError, match="lists longer than 48 values"):
        includes([[1] * 49, 2])
    assert is_among([version_value("1.0.0"), [version_value("1.0.0")]])
    assert not is_among([version_value("1.0.0"), {}])


def test_a_key_is_inserted_once() -> None:
    assert inserted([{"a": 1}, "b", 2]) == {"a": 1, "b": 2}
    assert inserted([{"a": 1}, {"b": 2}]) == {"a": 1, "b": 2}
    with pytest.raises(InputError, match="insert failed: key true already exists"):
        inserted([{True: 1}, True, 2])
    assert up_to(2) == [0, 1]
    assert up_to(-1) == []
