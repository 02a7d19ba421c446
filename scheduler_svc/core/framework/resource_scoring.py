"""Scores by how full a Node would be: the strategies of NodeResourcesFit.

A resource that a Node does not offer is left out of its score, and so is a scalar
resource that the Pod does not request. Where a DeviceClass stands for a resource that the
Node does not offer, its devices count. All divisions are Go's, on integers.

Source: pkg/scheduler/framework/plugins/noderesources (resource_allocation.go,
least_allocated.go, most_allocated.go, requested_to_capacity_ratio.go), v1.36.3.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.columns import (
    CPU_ROW,
    MEMORY_ROW,
    SCORED_CPU,
    SCORED_MEMORY,
    Float64Array,
    Int64Array,
    NodeColumns,
    NodeView,
)
from scheduler_svc.core.devices.extended_resources import may_be_devices
from scheduler_svc.core.devices.inventory import DeviceInventory
from scheduler_svc.core.devices.resource_totals import ResourceTotals
from scheduler_svc.core.framework.amounts import RowSelection, percent
from scheduler_svc.core.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    Requests,
    is_scalar,
)

ResourceWeights = tuple[tuple[str, int], ...]

DEFAULT_WEIGHTS: Final[ResourceWeights] = ((CPU, 1), (MEMORY, 1))

MAX_SHAPE_SCORE: Final = 10
MAX_UTILIZATION: Final = 100
# Arrays without dimensions: a number of Python's costs an operation on a few Nodes twice its time.
_HUNDRED: Final[Float64Array] = np.array(100.0)
_NOTHING: Final[Int64Array] = np.array(0)


def selection(rows: list[int]) -> RowSelection:
    """Give consecutive rows as a slice, which cuts an array without copying it."""
    consecutive = rows == list(range(rows[0], rows[0] + len(rows))) if rows else False
    return slice(rows[0], rows[0] + len(rows)) if consecutive else rows


class ScoredResources(msgspec.Struct, frozen=True):
    """The A resources a class is scored by.

    `rows` cuts them out of the columns, `numbers` lists the same rows; `amounts` is what the
    Pod takes, int64 `(A, 1)`, `float_amounts` the same as float64. `halving_count` is the
    logarithm of `weight_sum` to base 2, an array without dimensions, where that is a whole
    number, else None. `devices` are
    those that stand for a resource, by its position.
    """

    rows: RowSelection
    numbers: tuple[int, ...]
    amounts: Int64Array
    float_amounts: Float64Array
    weights: tuple[int, ...]
    weight_sum: int
    halving_count: Int64Array | None
    devices: tuple[tuple[int, ResourceTotals], ...] = ()

    @classmethod
    def of(
        cls,
        weights: ResourceWeights,
        requests: Requests,
        columns: NodeColumns,
        *,
        with_defaults: bool,
        inventory: DeviceInventory | None = None,
    ) -> "ScoredResources":
        """Choose rows and amounts; `with_defaults` counts what is not requested (CPU, memory).

        `inventory` has the classes that stand for resources, None for none.
        """
        amounts = {
            CPU: requests.nonzero_milli_cpu if with_defaults else requests.milli_cpu,
            MEMORY: requests.nonzero_memory_bytes if with_defaults else requests.memory_bytes,
            EPHEMERAL_STORAGE: requests.ephemeral_storage_bytes,
            **dict(requests.scalars),
        }
        rows = {
            CPU: SCORED_CPU if with_defaults else CPU_ROW,
            MEMORY: SCORED_MEMORY if with_defaults else MEMORY_ROW,
        }
        # The number of Pods plays no part, whatever a profile says.
        chosen = [
            (name, weight)
            for name, weight in weights
            if name != PODS and (amounts.get(name, 0) or not is_scalar(name))
        ]
        numbers = [rows.get(name, columns.resource_row(name)) for name, _ in chosen]
        column = np.array([[amounts.get(name, 0)] for name, _ in chosen], dtype=np.int64)
        column = column.reshape(-1, 1)
        weight_sum = sum(weight for _, weight in chosen) or 1
        is_power_of_two = weight_sum & (weight_sum - 1) == 0
        return cls(
            rows=selection(numbers),
            numbers=tuple(numbers),
            amounts=column,
            float_amounts=column.astype(np.float64),
            weights=tuple(weight for _, weight in chosen),
            weight_sum=weight_sum,
            halving_count=np.array(weight_sum.bit_length() - 1) if is_power_of_two else None,
            devices=() if inventory is None else _devices(chosen, inventory),
        )

    @property
    def requests_nothing(self) -> bool:
        """Whether the Pod asks for none of the resources."""
        return not self.amounts.any()

    def device_version(self, columns: NodeColumns) -> Hashable:
        """Give a value that changes with the devices on Nodes; None where they play no part."""
        return tuple(totals.version(columns) for _, totals in self.devices) or None

    def amounts_on(self, nodes: NodeView) -> tuple[Int64Array, Int64Array]:
        """Give what Nodes have, and what of it is used; int64 `(A, K)` each."""
        allocatable = nodes.allocatable[self.rows]
        used = allocatable - nodes.free[self.rows]
        if self.devices:
            allocatable = allocatable.copy()
        for position, totals in self.devices:
            capacity, taken = totals.at(nodes)
            counts = (allocatable[position] == 0) & (capacity > 0)
            allocatable[position] = np.where(counts, capacity, allocatable[position])
            used[position] = np.where(counts, taken, used[position])
        return allocatable, used


def _devices(
    chosen: Sequence[tuple[str, int]], inventory: DeviceInventory
) -> tuple[tuple[int, ResourceTotals], ...]:
    return tuple(
        (position, ResourceTotals.of(inventory, name))
        for position, (name, _) in enumerate(chosen)
        if may_be_devices(name) and inventory.class_of_resource(name) is not None
    )


class ScoringStrategy(ABC):
    """Ranks Nodes by the use of some resources, each with a weight from 1 to 100."""

    def __init__(self, weights: ResourceWeights = DEFAULT_WEIGHTS) -> None:
        self.weights = weights

    @abstractmethod
    def score(self, state: ScoredResources, nodes: NodeView) -> Int64Array:
        """Give int64 `(K,)`, 0 to 100."""


class LeastAllocated(ScoringStrategy):
    """Prefers Nodes with more left: 100 * (allocatable - requested) / allocatable."""

    def score(self, state: ScoredResources, nodes: NodeView) -> Int64Array:
        """Give the weighted mean over the resources; a resource that is exceeded counts 0."""
        if nodes.columns.is_exact_in_float and not state.devices:
            # As `percent`, on floats throughout: each change of type costs as much as a division.
            hundredfold = nodes.room[state.rows] - state.float_amounts
            hundredfold *= _HUNDRED
            hundredfold /= nodes.divisors[state.rows]
            scores = hundredfold.astype(np.int64)
            # Exceeded resources are below 0, truncated towards it.
            np.maximum(scores, _NOTHING, out=scores)
            return _weighted_mean(state, scores, nodes)
        allocatable, used = state.amounts_on(nodes)
        left = allocatable - used - state.amounts
        np.maximum(left, 0, out=left)
        return _weighted_mean(state, _percent(state, left, allocatable, nodes), nodes, allocatable)


class MostAllocated(ScoringStrategy):
    """Prefers Nodes with less left: 100 * requested / allocatable."""

    def score(self, state: ScoredResources, nodes: NodeView) -> Int64Array:
        """Give the weighted mean over the resources; a resource that is exceeded counts 100."""
        allocatable, requested = state.amounts_on(nodes)
        requested += state.amounts
        np.minimum(requested, allocatable, out=requested)
        scores = _percent(state, requested, allocatable, nodes)
        return _weighted_mean(state, scores, nodes, allocatable)


class ShapePoint(msgspec.Struct, frozen=True):
    """A score (0 to 10) for a utilization (0 to 100 percent)."""

    utilization: int
    score: int


class RequestedToCapacityRatio(ScoringStrategy):
    """Ranks by a broken line through points of (utilization, score)."""

    def __init__(
        self, shape: Sequence[ShapePoint], weights: ResourceWeights = DEFAULT_WEIGHTS
    ) -> None:
        super().__init__(weights)
        scores = [broken_line(shape, u) for u in range(MAX_UTILIZATION + 1)]
        self._scores: Int64Array = np.array(scores, dtype=np.int64)

    def score(self, state: ScoredResources, nodes: NodeView) -> Int64Array:
        """Give the weighted mean over the resources that score above 0, rounded half up."""
        allocatable, requested = state.amounts_on(nodes)
        requested += state.amounts
        np.minimum(requested, allocatable, out=requested)
        utilizations = _percent(state, requested, allocatable, nodes)
        scores = self._scores[utilizations] * (allocatable > 0)
        weights = np.maximum(_weighted_sum(state, (scores > 0).astype(np.int64)), 1)
        rounded: Int64Array = (2 * _weighted_sum(state, scores) + weights) // (2 * weights)
        return rounded


def broken_line(shape: Sequence[ShapePoint], utilization: int) -> int:
    """Give the score, 0 to 100, at a utilization; the ends go on flat.

    Source: pkg/scheduler/framework/plugins/helper/shape_score.go
    (`BuildBrokenLinearFunction`), v1.36.3; divisions truncate.
    """
    scale = 100 // MAX_SHAPE_SCORE
    previous = shape[0]
    for point in shape:
        if utilization <= point.utilization:
            if point is previous:
                break
            rise = (point.score - previous.score) * scale * (utilization - previous.utilization)
            run = point.utilization - previous.utilization
            sign = 1 if rise >= 0 else -1
            return previous.score * scale + sign * (abs(rise) // run)
        previous = point
    return previous.score * scale


def _percent(
    state: ScoredResources, parts: Int64Array, allocatable: Int64Array, nodes: NodeView
) -> Int64Array:
    if not state.devices:
        return percent(parts, nodes, state.rows)
    quotients: Int64Array = parts * 100 // np.maximum(allocatable, 1)
    return quotients


def _weighted_mean(
    state: ScoredResources,
    scores: Int64Array,
    nodes: NodeView,
    allocatable: Int64Array | None = None,
) -> Int64Array:
    """Give the mean over what is offered; `allocatable` is what Nodes have, devices included."""
    mean: Int64Array
    if not state.devices and nodes.columns.is_offered_everywhere(state.numbers):
        mean = _weighted_sum(state, scores)
        if state.halving_count is None:
            mean //= state.weight_sum
        else:
            mean >>= state.halving_count
    else:
        # A resource that is not offered scores 0 already; its weight must not count either.
        known = nodes.allocatable[state.rows] if allocatable is None else allocatable
        offered = (known > 0).astype(np.int64)
        mean = _weighted_sum(state, scores) // np.maximum(_weighted_sum(state, offered), 1)
    return mean


def _weighted_sum(state: ScoredResources, values: Int64Array) -> Int64Array:
    if not state.weights:
        return np.zeros(values.shape[1], dtype=np.int64)
    # Rows of a fresh array, so the first may be written to.
    total: Int64Array = values[0]
    if state.weights[0] != 1:
        total *= state.weights[0]
    for position in range(1, len(state.weights)):
        weight, row = state.weights[position], values[position]
        total += row if weight == 1 else row * weight
    return total
