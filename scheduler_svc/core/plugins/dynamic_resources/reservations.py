"""Devices set aside for Pods that have a Node, until their claims are written and seen."""

from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

import msgspec

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.device_objects import Allocation, DeviceResult, ResourceClaim
from scheduler_svc.core.devices.allocated import AllocatedDevices, extended_key
from scheduler_svc.core.devices.inventory import DeviceInventory
from scheduler_svc.core.devices.pod_claims import PodClaims
from scheduler_svc.core.devices.readiness import binding_failure, has_timed_out, is_ready
from scheduler_svc.core.devices.writes import BindClaims, ClaimWrite, MadeClaim, ReleaseClaims
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SUCCESS, Code, Status

# More than there are Pods between their claims and their Binding.
_REMEMBERED_COUNT: Final = 4096
_T = TypeVar("_T")
_WAIT: Final = Status(Code.WAIT)


class Reservation(msgspec.Struct, frozen=True):
    """The claims of one Pod as they were found, and what they are given, by uid.

    `made` is the claim that is to be made for extended resources.
    """

    claims: PodClaims
    allocations: Mapping[str, Allocation]
    made: MadeClaim | None = None


class Reservations:
    """The Pods that have devices set aside, or had until lately.

    What has been written for a Pod is remembered until it is undone, or for the last so many.
    """

    def __init__(self) -> None:
        self._by_uid: dict[str, Reservation] = {}
        # Of these what was to be written has been, whether or not the watch has shown it.
        self._settled: set[str] = set()
        self._written: dict[str, ReleaseClaims] = {}
        self._released: dict[str, None] = {}
        self._reverted: dict[str, None] = {}

    def get(self, uid: str) -> Reservation | None:
        """Give what is set aside for a Pod."""
        return self._by_uid.get(uid)

    def add(self, uid: str, reservation: Reservation, allocated: AllocatedDevices) -> None:
        """Set devices aside."""
        self._by_uid[uid] = reservation
        for key, allocation in reservation.allocations.items():
            allocated.launch(key, allocation)

    def revert(self, uid: str, allocated: AllocatedDevices) -> None:
        """Give them back, unless the claims have them, whether or not that is seen already."""
        reservation = self._by_uid.pop(uid, None)
        if reservation is None:
            return
        if uid not in self._settled:
            for key in reservation.allocations:
                allocated.land(key)
        self._settled.discard(uid)
        _remember(self._reverted, uid, None)

    def was_reverted(self, uid: str) -> bool:
        """Whether devices of that Pod have been given back lately."""
        return uid in self._reverted

    def write(self, pod: PodInfo, node_name: str, reservation: Reservation) -> BindClaims:
        """Give what is to be written before the Pod is bound."""
        # Of a Pod that has been released the watch may still show the old reservation.
        writes_all = pod.uid in self._released
        self._released.pop(pod.uid, None)
        work = _work_of(pod, node_name, reservation, writes_all=writes_all)
        claims = tuple((write.name, write.uid) for write in work.writes if write.made is None)
        if claims:
            _remember(self._written, pod.uid, ReleaseClaims(claims))
        return work

    def settle(self, uid: str) -> None:
        """Take in that a Pod's claims are written."""
        if uid in self._by_uid:
            self._settled.add(uid)

    def finish(self, uid: str) -> None:
        """Take in that its devices are ready, too."""
        self._by_uid.pop(uid, None)
        self._settled.discard(uid)

    def release(self, uid: str) -> ReleaseClaims | None:
        """Give how to take back what was written, which is then on its way."""
        work = self._written.pop(uid, None)
        if work is not None:
            _remember(self._released, uid, None)
        return work


def _remember(known: dict[str, _T], uid: str, value: _T) -> None:
    known[uid] = value
    if len(known) > _REMEMBERED_COUNT:
        del known[next(iter(known))]


def _work_of(
    pod: PodInfo, node_name: str, reservation: Reservation, *, writes_all: bool
) -> BindClaims:
    writes = [
        ClaimWrite(
            name=claim.metadata.name,
            uid=claim.metadata.uid,
            allocation=reservation.allocations.get(claim.metadata.uid),
        )
        for claim in reservation.claims.claims
        if writes_all or not claim.is_reserved_for(pod.uid)
    ]
    made, key = reservation.made, extended_key(pod.uid)
    if made is not None:
        writes.append(ClaimWrite(allocation=reservation.allocations[key], made=made))
    if not is_awaited(reservation):
        return BindClaims(tuple(writes), pod.scheduler_name)
    results = list(_results(reservation))
    return BindClaims(
        tuple(writes),
        pod.scheduler_name,
        f"waiting for binding conditions for device on node {node_name}",
        drivers=tuple(result.driver for result in results),
        awaited_drivers=tuple(r.driver for r in results if r.binding_conditions),
    )


def is_awaited(reservation: Reservation) -> bool:
    """Whether any device takes its time until it is ready."""
    return any(result.binding_conditions for result in _results(reservation))


def _results(reservation: Reservation) -> Iterator[DeviceResult]:
    """Give all devices of a Pod's claims."""
    seen = (claim.status.allocation for claim in reservation.claims.claims)
    for allocation in (*seen, *reservation.allocations.values()):
        if allocation is not None:
            yield from allocation.devices.results


def readiness(
    pod: PodInfo, reservation: Reservation, cluster: Cluster, timeout_seconds: float
) -> Status:
    """Tell whether all devices are ready: success, Wait, or the error that ends the waiting."""
    claims = [_seen(claim, cluster.devices) for claim in reservation.claims.claims]
    if reservation.made is not None:
        claims.append(_seen_made(pod, cluster.devices))
    for claim in claims:
        if isinstance(claim, Status):
            return claim
        failure = binding_failure(claim)
        if failure:
            return Status(Code.ERROR, (failure,))
        if is_ready(claim):
            continue
        if has_timed_out(claim, timeout_seconds, cluster.wall_seconds):
            text = f"device binding timeout: claim={claim.metadata.name}"
            return Status(Code.ERROR, (text,))
        return _WAIT
    return SUCCESS


def _seen(claim: ResourceClaim, inventory: DeviceInventory) -> ResourceClaim | Status:
    """Give a claim as it is allocated now; Wait before that is seen, an error once it is lost."""
    metadata = claim.metadata
    newest = inventory.claim(metadata.namespace, metadata.name)
    if newest is None or newest.metadata.uid != metadata.uid:
        return Status(Code.ERROR, (f'resourceclaim "{metadata.name}" not found',))
    if newest.status.allocation is not None:
        return newest
    if inventory.allocated.is_in_flight(metadata.uid):
        return _WAIT
    return Status(Code.ERROR, (f'resourceclaim "{metadata.name}" has lost its devices',))


def _seen_made(pod: PodInfo, inventory: DeviceInventory) -> ResourceClaim | Status:
    """Give the claim that was made for a Pod, likewise."""
    newest = inventory.claim_made_for(pod.uid)
    if newest is not None and newest.status.allocation is not None:
        return newest
    if inventory.allocated.is_in_flight(extended_key(pod.uid)):
        return _WAIT
    return Status(Code.ERROR, ("the claim for extended resources has lost its devices",))
