"""NodeResourcesBalancedAllocation: prefers Nodes whose resources are used evenly.

The spread of the used fractions is compared with and without the Pod: 75 is neutral,
more means that the Pod makes the Node's use more even. Floating point throughout, in
upstream's order of operations.

Source: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go, v1.36.3.
"""

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.columns import Int64Array, NodeColumns, NodeView
from scheduler_svc.core.framework.amounts import truncated_half
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
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SKIP, SUCCESS, Status

_Float64Array = npt.NDArray[np.float64]
_HALF = MAX_NODE_SCORE // 2


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin):
    """Scores by the change of the standard deviation of the used fractions."""

    name = "NodeResourcesBalancedAllocation"
    score_scope = Scope.USAGE

    def __init__(self, resources: ResourceWeights = DEFAULT_WEIGHTS) -> None:
        self._resources = resources

    def pre_score(self, pod: PodInfo, columns: NodeColumns) -> tuple[Status, ScoredResources]:
        """Collect the amounts; Skip for a Pod that requests none of the resources."""
        state = ScoredResources.of(
            self._resources, pod.shape.requests, columns, with_defaults=False
        )
        return (SKIP if state.requests_nothing else SUCCESS), state

    def score(self, state: ScoredResources, nodes: NodeView) -> Int64Array:
        """Give 0 to 100; 75 where the Pod changes nothing."""
        allocatable = nodes.allocatable[state.rows]
        used = allocatable - nodes.free[state.rows]
        both = np.stack([used, used + state.amounts])
        without, with_pod = balance(both, allocatable)
        return _HALF + truncated_half(_HALF + with_pod - without)


def balance(used: Int64Array, allocatable: Int64Array) -> Int64Array:
    """Give 100 times one minus the deviation of the used fractions, truncated.

    `used` is int64 `(V, A, K)` for V variants, `allocatable` `(A, K)`; the result is
    int64 `(V, K)`. Resources that are not offered do not count.
    """
    offered = allocatable > 0
    fractions = np.minimum(used / np.maximum(allocatable, 1), 1.0)
    if offered.all():
        return _scaled(_deviation(fractions))
    result = np.zeros((used.shape[0], used.shape[2]), dtype=np.int64)
    patterns = np.unique(offered, axis=1).T
    for pattern in patterns:
        nodes = (offered == pattern[:, np.newaxis]).all(axis=0)
        result[:, nodes] = _scaled(_deviation(fractions[:, pattern][:, :, nodes]))
    return result


def _scaled(deviation: _Float64Array) -> Int64Array:
    return ((1 - deviation) * float(MAX_NODE_SCORE)).astype(np.int64)


def _deviation(fractions: _Float64Array) -> _Float64Array:
    count = fractions.shape[1]
    if count == 2:
        return np.abs((fractions[:, 0] - fractions[:, 1]) / 2)
    if count < 2:
        return np.zeros((fractions.shape[0], fractions.shape[2]))
    # Summed one by one: the order of additions decides the last bit.
    total = np.zeros((fractions.shape[0], fractions.shape[2]))
    for i in range(count):
        total = total + fractions[:, i]
    mean = total / count
    squares = np.zeros_like(mean)
    for i in range(count):
        squares = squares + (fractions[:, i] - mean) * (fractions[:, i] - mean)
    deviation: _Float64Array = np.sqrt(squares / count)
    return deviation
