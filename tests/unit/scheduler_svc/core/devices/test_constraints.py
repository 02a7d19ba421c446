"""Constraints among the devices of a claim."""

from typing import Any

import msgspec

from scheduler_svc.core.device_objects import DeviceConstraint
from scheduler_svc.core.devices.constraints import Constraint, constraints_of
from scheduler_svc.core.devices.published import PublishedDevice
from tests.device_builders import device, make_slice, published


def one(constraint: dict[str, Any], *, follows_quirk: bool = True) -> Constraint:
    found = constraints_of(
        (msgspec.convert(constraint, DeviceConstraint),), follows_quirk=follows_quirk
    )
    assert isinstance(found, list)
    return found[0]


def with_numa(*numbers: int | None) -> list[PublishedDevice]:
    devices = [
        device(f"d{index}", **({} if numa is None else {"numa": numa}))
        for index, numa in enumerate(numbers)
    ]
    return list(published(make_slice("s", devices))[0].devices)


def test_devices_that_must_agree() -> None:
    zero, other, same, none = with_numa(0, 1, 0, None)
    constraint = one({"matchAttribute": "gpu.example/numa"})
    assert constraint.add("r", "", zero)
    assert not constraint.add("r", "", other)
    assert not constraint.add("r", "", none)
    assert constraint.add("r", "", same)
    constraint.remove("r", "")
    constraint.remove("r", "")
    assert constraint.add("r", "", other)


def test_attributes_are_found_by_domain_and_name() -> None:
    attributes = {"vendor.example/id": {"string": "x"}, "own": {"int": 1}}
    (found,) = published(make_slice("s", [device("d0", attributes=attributes)]))[0].devices
    assert one({"matchAttribute": "vendor.example/id"}).add("r", "", found)
    assert one({"matchAttribute": "gpu.example/own"}).add("r", "", found)
    assert not one({"matchAttribute": "other.example/own"}).add("r", "", found)
    assert not one({"matchAttribute": "missing"}).add("r", "", found)


def test_values_of_no_known_type_never_agree() -> None:
    devices = [device(f"d{n}", attributes={"odd": {}}) for n in range(2)]
    first, second = published(make_slice("s", devices))[0].devices
    constraint = one({"matchAttribute": "gpu.example/odd"})
    assert constraint.add("r", "", first)
    assert not constraint.add("r", "", second)


def test_a_constraint_concerns_the_requests_that_it_names() -> None:
    zero, other = with_numa(0, 1)
    constraint = one({"matchAttribute": "gpu.example/numa", "requests": ["a", "b/large"]})
    assert constraint.add("a", "", zero)
    assert constraint.add("c", "", other)
    assert constraint.add("b", "small", other)
    assert not constraint.add("b", "large", other)
    assert not constraint.add("a", "any", other)
    constraint.remove("c", "")
    assert not constraint.add("a", "", other)


def test_devices_that_must_differ() -> None:
    zero, other, same, none = with_numa(0, 1, 0, None)
    constraint = one({"distinctAttribute": "gpu.example/numa"})
    assert constraint.add("a", "", zero)
    assert not constraint.add("b", "", same)
    assert not constraint.add("b", "", none)
    assert constraint.add("b", "", other)
    constraint.remove("b", "")
    constraint.remove("a", "")
    assert constraint.add("b", "", same)


def test_upstream_remembers_one_value_a_request() -> None:
    zero, first, same = with_numa(0, 1, 0)
    quirky = one({"distinctAttribute": "gpu.example/numa"})
    exact = one({"distinctAttribute": "gpu.example/numa"}, follows_quirk=False)
    for constraint in (quirky, exact):
        assert constraint.add("r", "", zero)
        assert constraint.add("r", "", first)
    assert quirky.add("r", "", same)
    assert not exact.add("r", "", same)
    exact.remove("r", "")
    assert not exact.add("r", "", same)


def test_a_constraint_of_a_kind_not_known_is_told() -> None:
    assert constraints_of((DeviceConstraint(match_attribute="a/b"), DeviceConstraint())) == 1
