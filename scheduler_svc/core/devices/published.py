"""Slices as drivers publish them, made ready for allocation: amounts parsed, traits shared."""

from collections.abc import Iterator
from typing import Final

from scheduler_svc.core.device_objects import (
    CapacityPolicy,
    Device,
    ResourceSlice,
    ResourceSliceSpec,
)
from scheduler_svc.core.devices.selectors import DeviceTraits, Selectors
from scheduler_svc.core.quantity import parse_quantity

PoolId = tuple[str, str]  # driver, pool
DeviceId = tuple[str, str, str]  # driver, pool, device
# (counter set, counter, nano-units)
Consumption = tuple[tuple[str, str, int], ...]

_PREVENTING: Final = frozenset({"NoSchedule", "NoExecute"})


class Capacity:
    """An amount in nano-units and its text, and how requests may consume it."""

    __slots__ = ("amount", "policy", "text")

    def __init__(self, text: str, policy: CapacityPolicy | None) -> None:
        self.amount = parse_quantity(text)
        self.text = text
        self.policy = policy


class PublishedDevice:
    """A device, by `id`, of the slice with `spec`. `taints` are those that keep requests away.

    What expressions and amounts need is made when it is first asked for: most devices of a
    large cluster are never looked at.
    """

    __slots__ = (
        "_capacity",
        "_selectors",
        "_traits",
        "device",
        "id",
        "is_shared",
        "spec",
        "taints",
    )

    def __init__(self, spec: ResourceSliceSpec, device: Device, selectors: Selectors) -> None:
        self.id: DeviceId = (spec.driver, spec.pool.name, device.name)
        self.spec, self.device = spec, device
        self.taints = tuple(taint for taint in device.taints if taint.effect in _PREVENTING)
        self.is_shared = device.allow_multiple_allocations
        self._selectors = selectors
        self._traits: DeviceTraits | None = None
        self._capacity: dict[str, Capacity] | None = None

    @property
    def traits(self) -> DeviceTraits:
        """What expressions can ask of it."""
        if self._traits is None:
            self._traits = self._selectors.traits(self.id[0], self.device)
        return self._traits

    @property
    def capacity(self) -> dict[str, Capacity]:
        """What it has, by name."""
        if self._capacity is None:
            self._capacity = {
                name: Capacity(str(known.value), known.request_policy)
                for name, known in self.device.capacity.items()
            }
        return self._capacity

    @property
    def consumption(self) -> Consumption:
        """What it takes of its pool's counters while it is allocated."""
        if not self.device.consumes_counters:
            return ()
        return tuple(
            (taken.counter_set, name, parse_quantity(counter.value))
            for taken in self.device.consumes_counters
            for name, counter in taken.counters.items()
        )


class PublishedSlice:
    """A slice and its devices. Raises `InputError` for an amount that is none."""

    __slots__ = ("devices", "name", "pool_id", "slice", "spec")

    def __init__(self, published: ResourceSlice, selectors: Selectors) -> None:
        self.slice = published
        self.spec = spec = published.spec
        self.name = published.metadata.name
        self.pool_id: PoolId = (spec.driver, spec.pool.name)
        self.devices = tuple(PublishedDevice(spec, d, selectors) for d in spec.devices)

    @property
    def is_local(self) -> bool:
        """Whether it concerns one Node alone; counters concern every Node that has devices."""
        return bool(self.spec.node_name) and not self.spec.shared_counters

    def counters(self) -> Iterator[tuple[str, dict[str, int]]]:
        """Give the sets of shared counters, in nano-units."""
        for counter_set in self.spec.shared_counters:
            values = counter_set.counters.items()
            yield counter_set.name, {name: parse_quantity(c.value) for name, c in values}
