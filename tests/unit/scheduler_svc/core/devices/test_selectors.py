"""Expressions on devices: what they see, and the texts of what goes wrong."""

from typing import Any

import pytest

from scheduler_svc.core.devices import selectors as selectors_module
from scheduler_svc.core.devices.selectors import SelectorFailure, Selectors
from tests.device_builders import DRIVER, as_device, device

ATTRIBUTES = {
    "model": {"string": "h100"},
    "numa": {"int": 1},
    "healthy": {"bool": True},
    "version": {"version": "1.2.3"},
    "other.example/id": {"string": "x"},
}
STARTS_WITH = (
    "found no matching overload for 'startsWith' applied to "
    "'map(string, map(string, any)).(string)'"
)
SEMVER = "kubernetes.Semver"
NO_BOOL = "CEL result of type string could not be converted to bool: "


def ask(expression: str, **fields: Any) -> object:
    selectors = Selectors()
    found = as_device(device("d0", attributes=ATTRIBUTES, memory="40Gi", **fields))
    answer = selectors.matches(expression, selectors.traits(DRIVER, found))
    return (answer.stage, answer.text) if isinstance(answer, SelectorFailure) else answer


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ('device.driver == "gpu.example"', True),
        ("device.allowMultipleAllocations", False),
        ('device.attributes["gpu.example"].model == "h100"', True),
        ('device.attributes["gpu.example"].numa > 1', False),
        ('device.attributes["gpu.example"].healthy', True),
        ('device.attributes["gpu.example"].version.isGreaterThan(semver("1.2.0"))', True),
        ('device.attributes["other.example"].id == "x"', True),
        ('device.capacity["gpu.example"].memory == quantity("40Gi")', True),
        ('has(device.attributes["gpu.example"].nothing)', False),
        ('has(device.attributes["nowhere.example"].nothing)', False),
        ('device.attributes["nowhere.example"].?x.orValue("y") == "y"', True),
        ('device.attributes["nowhere.example"].size() == 0', True),
        ('"gpu.example" in device.attributes', True),
        ('"nowhere.example" in device.attributes', False),
        ('device.attributes["gpu.example"].nothing == 1 || true', True),
        ('cel.bind(d, device.attributes["gpu.example"], d.numa == 1 && d.healthy)', True),
        ('device.driver.lowerAscii().startsWith("gpu")', True),
    ],
)
def test_a_device_is_seen_as_it_is(expression: str, answer: bool) -> None:
    assert ask(expression) is answer


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ('device.attributes["gpu.example"].nothing == 1', "no such key: nothing"),
        ('device.attributes["nowhere.example"].nothing == 1', "no such key: nothing"),
        ('1 / device.attributes["gpu.example"].numa == 1 / 0', "division by zero"),
        ('device.attributes["gpu.example"].numa < "x"', "no such overload"),
        ("[1][5] == 1", "index out of bounds: 5"),
        (
            'device.attributes["gpu.example"].numa',
            f"{NO_BOOL.replace('string', 'int')}unsupported type conversion from 'int' to bool",
        ),
        (
            'device.attributes["gpu.example"].version',
            f"{NO_BOOL.replace('string', SEMVER)}type conversion error from 'Semver' to 'bool'",
        ),
        (
            'device.attributes["gpu.example"].model',
            f"{NO_BOOL}unsupported native conversion from string to 'bool'",
        ),
    ],
)
def test_what_goes_wrong_is_worded_as_kube_scheduler_does(expression: str, text: str) -> None:
    assert ask(expression) == ("runtime", text)


def at(expression: str, column: int, text: str) -> str:
    """Give how an error in an expression is told."""
    return (
        f"compilation failed: ERROR: <input>:1:{column}: {text}\n"
        f" | {expression}\n"
        f" | {'.' * (column - 1)}^"
    )


CAPACITY = 'device.capacity["gpu.example"].memory'
MODEL = 'device.attributes["gpu.example"].model'
NO_MATCH = "found no matching overload for"


