"""Constraints among the devices of a claim: attributes that agree, or that all differ.

Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
{allocator_incubating,constraint}.go, v1.36.3.
"""

from abc import ABC, abstractmethod

from scheduler_svc.core.device_objects import DeviceAttribute, DeviceConstraint
from scheduler_svc.core.devices.published import PublishedDevice


class Constraint(ABC):
    """One constraint while devices are being chosen: `add` and `remove` come in pairs."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        self._requests = frozenset(requests)
        self._attribute = attribute

    def add(self, request: str, alternative: str, device: PublishedDevice) -> bool:
        """Take a device in if it meets the constraint; `alternative` is "" without one."""
        if not self._concerns(request, alternative):
            return True
        value = _attribute(device, self._attribute)
        return value is not None and self._take(request, value)

    def remove(self, request: str, alternative: str) -> None:
        """Undo the last `add` for a request that has not been undone."""
        if self._concerns(request, alternative):
            self._give_back(request)

    def _concerns(self, request: str, alternative: str) -> bool:
        wanted = self._requests
        return not wanted or request in wanted or f"{request}/{alternative}" in wanted

    @abstractmethod
    def _take(self, request: str, value: DeviceAttribute) -> bool:
        """Take in the value of a device of a request, unless it contradicts others."""

    @abstractmethod
    def _give_back(self, request: str) -> None:
        """Forget the last value of a request."""


class MatchAttribute(Constraint):
    """All devices have the attribute, with one value."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._value: DeviceAttribute | None = None
        self._count = 0

    def _take(self, request: str, value: DeviceAttribute) -> bool:
        if self._count == 0:
            self._value = value
        elif value != self._value or value == DeviceAttribute():
            return False
        self._count += 1
        return True

    def _give_back(self, request: str) -> None:
        self._count -= 1


class DistinctAttribute(Constraint):
    """All devices have the attribute, each with another value.

    Upstream remembers one value a request, the last: two devices of one request may agree
    with an earlier one of it. That is followed where `follows_quirk`.
    """

    def __init__(
        self, requests: tuple[str, ...], attribute: str, *, follows_quirk: bool = True
    ) -> None:
        super().__init__(requests, attribute)
        self._follows_quirk = follows_quirk
        self._values: dict[str, list[DeviceAttribute]] = {}
        self._count = 0

    def _take(self, request: str, value: DeviceAttribute) -> bool:
        known = (v for values in self._values.values() for v in self._remembered(values))
        if self._count and any(value == other for other in known):
            return False
        self._values.setdefault(request, []).append(value)
        self._count += 1
        return True

    def _remembered(self, values: list[DeviceAttribute]) -> list[DeviceAttribute]:
        return values[-1:] if self._follows_quirk else values

    def _give_back(self, request: str) -> None:
        # Upstream forgets the request's value altogether.
        self._values[request] = [] if self._follows_quirk else self._values[request][:-1]
        self._count -= 1


def _attribute(device: PublishedDevice, name: str) -> DeviceAttribute | None:
    attributes = device.device.attributes
    found = attributes.get(name)
    domain, slash, identifier = name.partition("/")
    if found is None and slash and domain == device.id[0]:
        found = attributes.get(identifier)
    return found


def constraints_of(
    constraints: tuple[DeviceConstraint, ...], *, follows_quirk: bool = True
) -> list[Constraint] | int:
    """Make the constraints of a claim ready; the position of one of a kind not known here."""
    result: list[Constraint] = []
    for index, constraint in enumerate(constraints):
        if constraint.match_attribute is not None:
            result.append(MatchAttribute(constraint.requests, constraint.match_attribute))
        elif constraint.distinct_attribute is not None:
            name = constraint.distinct_attribute
            result.append(DistinctAttribute(constraint.requests, name, follows_quirk=follows_quirk))
        else:
            return index
    return result
