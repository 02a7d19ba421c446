"""Expressions in which calls are replaced mean what they meant."""

import pytest

from scheduler_svc.core.devices.cel.environments import running
from scheduler_svc.core.devices.cel.syntax import rewritten
from tests.unit.scheduler_svc.core.devices.cel_asking import ask


@pytest.mark.parametrize(
    "expression",
    [
        '1.5e300 > 1.0 && -9223372036854775808 < 0 && {"a": [2.5]}.a[0] == 2.5',
        '[1, 2].exists(x, x == 2) && [1, 2].map(x, x + 1) == [2, 3] && "é".size() == 1',
        "has({'a': 1}.a) == true && has({'a': 1}.b) != true && [?optional.none()] == []",
        '{"a": 1, ?"b": optional.of(2)} == {"a": 1, "b": 2}',
        "cel.bind(x, [1.5], x[0] == 1.5) && (true ? 1 : 2) == 1",
        "has(device.attributes.nothing) && device.attributes.nothing.size() == 0",
        'device.attributes["x"].size() == 0 && !("x" in device.attributes)',
        'device.attributes.?nothing.hasValue() && device.attributes[?"x"].hasValue()',
        'device.capacity["x"] == {} && !has(device.attributes["x"].y)',
        '!(1 in []) && 1 in [1, 2] && "a" in {"a": 1} && dyn(1.5) in [1.5]',
        'google.protobuf.Duration{} == duration("0s") || true',
    ],
)
def test_what_is_true_stays_true(expression: str) -> None:
    assert ask(expression) is True


def test_what_has_nothing_to_be_replaced_stays_as_it_is() -> None:
    for expression in ("1.5", "[1, 'a', {2: null}]", "x.y", "has(x.y)"):
        serialized = running().compile(expression, disable_check=True).serialize()
        assert rewritten(serialized) == serialized
