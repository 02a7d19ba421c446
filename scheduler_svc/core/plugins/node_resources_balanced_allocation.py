"""NodeResourcesBalancedAllocation: prefers Nodes whose resources are used evenly.

The spread of the used fractions is compared with and without the Pod: 75 is neutral,
more means that the Pod makes the Node's use more even. Floating point throughout, in
upstream's order of operations.

Source: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go, v1.36.3.
"""

from collections.abc import Hashable
from typing import Final

import numpy as np

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import Float64Array, Int64Array, NodeColumns, NodeView
from scheduler_svc.core.devices.extended_resources import may_be_devices
from scheduler_svc.core.framework.interface import (
    MAX_NODE_SCORE,
    PreScorePlugin,
    Scope,
    ScorePlugin,
)
from scheduler_svc.core.framework.resource_scoring import (
    DEFAULT_WEIGHTS,
    ResourceWeights,
    ScoredResources,
)
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SKIP, SUCCESS, Status

_HALF: Final = MAX_NODE_SCORE // 2
# Arrays without dimensions: a number of Python's costs an operation on a few Nodes twice its time.
_ONE: Final[Float64Array] = np.array(1.0)
_TWO: Final[Float64Array] = np.array(2.0)
_FIFTY: Final[Float64Array] = np.array(MAX_NODE_SCORE / 2)
# 50 + (50 + change) / 2 for a change of the balance from -100 to 100, the negative ones at
# the end, where a negative index finds them. A deviation is at most a half, so the sum is below
# 50 by rounding alone, and Go's half of -1 is 0.
_CHANGES: Final = (*range(MAX_NODE_SCORE + 1), *range(-MAX_NODE_SCORE, 0))
_SCORES: Final[Int64Array] = np.array(
    [max(_HALF, (3 * _HALF + change) >> 1) for change in _CHANGES], dtype=np.int64
)


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin):
    """Scores by the change of the standard deviation of the used fractions."""

    name = "NodeResourcesBalancedAllocation"
    projection_fields = frozenset({"shape.requests.scalars"})
    score_scope = Scope.USAGE

    def __init__(self, resources: ResourceWeights = DEFAULT_WEIGHTS) -> None:
        self._resources = resources
        self._may_be_devices = tuple(name for name, _ in resources if may_be_devices(name))

    def projection(self, pod: PodInfo, cluster: Cluster) -> Hashable:
        """Give the resources that device classes stand for."""
        if not self._may_be_devices or not pod.shape.requests.scalars:
            return None
        return tuple(
            name for name in self._may_be_devices if cluster.devices.class_of_resource(name)
        )

    def pre_score(self, pod: PodInfo, cluster: Cluster) -> tuple[Status, ScoredResources]:
        """Collect the amounts; Skip for a Pod that requests none of the resources."""
        state = ScoredResources.of(
            self._resources,
            pod.shape.requests,
            cluster.columns,
            with_defaults=False,
            inventory=cluster.devices,
        )
        return (SKIP if state.requests_nothing else SUCCESS), state

    def score(self, state: ScoredResources, nodes: NodeView) -> Int64Array:
        """Give 0 to 100; 75 where the Pod changes nothing."""
        divisors = nodes.divisors[state.rows]
        fractions = np.empty((2, *divisors.shape))
        everywhere = not state.devices and nodes.columns.is_offered_everywhere(state.numbers)
        if everywhere and nodes.columns.is_exact_in_float:
            np.subtract(divisors, nodes.room[state.rows], out=fractions[0])
            np.add(fractions[0], state.float_amounts, out=fractions[1])
            offered = None
        else:
            allocatable, used = state.amounts_on(nodes)
            fractions[0], fractions[1] = used, used + state.amounts
            if state.devices:
                divisors = np.maximum(allocatable, 1).astype(np.float64)
            offered = None if everywhere else allocatable > 0
        fractions /= divisors
        balances = _balance(fractions, offered)
        scores: Int64Array = _SCORES[balances[1] - balances[0]]
        return scores

    def score_version(self, state: ScoredResources, columns: NodeColumns) -> Hashable:
        """Change with the devices that stand for a resource."""
        return state.device_version(columns)

    def asks_version_always(self, state: ScoredResources) -> bool:
        """Devices are taken on no Node in particular."""
        return bool(state.devices)


def _balance(fractions: Float64Array, offered: BoolArray | None) -> Int64Array:
    """Give 100 times one minus the deviation of the used fractions, truncated.

    `fractions` is float64 `(V, A, K)` for V variants and is written to; `offered` is bool
    `(A, K)`, None for everywhere: what is not offered does not count. The result is int64
    `(V, K)`.
    """
    np.minimum(fractions, _ONE, out=fractions)
    if fractions.shape[1] == 2:
        doubled: Float64Array = fractions[:, 0] - fractions[:, 1]
        np.abs(doubled, out=doubled)
        if offered is not None:
            # With one fraction left there is nothing to deviate from.
            doubled *= offered[0] & offered[1]
        # (2 - 2d) * 50 is (1 - d) * 100 to the last bit: doubling is exact.
        np.subtract(_TWO, doubled, out=doubled)
        doubled *= _FIFTY
        return doubled.astype(np.int64)
    if offered is None:
        return _scaled(_deviation(fractions))
    result = np.full((fractions.shape[0], fractions.shape[2]), MAX_NODE_SCORE, dtype=np.int64)
    for pattern in np.unique(offered, axis=1).T:
        nodes = np.logical_and.reduce(offered == pattern[:, np.newaxis], axis=0)
        result[:, nodes] = _scaled(_deviation(fractions[:, pattern][:, :, nodes]))
    return result


def _scaled(deviation: Float64Array) -> Int64Array:
    np.subtract(1.0, deviation, out=deviation)
    deviation *= float(MAX_NODE_SCORE)
    return deviation.astype(np.int64)


def _deviation(fractions: Float64Array) -> Float64Array:
    """Give the population standard deviation over axis 1; float64 `(V, K)`."""
    count = fractions.shape[1]
    if count == 2:
        two: Float64Array = np.abs(fractions[:, 0] - fractions[:, 1]) / 2
        return two
    # Summed one by one: the order of additions decides the last bit.
    mean = np.zeros((fractions.shape[0], fractions.shape[2]))
    for i in range(count):
        mean += fractions[:, i]
    mean /= max(count, 1)
    squares = np.zeros_like(mean)
    for i in range(count):
        squares += (fractions[:, i] - mean) * (fractions[:, i] - mean)
    deviation: Float64Array = np.sqrt(squares / max(count, 1))
    return deviation
