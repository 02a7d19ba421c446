"""The search for devices: first fit, with backtracking, of the claims of one Pod on one Node.

Claims, requests, alternatives and devices are tried in their order, of one request only
combinations in the order of devices; the first full solution is taken.

Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
allocator_incubating.go (`Allocate`, `allocateOne`, `allocateDevice`), v1.36.3. Difference:
not time is limited but steps, so that the same cluster gives the same answer; where too few
devices are left the search ends at once.
"""

from collections.abc import Sequence
from typing import Final

from scheduler_svc.core.device_objects import ALL_DEVICES, EXACT_COUNT, MAX_DEVICES_OF_CLAIM
from scheduler_svc.core.devices.allocated import AllocatedDevices
from scheduler_svc.core.devices.demands import Claim, Expressions, Wanted
from scheduler_svc.core.devices.holdings import Holdings
from scheduler_svc.core.devices.outcomes import OutOfSteps, SearchFailure, Solution
from scheduler_svc.core.devices.pools import PoolView
from scheduler_svc.core.devices.published import PublishedDevice
from scheduler_svc.core.devices.selectors import SelectorFailure, Selectors

_NOT_FOUND: Final = 'deviceclass.resource.k8s.io "{}" not found'


class _TooManyDevices(Exception):  # noqa: N818 - a turn of the search
    """What remains cannot be had within the limit of devices of a claim.

    The fewest devices that a claim can do with are within it (`_check`), so that it is always
    a request with alternatives that has chosen too many, and catches this.
    """


