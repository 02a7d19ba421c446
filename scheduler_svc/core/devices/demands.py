"""What a claim asks for, made ready: requests with their alternatives and classes.

Claims that ask for the same share one `ClaimDemand`, as those made from one template do.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from scheduler_svc.core.device_objects import (
    MAX_ALTERNATIVES,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceToleration,
    ExactRequest,
    ResourceClaimSpec,
    SubRequest,
)
from scheduler_svc.core.objects import QuantityText

ClassLookup = Callable[[str], DeviceClass | None]

# An expression, or None for a selector of a kind that is not known here.
Expressions = tuple[str | None, ...]


class Wanted:
    """One request, or one alternative of a request.

    `base` is the request, `alternative` the name within it ("" without alternatives). Of a
    class that does not exist `device_class` is None.
    """

    __slots__ = (
        "alternative",
        "base",
        "capacity",
        "class_expressions",
        "class_name",
        "count",
        "device_class",
        "expressions",
        "is_admin",
        "mode",
        "tolerations",
    )

    def __init__(
        self, base: str, alternative: str, request: ExactRequest, device_class: DeviceClass | None
    ) -> None:
        self.base, self.alternative = base, alternative
        self.class_name = request.device_class_name
        self.device_class = device_class
        selectors = () if device_class is None else device_class.spec.selectors
        self.class_expressions = _expressions(selectors)
        self.expressions = _expressions(request.selectors)
        self.mode, self.count = request.allocation_mode, request.count
        self.is_admin = request.admin_access
        self.tolerations: tuple[DeviceToleration, ...] = request.tolerations
        known = request.capacity
        self.capacity: dict[str, QuantityText] = {} if known is None else known.requests

    @property
    def name(self) -> str:
        """Its own name: the alternative's, if it is one."""
        return self.alternative or self.base

    @property
    def full_name(self) -> str:
        """The name that results have: request, or request/alternative."""
        return f"{self.base}/{self.alternative}" if self.alternative else self.base


def _expressions(selectors: tuple[DeviceSelector, ...]) -> Expressions:
    return tuple(None if s.cel is None else s.cel.expression for s in selectors)


class ClaimDemand:
    """A claim's requests, each with its alternatives: one, or several to be tried in order."""

    __slots__ = ("config", "constraints", "is_prioritized", "requests", "spec")

    def __init__(self, spec: ResourceClaimSpec, class_of: ClassLookup) -> None:
        self.spec = spec
        self.requests = tuple(_alternatives(r, class_of) for r in spec.devices.requests)
        self.constraints: tuple[DeviceConstraint, ...] = spec.devices.constraints
        self.config: tuple[dict[str, Any], ...] = spec.devices.config
        self.is_prioritized = any(r.first_available for r in spec.devices.requests)

    def score(self, names: set[str]) -> int:
        """Give the points for the alternatives that were chosen, by full name: earlier, more."""
        return sum(
            MAX_ALTERNATIVES - position
            for alternatives in self.requests
            for position, wanted in enumerate(alternatives)
            if wanted.alternative and wanted.full_name in names
        )


def _alternatives(request: DeviceRequest, class_of: ClassLookup) -> tuple[Wanted, ...]:
    if request.first_available:
        return tuple(
            Wanted(request.name, sub.name, sub, class_of(sub.device_class_name))
            for sub in request.first_available
        )
    exactly = request.exactly or ExactRequest()
    return (Wanted(request.name, "", exactly, class_of(exactly.device_class_name)),)


class Claim(msgspec.Struct, frozen=True, gc=False):
    """A claim to be allocated: its name for people (namespace/name), its uid, its demand."""

    key: str
    uid: str
    demand: ClaimDemand


def missing_class(spec: ResourceClaimSpec, class_of: ClassLookup) -> tuple[str, str] | None:
    """Give the first request, by full name, of a class that does not exist, and the class."""
    for request in spec.devices.requests:
        wanted: tuple[ExactRequest, ...] = request.first_available
        if request.exactly is not None:
            wanted = (request.exactly,)
        for alternative in wanted:
            if class_of(alternative.device_class_name) is None:
                return _full_name(request, alternative), alternative.device_class_name
    return None


def _full_name(request: DeviceRequest, wanted: ExactRequest) -> str:
    return f"{request.name}/{wanted.name}" if isinstance(wanted, SubRequest) else request.name
