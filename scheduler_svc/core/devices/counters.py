"""Counters that devices of a pool share: what is left of them while devices are chosen.

Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
allocator_incubating.go (`checkAvailableCounters`), v1.36.3.
"""

from collections import Counter
from typing import Any

from scheduler_svc.core.devices.allocated import AllocatedDevices
from scheduler_svc.core.devices.pools import PoolView
from scheduler_svc.core.devices.published import PublishedDevice

# By (counter set, counter), nano-units.
_Amounts = dict[tuple[str, str], int]


class CounterUse:
    """What the devices chosen so far take of the counters of their pools.

    Upstream knows pools by name, whatever their driver: of two that share a name the first
    one's counters stand for both. That is followed where `follows_quirk`.
    """

    def __init__(self, allocated: AllocatedDevices, *, follows_quirk: bool = True) -> None:
        self._allocated = allocated
        self._follows_quirk = follows_quirk
        self._available: dict[Any, _Amounts] = {}
        self._used: dict[Any, Counter[tuple[str, str]]] = {}

    def add(self, device: PublishedDevice, pool: PoolView) -> bool:
        """Take what the device consumes; False, and nothing taken, if a counter falls short."""
        key = self._key(pool)
        available = self._available.get(key)
        if available is None:
            available = self._available[key] = self._available_of(pool)
        used = self._used.setdefault(key, Counter())
        for counter_set, name, amount in device.consumption:
            used[counter_set, name] += amount
        if any(amount < used[counter] for counter, amount in available.items()):
            self.remove(device, pool)
            return False
        return True

    def remove(self, device: PublishedDevice, pool: PoolView) -> None:
        """Give back what a device took."""
        used = self._used[self._key(pool)]
        for counter_set, name, amount in device.consumption:
            used[counter_set, name] -= amount

    def _key(self, pool: PoolView) -> Any:
        return pool.id[1] if self._follows_quirk else pool.id

    def _available_of(self, pool: PoolView) -> _Amounts:
        """Give what allocated devices leave; it may be less than nothing."""
        left = {
            (counter_set, name): amount
            for counter_set, counters in pool.counters.items()
            for name, amount in counters.items()
        }
        for device in pool.counting:
            if self._allocated.is_taken(device.id):
                for counter_set, name, amount in device.consumption:
                    left[counter_set, name] -= amount
        return left