@pytest.mark.parametrize(
    ("expression", "column", "text"),
    [
        ("device.nothing", 7, "undefined field 'nothing'"),
        ("1 == 1 ? true : device.no", 23, "undefined field 'no'"),
        ("foo == 1", 1, "undeclared reference to 'foo' (in container '')"),
        ("device.driver == 1", 15, f"{NO_MATCH} '_==_' applied to '(string, int)'"),
        ("!device.driver", 1, f"{NO_MATCH} '!_' applied to '(string)'"),
        (
            "device.attributes == 1",
            19,
            f"{NO_MATCH} '_==_' applied to '(map(string, map(string, any)), int)'",
        ),
        (
            f'{CAPACITY} == "1"',
            39,
            f"{NO_MATCH} '_==_' applied to '(kubernetes.Quantity, string)'",
        ),
        (f"{MODEL}.startsWith(1)", 50, f"{NO_MATCH} 'startsWith' applied to 'any.(int)'"),
        ("sign(1) == 1", 5, f"{NO_MATCH} 'sign' applied to '(int)'"),
        ("device.driver.lowerAscii() == 1", 28, f"{NO_MATCH} '_==_' applied to '(string, int)'"),
        ('device.attributes.startsWith("x") == true', 29, STARTS_WITH),
        (
            "device.allowMultipleAllocations.size() == 1",
            37,
            f"{NO_MATCH} 'size' applied to 'bool.()'",
        ),
    ],
)
def test_what_cannot_be_compiled_says_where(expression: str, column: int, text: str) -> None:
    assert ask(expression) == ("compile", at(expression, column, text))


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("device.driver", "string"),
        ("1", "int"),
        ("null", "null_type"),
        (CAPACITY, "kubernetes.Quantity"),
        ('device.attributes["gpu.example"]', "map(string, google.protobuf.Any)"),
    ],
)
def test_an_expression_that_cannot_be_true(expression: str, kind: str) -> None:
    text = f"must evaluate to bool or the unknown type, not {kind}"
    assert ask(expression) == ("compile", text)


def test_a_device_may_be_used_as_a_whole() -> None:
    assert ask('cel.bind(d, device, d.driver == "gpu.example")') is True
    assert ask("has(device.driver)") is True
    answer = ask("device + 1 == 2")
    assert isinstance(answer, tuple)
    assert answer[0] == "compile"


def test_a_device_as_a_whole_is_checked() -> None:
    answer = ask("device + 1 == device.nothing.x")
    assert isinstance(answer, tuple)
    assert answer[0] == "compile"
    aliased = 'cel.bind(all, device.attributes, all["nowhere.example"].size() == 0)'
    assert ask(aliased) is True


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (f"int({MODEL}) == 1", "type conversion error from 'string' to 'int'"),
        (
            f'duration({MODEL}) == duration("1s")',
            "type conversion error from 'string' to 'google.protobuf.Duration'",
        ),
        (f"{MODEL}.major() == 1", "no such overload: major(string)"),
        ("[1].flatten(-1) == []", "level must be non-negative"),
    ],
)
def test_conversions_and_calls_that_fail_say_of_what_types(expression: str, text: str) -> None:
    assert ask(expression) == ("runtime", text)


def test_a_value_that_the_interpreter_cannot_make_fails_the_expression() -> None:
    answer = ask('[duration("1s")].transformMap(i, v, v) == {}')
    assert isinstance(answer, tuple)
    assert answer[0] == "runtime"


def test_times_are_named_as_cel_go_names_them() -> None:
    expression = 'duration("1s") == 1'
    text = f"{NO_MATCH} '_==_' applied to '(duration, int)'"
    assert ask(expression) == ("compile", at(expression, 16, text))


def test_what_is_no_expression() -> None:
    answer = ask("device.driver ==")
    assert isinstance(answer, tuple)
    assert answer[0] == "compile"
    assert answer[1].startswith("compilation failed: ERROR: <input>:1:17: Syntax error")


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        ({}, "attribute odd: unsupported attribute value"),
        (
            {"version": "1"},
            "attribute odd: parse semantic version: No Major.Minor.Patch elements found",
        ),
    ],
)
def test_a_device_with_an_attribute_of_no_meaning_has_no_answers(
    attribute: dict[str, Any], text: str
) -> None:
    selectors = Selectors()
    odd = {"odd": attribute, "odder": {}}
    traits = selectors.traits(DRIVER, as_device(device("d0", attributes=odd)))
    answer = selectors.matches("true", traits)
    assert isinstance(answer, SelectorFailure)
    assert answer.text.startswith(text)


def test_devices_alike_share_what_was_asked_of_one() -> None:
    selectors = Selectors()
    first = selectors.traits(DRIVER, as_device(device("d0", model="h100")))
    second = selectors.traits(DRIVER, as_device(device("d1", model="h100")))
    third = selectors.traits(DRIVER, as_device(device("d2", model="a100")))
    assert first is second
    assert first is not third
    selectors.matches("true", first)
    assert second.answers == {"true": True}


def test_programs_are_kept_until_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors_module, "_MAX_PROGRAMS", 2)
    selectors = Selectors()
    for model in ("a", "b", "c", "d"):
        traits = selectors.traits(DRIVER, as_device(device("d0", model=model)))
        for expression in ("true", "1 == 1", "true == true"):
            assert selectors.matches(expression, traits) is True
    assert len(selectors._programs) == 2
