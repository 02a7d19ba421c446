"""What is known of one class of Pods with claims: for each Node, whether its devices suffice.

Answers are kept for groups of Nodes that see the same pools, and asked for anew where
devices were taken or given back, slices or a Node's labels changed: nothing else can change
them. Nodes are asked in the order of their names, so that what ends the attempt is what
upstream, which asks that way in the end, would report.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import Int64Array, NodeColumns, NodeView
from scheduler_svc.core.device_objects import ResourceClaim
from scheduler_svc.core.devices.demands import Claim
from scheduler_svc.core.devices.extended_resources import ContainerDemand
from scheduler_svc.core.devices.inventory import DeviceInventory
from scheduler_svc.core.devices.node_selectors import selected_rows
from scheduler_svc.core.devices.outcomes import OutOfSteps, SearchFailure, Solution
from scheduler_svc.core.devices.pools import PoolView
from scheduler_svc.core.devices.search import Search
from scheduler_svc.core.devices.slice_index import Grouping, NodeGroup
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.status import Code, Status

UNKNOWN: Final = 0
SUFFICIENT: Final = 1
INSUFFICIENT: Final = 2
INVALID_POOLS: Final = 3
NO_SUCH_RESOURCE: Final = 4
STALE_CLAIM: Final = 5

REASONS: Final = {
    INSUFFICIENT: "cannot allocate all claims",
    INVALID_POOLS: "invalid resource pools were encountered",
    NO_SUCH_RESOURCE: "cannot fit resource",
    STALE_CLAIM: "cannot schedule extended resource claim",
}
UNAVAILABLE: Final = "resourceclaim not available on the node"


class SearchLimits(msgspec.Struct, frozen=True):
    """How many devices a search on one Node may look at, and whether quirks are followed."""

    step_limit: int
    follows_quirks: bool = True


class AllocatedClaim(msgspec.Struct, frozen=True):
    """A claim that is allocated; `is_broken`: its devices will not be ready any more."""

    claim: ResourceClaim
    is_broken: bool = False


class Flavour(msgspec.Struct, frozen=True):
    """The claims to be allocated on a Node; `verdict` is set where there is nothing to search.

    `made` is the demand of the last claim, where that is one for extended resources.
    """

    claims: tuple[Claim, ...]
    verdict: int = UNKNOWN
    made: ContainerDemand | None = None


class ExtendedOnNode:
    """What a Pod's extended resources add on a Node: a claim for those it does not offer.

    `demand_of` and `claim_for` make the claim for some resources, which come with the names of
    the classes that stand for them. While there is a claim left from an earlier attempt
    (`is_stale`), no Node will do.
    """

    def __init__(
        self,
        amounts: Mapping[str, int],
        classes: Mapping[str, str],
        demand_of: Callable[[dict[str, str]], ContainerDemand],
        claim_for: Callable[[ContainerDemand], Claim],
        *,
        is_stale: bool,
    ) -> None:
        self._amounts, self._classes = amounts, classes
        self._demand_of, self._claim_for = demand_of, claim_for
        self._is_stale = is_stale
        self._made: dict[tuple[str, ...], tuple[Claim, ContainerDemand]] = {}

    def flavour(self, demands: tuple[Claim, ...], row: int, columns: NodeColumns) -> Flavour:
        """Give what is to be allocated on a Node, beside `demands`."""
        if self._is_stale:
            return Flavour((), STALE_CLAIM)
        info = columns.infos[row]
        offered = {} if info is None else dict(info.allocatable)
        wanted: list[str] = []
        for name in self._amounts:
            if name in self._classes and not offered.get(name):
                wanted.append(name)
            elif name not in offered:
                return Flavour((), NO_SUCH_RESOURCE)
        if not wanted:
            return Flavour(demands)
        key = tuple(wanted)
        if key not in self._made:
            demand = self._demand_of({name: self._classes[name] for name in wanted})
            self._made[key] = (self._claim_for(demand), demand)
        claim, demand = self._made[key]
        return Flavour((*demands, claim), made=demand)


class ClassState:
    """One class over all Nodes.

    Parameters
    ----------
    allocated
        Claims that have devices: their Nodes are known.
    demands
        Claims to be allocated, in order.
    extended
        Gives what extended resources add on a Node, None for Pods without; asked by row.
    """

    def __init__(
        self,
        inventory: DeviceInventory,
        limits: SearchLimits,
        allocated: tuple[AllocatedClaim, ...],
        demands: tuple[Claim, ...],
        extended: ExtendedOnNode | None = None,
    ) -> None:
        self.allocated, self.demands = allocated, demands
        self.failure: Status | None = None
        self._failed_node = ""
        self._inventory, self._limits, self._extended = inventory, limits, extended
        self._answers: dict[tuple[PoolView, ...], dict[tuple[Claim, ...], tuple[int, int]]] = {}
        self._verdicts = np.zeros(0, dtype=np.int8)
        self._scores: Int64Array = np.zeros(0, dtype=np.int64)
        self._grouping: Grouping | None = None
        self._allocated_score = sum(_score(inventory, known.claim) for known in allocated)
        self._log_position = self._spec_position = -1
        self._reach: list[BoolArray] = []
        self._reach_position = -1

    @property
    def is_scored(self) -> bool:
        """Whether a claim names alternatives: only then Nodes have other scores than 0."""
        is_prioritized = any(claim.demand.is_prioritized for claim in self.demands)
        return is_prioritized or (bool(self.demands) and self._allocated_score > 0)

    @property
    def size_bytes(self) -> int:
        """The memory of its arrays."""
        reach = sum(mask.nbytes for mask in self._reach)
        return self._verdicts.nbytes + self._scores.nbytes + reach

    def verdicts(self, nodes: NodeView) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
        """Give each Node's verdict, int8 `(K,)`; `failure` tells if something is wrong."""
        columns = nodes.columns
        rows = _rows(nodes)
        self._refresh(columns)
        unknown = rows[self._verdicts[rows] == UNKNOWN]
        for row in sorted(unknown.tolist(), key=columns.names.__getitem__):
            if self._verdicts[row] == UNKNOWN and not self._judge(row, columns):
                break
        return self._verdicts[rows]

    def reach(self, index: int, nodes: NodeView) -> BoolArray:
        """Give where an allocated claim can be used, bool `(K,)`."""
        columns = nodes.columns
        if self._reach_position != columns.spec_log.position:
            self._reach_position = columns.spec_log.position
            self._reach = [_reach(known, columns) for known in self.allocated]
        return self._reach[index][nodes.rows]

    def scores(self, nodes: NodeView) -> Int64Array:
        """Give the points of the alternatives chosen, int64 `(K,)`, as of the last verdicts.

        Where the Filter is not asked nothing is chosen.
        """
        if self._grouping is None:
            return np.zeros(nodes.count, dtype=np.int64)
        return self._scores[_rows(nodes)]

    def solve(self, row: int, columns: NodeColumns) -> tuple[Flavour, Solution] | None:
        """Search for one Node; None if there is no solution."""
        group = self._inventory.slices.grouping(columns).group_of_row[row]
        flavour = self.flavour(row, columns)
        if group is None or flavour.verdict != UNKNOWN:
            return None
        try:
            solution = self._search(group, flavour.claims)
        except (SearchFailure, OutOfSteps):
            return None
        return None if solution is None else (flavour, solution)

    def flavour(self, row: int, columns: NodeColumns) -> Flavour:
        """Give the claims to be allocated on a Node."""
        if self._extended is None:
            return Flavour(self.demands)
        return self._extended.flavour(self.demands, row, columns)

    def _refresh(self, columns: NodeColumns) -> None:
        log = self._inventory.allocated.log
        changed = log.since(self._log_position)
        self._log_position = log.position
        grouping = self._inventory.slices.grouping(columns)
        codes = None if changed is None else set(changed.tolist())
        if grouping is not self._grouping or len(self._verdicts) != columns.capacity:
            self._regroup(grouping, columns)
        if codes is None:
            self._answers.clear()
            self._verdicts[:] = UNKNOWN
            codes = set()
        for code in codes:
            self._forget(grouping.groups_of_pool.get(code, ()))
        if self._extended is not None:
            rows = columns.spec_log.since(self._spec_position)
            self._verdicts[slice(None) if rows is None else rows] = UNKNOWN
            self._spec_position = columns.spec_log.position

    def _regroup(self, grouping: Grouping, columns: NodeColumns) -> None:
        self._grouping = grouping
        known = {group.pools for group in grouping.groups}
        self._answers = {pools: a for pools, a in self._answers.items() if pools in known}
        self._verdicts = np.zeros(columns.capacity, dtype=np.int8)
        self._scores = np.zeros(columns.capacity, dtype=np.int64)

    def _forget(self, groups: Iterable[NodeGroup]) -> None:
        for group in groups:
            self._answers.pop(group.pools, None)
            self._verdicts[group.rows] = UNKNOWN

    def _judge(self, row: int, columns: NodeColumns) -> bool:
        """Judge a Node, and those like it; False if something went wrong."""
        group = None if self._grouping is None else self._grouping.group_of_row[row]
        if group is None:
            self._verdicts[row] = INSUFFICIENT
            return True
        flavour = self.flavour(row, columns)
        if flavour.verdict != UNKNOWN:
            self._verdicts[row] = flavour.verdict
            return True
        answers = self._answers.setdefault(group.pools, {})
        answer = answers.get(flavour.claims)
        if answer is None:
            try:
                answer = answers[flavour.claims] = self._answer(group, flavour.claims)
            except SearchFailure as failure:
                return self._fail(str(failure), columns.names[row])
            except OutOfSteps:
                text = f"node {columns.names[row]}: timed out trying to allocate devices"
                return self._fail(text, columns.names[row])
        rows = group.rows if self._extended is None else [row]
        self._verdicts[rows], self._scores[rows] = answer
        return True

    def _fail(self, text: str, node_name: str) -> bool:
        if self.failure is None or node_name < self._failed_node:
            text = f'running "DynamicResources" filter plugin: {text}'
            self.failure, self._failed_node = Status(Code.ERROR, (text,)), node_name
        return False

    def _answer(self, group: NodeGroup, claims: tuple[Claim, ...]) -> tuple[int, int]:
        solution = self._search(group, claims) if claims else ()
        if solution is None:
            is_invalid = any(pool.is_invalid for pool in group.pools)
            return (INVALID_POOLS if is_invalid else INSUFFICIENT), 0
        score = sum(
            claim.demand.score({choice.wanted.full_name for choice in chosen})
            for claim, chosen in zip(claims, solution, strict=True)
        )
        return SUFFICIENT, score + self._allocated_score

    def _search(self, group: NodeGroup, claims: tuple[Claim, ...]) -> Solution | None:
        search = Search(
            claims,
            group.pools,
            self._inventory.allocated,
            self._inventory.selectors,
            step_limit=self._limits.step_limit,
            follows_quirks=self._limits.follows_quirks,
        )
        return search.run()


def _rows(nodes: NodeView) -> RowArray:
    rows = nodes.rows
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def _score(inventory: DeviceInventory, claim: ResourceClaim) -> int:
    """Give the points of what an allocated claim was given of its alternatives."""
    allocation = claim.status.allocation
    results = () if allocation is None else allocation.devices.results
    return inventory.demand(claim.spec).score({result.request for result in results})


def _reach(known: AllocatedClaim, columns: NodeColumns) -> BoolArray:
    allocation = known.claim.status.allocation
    if known.is_broken or allocation is None:
        return np.zeros(columns.capacity, dtype=np.bool_)
    if allocation.node_selector is None:
        return np.ones(columns.capacity, dtype=np.bool_)
    return selected_rows(allocation.node_selector, columns)
