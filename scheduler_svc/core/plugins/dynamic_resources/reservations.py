"""Devices set aside for Pods that have a Node, until their claims are written and seen."""

from collections.abc import Mapping
from typing import Final

import msgspec

from scheduler_svc.core.device_objects import Allocation
from scheduler_svc.core.devices.allocated import AllocatedDevices, extended_key
from scheduler_svc.core.devices.pod_claims import PodClaims
from scheduler_svc.core.devices.writes import BindClaims, ClaimWrite, MadeClaim
from scheduler_svc.core.pods import PodInfo

# Hints are asked at once, so that the last few are enough.
_REMEMBERED_REVERTS: Final = 64


class Reservation(msgspec.Struct, frozen=True):
    """The claims of one Pod as they were found, and what they are given, by uid.

    `made` is the claim that is to be made for extended resources.
    """

    claims: PodClaims
    allocations: Mapping[str, Allocation]
    made: MadeClaim | None = None


class Reservations:
    """The Pods between Reserve and the end of their PreBind."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Reservation] = {}
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
        """Give them back, unless the claims are already seen to have them."""
        reservation = self._by_uid.pop(uid, None)
        if reservation is None:
            return
        for key in reservation.allocations:
            allocated.land(key)
        self._reverted[uid] = None
        if len(self._reverted) > _REMEMBERED_REVERTS:
            del self._reverted[next(iter(self._reverted))]

    def finish(self, uid: str) -> None:
        """Take in that a Pod's claims are written, and its devices ready."""
        self._by_uid.pop(uid, None)

    def was_reverted(self, uid: str) -> bool:
        """Whether devices of that Pod have been given back lately."""
        return uid in self._reverted


def work_of(pod: PodInfo, node_name: str, reservation: Reservation) -> BindClaims:
    """Give what is to be written before the Pod is bound."""
    writes = [
        ClaimWrite(
            name=claim.metadata.name,
            uid=claim.metadata.uid,
            allocation=reservation.allocations.get(claim.metadata.uid),
        )
        for claim in reservation.claims.claims
        if not claim.is_reserved_for(pod.uid)
    ]
    made, key = reservation.made, extended_key(pod.uid)
    if made is not None:
        writes.append(ClaimWrite(allocation=reservation.allocations[key], made=made))
    note = f"waiting for binding conditions for device on node {node_name}"
    return BindClaims(tuple(writes), pod.scheduler_name, note if is_awaited(reservation) else "")


def is_awaited(reservation: Reservation) -> bool:
    """Whether any device takes its time until it is ready."""
    seen = (claim.status.allocation for claim in reservation.claims.claims)
    return any(
        result.binding_conditions
        for allocation in (*seen, *reservation.allocations.values())
        if allocation is not None
        for result in allocation.devices.results
    )
