"""Arguments of a plugin that brings its own type."""

from enum import Enum
from typing import Annotated, Literal

import msgspec
import pytest

from scheduler_svc.shell.config import (
    ConfigurationError,
    ExtensionPoint,
    RawArguments,
    load_configuration,
)
from scheduler_svc.shell.config.formats import Seconds
from tests.unit.scheduler_svc.shell.config.recorded import args_of


class Mode(Enum):
    SOFT = "soft"
    HARD = "hard"


class Zone(msgspec.Struct, tag_field="kind", tag="zone"):
    name: str
    price: float = 1.0


class EnergyArgs(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    label_key: str
    zones: list[Zone] = []
    prices: dict[str, float] = {}
    weight_percent: Annotated[int, msgspec.Meta(ge=1, le=100)] = 50
    timeout: Seconds = 5.0
    mode: Mode = Mode.SOFT
    unit: Literal["kWh", "MWh"] = "kWh"
    fallback: str | int | None = None
    token: Annotated[str, msgspec.Meta(min_length=3)] | None = None
    blob: bytes = b""


def raw(args: str) -> RawArguments:
    configuration = load_configuration(
        args_of("Energy", args),
        path="f.yaml",
        known_plugins={"Energy": frozenset({ExtensionPoint.SCORE})},
    )
    arguments = configuration.profiles[0].args["Energy"]
    assert isinstance(arguments, RawArguments)
    return arguments


def told(args: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        raw(args).decode(EnergyArgs)
    prefix = "profiles[0].pluginConfig[0].args"
    return [f"{m.line} {m.path.removeprefix(prefix)}: {m.body}" for m in caught.value.mistakes]


def test_the_document_is_kept_as_it_is() -> None:
    assert raw("{labelKey: a, kind: x, list: [1, yes]}").document == {
        "labelKey": "a",
        "kind": "x",
        "list": [1, True],
    }
    assert raw("null").document == {}


def test_arguments_are_equal_by_what_they_say() -> None:
    assert raw("{a: 1}") == raw("{a:   1}")
    assert raw("{a: 1}") != raw("{a: 2}")


def test_all_kinds_of_values() -> None:
    arguments = raw(
        "{labelKey: zone, zones: [{kind: zone, name: a, price: 2}], prices: {x: 1.5}, "
        "weightPercent: 7.0, timeout: 1m, mode: hard, unit: MWh, fallback: 3, token: abc, "
        "blob: eA==}"
    ).decode(EnergyArgs)

    assert arguments == EnergyArgs(
        label_key="zone",
        zones=[Zone("a", 2.0)],
        prices={"x": 1.5},
        weight_percent=7,
        timeout=60.0,
        mode=Mode.HARD,
        unit="MWh",
        fallback=3,
        token="abc",
        blob=b"x",
    )


def test_defaults() -> None:
    assert raw("{labelKey: zone}").decode(EnergyArgs) == EnergyArgs(label_key="zone")


def test_every_mistake_of_form() -> None:
    assert told(
        "{zones: [{nam: a}, 5, ~], prices: [1], weightPercent: 200, timeout: 5, extra: 1, "
        "blob: '!'}"
    ) == [
        "6 .labelKey: Required value",
        "6 .zones[0].name: Required value",
        '6 .zones[0].nam: Unknown field: "nam"',
        "6 .zones[1]: Invalid value: 5: must be an object",
        "6 .prices: Invalid value: [1]: must be an object",
        "6 .weightPercent: Invalid value: 200: not in valid range [1, 100]",
        "6 .timeout: Invalid value: 5: must be a duration",
        '6 .extra: Unknown field: "extra"',
        '6 .blob: Invalid value: "!": not base64: Only base64 data is allowed',
    ]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ("{labelKey: a, mode: medium}", "6 .mode: Invalid value: Invalid enum value 'medium'"),
        ("{labelKey: a, unit: J}", "6 .unit: Invalid value: Invalid enum value 'J'"),
        (
            "{labelKey: a, zones: [{kind: region, name: a}]}",
            "6 .zones[0].kind: Invalid value: Invalid value 'region'",
        ),
        (
            "{labelKey: a, token: ab}",
            "6 .token: Invalid value: Expected `str` of length >= 3",
        ),
        (
            "{labelKey: a, fallback: [1]}",
            "6 .fallback: Invalid value: Expected `int | str | null`, got `array`",
        ),
    ],
)
def test_what_only_the_type_knows(args: str, expected: str) -> None:
    assert told(args) == [expected]


class RequiredArgs(msgspec.Struct):
    zone: Zone
    names: list[str]
    timeout: Seconds
    count: Annotated[int, msgspec.Meta(title="how many", extra={"unit": "Pods"})]
    prices: dict[str, float]


def test_every_field_that_is_required_is_told() -> None:
    with pytest.raises(ConfigurationError) as caught:
        raw("{zone: {kind: zone}, names: x, count: [2]}").decode(RequiredArgs)

    assert [(m.path.rpartition("args.")[2], m.body) for m in caught.value.mistakes] == [
        ("timeout", "Required value"),
        ("prices", "Required value"),
        ("zone.name", "Required value"),
        ("names", 'Invalid value: "x": must be a list'),
        ("count", "Invalid value: [2]: must be an integer"),
    ]
