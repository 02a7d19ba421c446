"""What requests consume of shared devices, by the rules of the API (KEP-5075)."""

from typing import Any

import msgspec
import pytest

from scheduler_svc.core.device_objects import CapacityPolicy
from scheduler_svc.core.devices.capacity import consumed, has_room
from scheduler_svc.core.devices.published import Capacity
from scheduler_svc.core.quantity import parse_quantity

RANGE = {"default": "2Gi", "validRange": {"min": "2Gi", "max": "8Gi", "step": "2Gi"}}
VALUES = {"default": "1Gi", "validValues": ["1Gi", "4Gi", "8Gi"]}


def capacity(policy: dict[str, Any] | None, value: str = "16Gi") -> dict[str, Capacity]:
    known = None if policy is None else msgspec.convert(policy, CapacityPolicy)
    return {"memory": Capacity(value, known)}


@pytest.mark.parametrize(
    ("policy", "requested", "text"),
    [
        (None, None, "16Gi"),
        (None, "3Gi", "3Gi"),
        ({}, None, "16Gi"),
        ({}, "3Gi", "3Gi"),
        (RANGE, None, "2Gi"),
        (RANGE, "1Gi", "2Gi"),
        (RANGE, "3Gi", "4Gi"),
        (RANGE, "4Gi", "4Gi"),
        ({"validRange": {"min": "1"}}, "1500m", "1500m"),
        ({"validRange": {"min": "0", "step": "100"}}, "150", "200"),
        ({"validRange": {"min": "0", "step": "1"}}, "0", "0"),
        (VALUES, None, "1Gi"),
        (VALUES, "2Gi", "4Gi"),
        (VALUES, "9Gi", "9Gi"),
    ],
)
def test_what_is_consumed(policy: dict[str, Any] | None, requested: str | None, text: str) -> None:
    requests = {} if requested is None else {"memory": requested}
    assert consumed(requests, capacity(policy)) == {"memory": (parse_quantity(text), text)}


@pytest.mark.parametrize(
    ("policy", "requested", "taken", "fits"),
    [
        (None, "8Gi", 8, True),
        (None, "8Gi", 9, False),
        (None, None, 0, True),
        (None, None, 1, False),
        (RANGE, None, 0, True),
        (RANGE, "8Gi", 0, True),
        (RANGE, "9Gi", 0, False),
        ({"validRange": {"min": "2Gi", "max": "8Gi"}}, "9Gi", 0, False),
        ({"validRange": {"min": "2Gi", "max": "8Gi"}}, "7Gi", 0, True),
        ({"validRange": {"max": "8Gi", "step": "2Gi"}}, "3Gi", 0, False),
        ({"validRange": {"step": "2Gi"}}, "4Gi", 0, True),
        (VALUES, "3Gi", 0, True),
        (VALUES, "9Gi", 0, False),
        ({"default": "3Gi"}, "5Gi", 0, True),
    ],
)
def test_whether_it_is_left(
    policy: dict[str, Any] | None, requested: str | None, taken: int, fits: bool
) -> None:
    requests = {} if requested is None else {"memory": requested}
    gib = 2**30 * 10**9
    assert has_room(requests, capacity(policy), {"memory": taken * gib}, {}) is fits
    assert has_room(requests, capacity(policy), {}, {"memory": taken * gib}) is fits


def test_a_capacity_that_the_device_has_not_cannot_be_had() -> None:
    assert not has_room({"slots": "1"}, capacity(None), {}, {})
