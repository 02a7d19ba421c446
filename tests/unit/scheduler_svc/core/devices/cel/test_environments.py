"""What the type checker lets pass is what cel-go's does."""

import pytest

from scheduler_svc.core.devices.cel.environments import checking, running


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("1 < 1.5", "BOOL"),
        ("[1, 2].sum()", "INT"),
        ('ip("::1")', "net.IP"),
        ('[quantity("1")].indexOf(quantity("2"))', "INT"),
        ('url("/").getQuery()', "MAP<STRING, LIST<STRING>>"),
        ('device.capacity["d"].x', "kubernetes.Quantity"),
        ('format.named("x").value()', "kubernetes.NamedFormat"),
    ],
)
def test_types_are_those_of_cel_go(expression: str, kind: str) -> None:
    assert checking().compile(expression).return_type().name() == kind


@pytest.mark.parametrize(
    "expression",
    [
        '"a".reverse()',
        '["a"].sum()',
        "[1].indexOf('a')",
        '"a" < 1',
        'quantity("1") < quantity("2")',
    ],
)
def test_what_has_no_type_is_refused(expression: str) -> None:
    with pytest.raises(RuntimeError, match="found no matching overload"):
        checking().compile(expression)


def test_a_device_as_a_whole_has_no_known_fields() -> None:
    assert checking(whole=True).compile("device.nothing").return_type().name() == "DYN"


def test_declared_functions_that_are_the_interpreters_are_not_called() -> None:
    value = running().compile('"a,b".split(",")', disable_check=True).eval(data={})
    assert value.plain_value() == ["a", "b"]
