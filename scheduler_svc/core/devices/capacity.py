"""Capacities of shared devices: how much a request consumes, and whether it is left.

Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
consumable_capacity.go, v1.36.3.
"""

from collections.abc import Mapping

from scheduler_svc.core.device_objects import CapacityPolicy, CapacityRange
from scheduler_svc.core.devices.published import Capacity
from scheduler_svc.core.objects import QuantityText
from scheduler_svc.core.quantity import NANO_PER_UNIT, parse_quantity

Requests = Mapping[str, QuantityText]
# Nano-units and the text that is written into the claim.
Amount = tuple[int, str]


def consumed(requests: Requests, capacities: Mapping[str, Capacity]) -> dict[str, Amount]:
    """Give what a request consumes of each capacity of a device."""
    return {name: _consumed(requests.get(name), known) for name, known in capacities.items()}


def has_room(
    requests: Requests,
    capacities: Mapping[str, Capacity],
    taken: Mapping[str, int],
    taking: Mapping[str, int],
) -> bool:
    """Whether a request may consume what it does, and that much is left of each capacity.

    `taken` is what other claims consume, `taking` what this attempt does so far, nano-units.
    """
    if any(name not in capacities for name in requests):
        return False
    for name, capacity in capacities.items():
        amount, _ = _consumed(requests.get(name), capacity)
        if _violates(amount, capacity.policy):
            return False
        if amount + taken.get(name, 0) + taking.get(name, 0) > capacity.amount:
            return False
    return True


def _consumed(requested: QuantityText | None, capacity: Capacity) -> Amount:
    policy = capacity.policy
    if requested is None:
        if policy is not None and policy.default is not None:
            return _amount(policy.default)
        return capacity.amount, capacity.text
    wanted = _amount(requested)
    if policy is None:
        return wanted
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _rounded_up(wanted, policy.valid_range, _amount(policy.valid_range.min))
    for value in policy.valid_values:
        allowed = _amount(value)
        if wanted[0] <= allowed[0]:
            return allowed
    return wanted


def _rounded_up(wanted: Amount, valid: CapacityRange, least: Amount) -> Amount:
    if wanted[0] < least[0]:
        return least
    if valid.step is None:
        return wanted
    start, step = _units(least[0]), _units(parse_quantity(valid.step))
    # Go divides towards zero; what is wanted is not below the least here.
    steps = -(-(_units(wanted[0]) - start) // step)
    units = start + step * steps
    return units * NANO_PER_UNIT, _binary_text(units)


def _violates(amount: int, policy: CapacityPolicy | None) -> bool:
    if policy is None:
        return False
    if policy.default is not None and amount == parse_quantity(policy.default):
        return False
    valid = policy.valid_range
    if valid is not None:
        if valid.max is not None and amount > parse_quantity(valid.max):
            return True
        if valid.step is None:
            return False
        start = _units(parse_quantity(valid.min or 0))
        return (_units(amount) - start) % _units(parse_quantity(valid.step)) != 0
    values = policy.valid_values
    return bool(values) and all(amount != parse_quantity(value) for value in values)


def _amount(text: QuantityText) -> Amount:
    return parse_quantity(text), str(text)


def _units(nano: int) -> int:
    return -(-nano // NANO_PER_UNIT)


def _binary_text(units: int) -> str:
    """Write whole units as the API server does in powers of two: 1Gi, 1536Mi."""
    suffixes = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
    index = 0
    while units and units % 1024 == 0 and index < len(suffixes) - 1:
        units //= 1024
        index += 1
    return f"{units}{suffixes[index]}"