class Search:
    """One search; `run` it once.

    Parameters
    ----------
    pools
        What the Node sees, in order.
    step_limit
        How many devices may be looked at before `OutOfSteps`.
    """

    def __init__(
        self,
        claims: Sequence[Claim],
        pools: Sequence[PoolView],
        allocated: AllocatedDevices,
        selectors: Selectors,
        *,
        step_limit: int,
        follows_quirks: bool = True,
    ) -> None:
        self._claims, self._pools = claims, pools
        self._selectors = selectors
        self._steps_left = step_limit
        self._devices = [(device, pool) for pool in pools for device in pool.devices]
        self._every: dict[tuple[int, int, int], list[tuple[PublishedDevice, PoolView]]] = {}
        # Of a request that has failed once: how many devices from each position on it may take.
        self._possible: dict[tuple[int, int, int], list[int]] = {}
        self._holdings = Holdings(claims, allocated, follows_quirks=follows_quirks)

    def run(self) -> Solution | None:
        """Give the first solution, None if there is none. Raises `SearchFailure`, `OutOfSteps`."""
        for index, claim in enumerate(self._claims):
            self._check(index, claim)
        return self._holdings.solution() if self._allocate_claim(0) else None

    def _check(self, index: int, claim: Claim) -> None:
        """Check a claim, and count how many devices it needs at least."""
        needed = 0
        for position, alternatives in enumerate(claim.demand.requests):
            counts = [
                self._device_count(claim, (index, position, number), wanted)
                for number, wanted in enumerate(alternatives)
            ]
            needed += min(counts)
        if needed > MAX_DEVICES_OF_CLAIM:
            raise SearchFailure(
                f"claim {claim.key}: number of requested devices {needed} exceeds the claim "
                f"limit of {MAX_DEVICES_OF_CLAIM}"
            )
        self._holdings.constrain(claim)

    def _device_count(self, claim: Claim, key: tuple[int, int, int], wanted: Wanted) -> int:
        where = f"claim {claim.key}, request {wanted.name}"
        for number, expression in enumerate(wanted.expressions):
            if expression is None:
                reason = "CEL expression empty (unsupported selector type?)"
                raise SearchFailure(f"{where}, selector #{number}: {reason}")
        if not wanted.class_name:
            raise SearchFailure(f"{where}: missing device class name (unsupported request type?)")
        if wanted.device_class is None:
            reason = _NOT_FOUND.format(wanted.class_name)
            name = wanted.class_name
            raise SearchFailure(f"{where}: could not retrieve device class {name}: {reason}")
        if wanted.mode == EXACT_COUNT:
            return wanted.count
        if wanted.mode != ALL_DEVICES:
            raise SearchFailure(f"{where}: unsupported count mode {wanted.mode}")
        self._every[key] = self._all_devices(claim, wanted, f"{where}: asks for all devices, but")
        return len(self._every[key])

    def _all_devices(
        self, claim: Claim, wanted: Wanted, text: str
    ) -> list[tuple[PublishedDevice, PoolView]]:
        found = []
        for pool in self._pools:
            if pool.is_incomplete:
                reason = "is currently being updated"
                raise SearchFailure(f"{text} resource pool {pool.name} {reason}")
            if pool.is_invalid:
                raise SearchFailure(f"{text} resource pool {pool.name} is currently invalid")
            found += [
                (device, pool)
                for device in pool.devices
                if self._is_selectable(claim, wanted, device, pool)
                and self._holdings.has_room(wanted, device)
            ]
        return found

    def _allocate_claim(self, claim: int) -> bool:
        """Satisfy a claim, and all that follow. True if everything is."""
        return claim == len(self._claims) or self._allocate_request(claim, 0)

    def _allocate_request(self, claim: int, request: int) -> bool:
        """Satisfy a request, and all that follow."""
        requests = self._claims[claim].demand.requests
        if request == len(requests):
            return self._allocate_claim(claim + 1)
        alternatives = requests[request]
        if not alternatives[0].alternative:
            return self._allocate_device((claim, request, 0), alternatives[0], 0, 0)
        every_one_exceeds = True
        for number, wanted in enumerate(alternatives):
            try:
                if self._allocate_device((claim, request, number), wanted, 0, 0):
                    return True
                every_one_exceeds = False
            except _TooManyDevices:
                continue
        if every_one_exceeds:
            raise _TooManyDevices
        return False

    def _allocate_device(
        self, key: tuple[int, int, int], wanted: Wanted, number: int, start: int
    ) -> bool:
        """Find a request's device of that number, from the position `start` on, and the rest."""
        claim = key[0]
        everything = self._every.get(key)
        if everything is not None and not everything:
            return False
        count = wanted.count if everything is None else len(everything)
        if number >= count:
            return self._allocate_request(claim, key[1] + 1)
        if self._holdings.count(claim) + count - number > MAX_DEVICES_OF_CLAIM:
            raise _TooManyDevices
        if everything is not None:
            return self._take_this(key, wanted, number, everything[number])
        if self._take_one(key, wanted, number, start):
            return True
        if key not in self._possible:
            self._possible[key] = self._possible_devices(wanted)
        return False

    def _take_one(self, key: tuple[int, int, int], wanted: Wanted, number: int, start: int) -> bool:
        """Take the first device that will do, from the position `start` on."""
        claim = key[0]
        for position in range(start, len(self._devices)):
            if self._is_short(key, wanted.count - number, position):
                break
            device, pool = self._devices[position]
            self._step()
            if not self._is_candidate(claim, wanted, device, pool):
                continue
            if not self._holdings.take(claim, wanted, device, pool, must=False):
                continue
            done = False
            try:
                done = self._allocate_device(key, wanted, number + 1, position + 1)
            finally:
                if not done:
                    self._holdings.give_back(claim)
            if done:
                return True
        return False

    def _is_short(self, key: tuple[int, int, int], needed: int, start: int) -> bool:
        """Whether too few devices are left for a request, whichever it takes.

        Upstream would try every combination of them.
        """
        possible = self._possible.get(key)
        return possible is not None and possible[start] < needed

    def _possible_devices(self, wanted: Wanted) -> list[int]:
        """Count from each position on the devices that nothing rules out from the outset.

        One that an expression fails for counts as many: to come upon it fails the search.
        """
        counts = [0]
        for device, pool in reversed(self._devices):
            counts.append(counts[-1] + self._possible_count(wanted, device, pool))
        return counts[::-1]

    def _possible_count(self, wanted: Wanted, device: PublishedDevice, pool: PoolView) -> int:
        if self._holdings.is_held(wanted, device):
            return 0
        for expression in (*wanted.class_expressions, *wanted.expressions):
            answer = self._selectors.matches(expression or "", device.traits)
            if answer is not True:
                return MAX_DEVICES_OF_CLAIM if isinstance(answer, SelectorFailure) else 0
        return int(self._holdings.is_tolerated(wanted, device) and device.id not in pool.hidden)

    def _take_this(
        self,
        key: tuple[int, int, int],
        wanted: Wanted,
        number: int,
        choice: tuple[PublishedDevice, PoolView],
    ) -> bool:
        """Take one of all devices: there is no other choice."""
        self._step()
        if not self._holdings.take(key[0], wanted, *choice, must=True):
            return False
        done = False
        try:
            done = self._allocate_device(key, wanted, number + 1, 0)
        finally:
            if not done:
                self._holdings.give_back(key[0])
        return done

    def _step(self) -> None:
        self._steps_left -= 1
        if self._steps_left < 0:
            raise OutOfSteps

    def _is_candidate(
        self, claim: int, wanted: Wanted, device: PublishedDevice, pool: PoolView
    ) -> bool:
        return (
            self._holdings.is_free(claim, wanted, device)
            and self._is_selectable(self._claims[claim], wanted, device, pool)
            and self._holdings.has_room(wanted, device)
        )

    def _is_selectable(
        self, claim: Claim, wanted: Wanted, device: PublishedDevice, pool: PoolView
    ) -> bool:
        of_class = f"class {wanted.class_name}"
        return (
            self._all_true(wanted.class_expressions, device, of_class)
            and self._all_true(wanted.expressions, device, f"claim {claim.key}")
            and device.id not in pool.hidden
        )

    def _all_true(self, expressions: Expressions, device: PublishedDevice, where: str) -> bool:
        for number, expression in enumerate(expressions):
            answer = self._selectors.matches(expression or "", device.traits)
            if isinstance(answer, SelectorFailure):
                text = f"{where}: selector #{number}: CEL {answer.stage} error: {answer.text}"
                raise SearchFailure(text)
            if not answer:
                return False
        return True
