"""What a search has chosen so far: each device is taken only if nothing stands against it.

Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
allocator_incubating.go (`allocateDevice`, `rollbackDevice`), v1.36.3.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from scheduler_svc.core.device_objects import DeviceTaint, DeviceToleration
from scheduler_svc.core.devices.allocated import AllocatedDevices
from scheduler_svc.core.devices.capacity import consumed, has_room
from scheduler_svc.core.devices.constraints import Constraint, constraints_of
from scheduler_svc.core.devices.counters import CounterUse
from scheduler_svc.core.devices.demands import Claim, Wanted
from scheduler_svc.core.devices.outcomes import Chosen, SearchFailure, Solution
from scheduler_svc.core.devices.pools import PoolView
from scheduler_svc.core.devices.published import DeviceId, PublishedDevice


class _Undo(msgspec.Struct, frozen=True, gc=False):
    """What to give back with the last device chosen for a claim."""

    pool: PoolView
    has_counters: bool


class Holdings:
    """The devices chosen for each claim; `take` and `give_back` come in pairs."""

    def __init__(
        self, claims: Sequence[Claim], allocated: AllocatedDevices, *, follows_quirks: bool
    ) -> None:
        self._claims = claims
        self._allocated = allocated
        self._follows_quirks = follows_quirks
        self._counters = CounterUse(allocated, follows_quirk=follows_quirks)
        self._constraints: list[list[Constraint]] = []
        self._chosen: list[list[Chosen]] = [[] for _ in claims]
        self._undo: list[list[_Undo]] = [[] for _ in claims]
        self._choosing: dict[DeviceId, Counter[int]] = defaultdict(Counter)
        self._shares: Counter[DeviceId] = Counter()
        self._taking: dict[DeviceId, Counter[str]] = defaultdict(Counter)

    def constrain(self, claim: Claim) -> None:
        """Make the next claim's constraints ready. Raises `SearchFailure` for one not known."""
        quirk = self._follows_quirks
        constraints = constraints_of(claim.demand.constraints, follows_quirk=quirk)
        if isinstance(constraints, int):
            raise SearchFailure(
                f"claim {claim.key}, constraint #{constraints}: empty constraint "
                "(unsupported constraint type?)"
            )
        self._constraints.append(constraints)

    def solution(self) -> Solution:
        """Give what is chosen."""
        return tuple(tuple(chosen) for chosen in self._chosen)

    def count(self, claim: int) -> int:
        """Count the devices chosen for a claim."""
        return len(self._chosen[claim])

    def is_free(self, claim: int, wanted: Wanted, device: PublishedDevice) -> bool:
        """Whether nobody stands in the way; administrators only stand in their own."""
        if wanted.is_admin:
            return not self._choosing[device.id][claim]
        return not self._is_in_use(device)

    def is_held(self, wanted: Wanted, device: PublishedDevice) -> bool:
        """Whether a request could not have the device even if nothing else were chosen."""
        return not wanted.is_admin and self._allocated.is_exclusive(device.id)

    def is_tolerated(self, wanted: Wanted, device: PublishedDevice) -> bool:
        """Whether no taint of the device keeps the request away."""
        return not _is_kept_away(device.taints, wanted.tolerations)

    def _is_in_use(self, device: PublishedDevice) -> bool:
        return self._allocated.is_exclusive(device.id) or (
            device.id in self._choosing and self._choosing[device.id].total() > 0
        )

    def has_room(self, wanted: Wanted, device: PublishedDevice) -> bool:
        """Whether the device has left of its capacities what the request consumes."""
        if not device.device.capacity:
            return not wanted.capacity
        taken = self._allocated.consumed.get(device.id, {})
        taking: Mapping[str, int] = self._taking.get(device.id, {})
        return has_room(wanted.capacity, device.capacity, taken, taking)

    def take(
        self, claim: int, wanted: Wanted, device: PublishedDevice, pool: PoolView, *, must: bool
    ) -> bool:
        """Choose a device if nothing stands against it; on False nothing has changed.

        A device that `must` be had and that a constraint refuses is a `SearchFailure`.
        """
        if wanted.is_admin:
            if not device.is_shared and self._choosing[device.id][claim]:
                return False
        elif self._is_in_use(device):
            return False
        needs_counters = bool(device.consumption) and not self._is_shared_already(device)
        if needs_counters and not self._counters.add(device, pool):
            return False
        if not self._passes(claim, wanted, device, must=must):
            if needs_counters:
                self._counters.remove(device, pool)
            return False
        amounts = consumed(wanted.capacity, device.capacity) if device.is_shared else None
        self._chosen[claim].append(Chosen(wanted, device, amounts))
        self._undo[claim].append(_Undo(pool, needs_counters))
        if amounts is None:
            self._choosing[device.id][claim] += 1
        else:
            self._shares[device.id] += 1
            taking = self._taking[device.id]
            for name, (amount, _) in amounts.items():
                taking[name] += amount
        return True

    def _is_shared_already(self, device: PublishedDevice) -> bool:
        """Whether others have a share of the device, whose counters are then taken."""
        return device.is_shared and (
            device.id in self._allocated.consumed or self._shares[device.id] > 0
        )

    def _passes(self, claim: int, wanted: Wanted, device: PublishedDevice, *, must: bool) -> bool:
        """Add the device to the claim's constraints if nothing else stands against it."""
        if _is_kept_away(device.taints, wanted.tolerations):
            return False
        for position, constraint in enumerate(self._constraints[claim]):
            if constraint.add(wanted.base, wanted.alternative, device):
                continue
            self._leave_constraints(claim, wanted, position)
            if must:
                where = f"claim {self._claims[claim].key}, request {wanted.name}"
                raise SearchFailure(
                    f"{where}: cannot add device {'/'.join(device.id)} because a claim "
                    "constraint would not be satisfied"
                )
            return False
        if self.has_room(wanted, device):
            return True
        self._leave_constraints(claim, wanted, len(self._constraints[claim]))
        return False

    def _leave_constraints(self, claim: int, wanted: Wanted, count: int) -> None:
        for constraint in self._constraints[claim][:count]:
            constraint.remove(wanted.base, wanted.alternative)

    def give_back(self, claim: int) -> None:
        """Undo the last choice for a claim."""
        chosen, undo = self._chosen[claim].pop(), self._undo[claim].pop()
        wanted, device = chosen.wanted, chosen.device
        if chosen.amounts is None:
            self._choosing[device.id][claim] -= 1
        else:
            self._shares[device.id] -= 1
            taking = self._taking[device.id]
            for name, (amount, _) in chosen.amounts.items():
                taking[name] -= amount
        self._leave_constraints(claim, wanted, len(self._constraints[claim]))
        if undo.has_counters:
            self._counters.remove(device, undo.pool)


def _is_kept_away(
    taints: tuple[DeviceTaint, ...], tolerations: tuple[DeviceToleration, ...]
) -> bool:
    return any(not any(_tolerates(t, taint) for t in tolerations) for taint in taints)


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
