"""Which devices are taken, by claims that the API server knows or that are on their way there.

An allocation is *in flight* from Reserve until the watch shows it in its claim, or the
attempt is undone. Nobody may count on it, or take its devices, meanwhile.

Source: pkg/scheduler/framework/plugins/dynamicresources/{allocateddevices,dra_manager}.go,
v1.36.3. Differences: a device that two claims hold is free when both are gone; there is no
cache of claims that were written, since a claim stays in flight until it is seen.
"""

from collections import Counter, defaultdict

from scheduler_svc.core.changes import ChangeLog
from scheduler_svc.core.device_objects import Allocation, DeviceResult, ResourceClaim
from scheduler_svc.core.devices.published import DeviceId, PoolId
from scheduler_svc.core.quantity import parse_quantity


def in_flight_key(claim: ResourceClaim) -> str:
    """Give the key under which a claim is in flight: its uid, or its Pod's for one not made yet."""
    if claim.is_for_extended_resources:
        for owner in claim.metadata.owner_references:
            if owner.controller:
                return extended_key(owner.uid)
    return claim.metadata.uid


def extended_key(pod_uid: str) -> str:
    """Give the key of the claim for the extended resources of a Pod."""
    return f"extended/{pod_uid}"


class AllocatedDevices:
    """The devices taken, and of shared ones how much.

    `consumed` has nano-units by device and capacity. `log` has the codes of the pools of
    which devices were taken or given back.
    """

    def __init__(self) -> None:
        self.consumed: dict[DeviceId, dict[str, int]] = {}
        self.log = ChangeLog()
        self._codes: dict[PoolId, int] = {}
        self._exclusive: Counter[DeviceId] = Counter()
        self._shares: Counter[DeviceId] = Counter()
        self._in_flight: dict[str, Allocation] = {}

    def code(self, pool_id: PoolId) -> int:
        """Give the number of a pool, which it keeps."""
        return self._codes.setdefault(pool_id, len(self._codes))

    def is_exclusive(self, device: DeviceId) -> bool:
        """Whether a claim has the device for itself."""
        return device in self._exclusive

    def is_taken(self, device: DeviceId) -> bool:
        """Whether a claim has the device or a share of it."""
        return device in self._exclusive or device in self._shares

    def is_in_flight(self, key: str) -> bool:
        """Whether the claim of that key (`in_flight_key`) is being allocated."""
        return key in self._in_flight

    def claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        """Take in that a claim came, changed or went."""
        before = None if old is None else old.status.allocation
        after = None if new is None else new.status.allocation
        if new is not None and after is not None:
            self.land(in_flight_key(new))
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self.land(in_flight_key(old))
        if before == after:
            return
        if before is not None:
            self._count(before, -1)
        if after is not None:
            self._count(after, 1)

    def launch(self, key: str, allocation: Allocation) -> None:
        """Take the devices of a claim that is being allocated, instead of others before."""
        self.land(key)
        self._in_flight[key] = allocation
        self._count(allocation, 1)

    def land(self, key: str) -> None:
        """End that: the claim is seen to be allocated, or will not be."""
        allocation = self._in_flight.pop(key, None)
        if allocation is not None:
            self._count(allocation, -1)

    def _count(self, allocation: Allocation, sign: int) -> None:
        for result in allocation.devices.results:
            # Administrators look at devices that are others'.
            if not result.admin_access:
                self._count_device(result, sign)

    def _count_device(self, result: DeviceResult, sign: int) -> None:
        device = (result.driver, result.pool, result.device)
        counts = self._exclusive if result.share_id is None else self._shares
        counts[device] += sign
        if not counts[device]:
            del counts[device]
        if result.share_id is not None and result.consumed_capacity is not None:
            amounts = self.consumed.setdefault(device, defaultdict(int))
            for name, text in result.consumed_capacity.items():
                amounts[name] += sign * parse_quantity(text)
            if sign < 0 and not any(amounts.values()):
                del self.consumed[device]
        self.log.append(self.code(device[:2]))
