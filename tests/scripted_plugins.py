"""Plugins that do as they are told, and note that they were asked.

`named` gives each its name: the tests read like a configuration.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeVar

import numpy as np

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import Int64Array, NodeView
from scheduler_svc.core.framework.interface import (
    BindPlugin,
    FilterPlugin,
    NormalizedScorePlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PreBindPlugin,
    PreBindWork,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Rejection,
    ReservePlugin,
    Scope,
    ScorePlugin,
    State,
)
from scheduler_svc.core.framework.normalize import normalize_default
from scheduler_svc.core.framework.post_filter import (
    FailedAttempt,
    PostFilterPlugin,
    PostFilterResult,
)
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SUCCESS, Status

_P = TypeVar("_P", bound=Plugin)


def named(name: str, plugin: type[_P]) -> type[_P]:
    """Give a plugin class a name."""
    return type(name, (plugin,), {"name": name})


def node_names(nodes: NodeView) -> list[str]:
    """Give the names of the Nodes of a view."""
    names = nodes.columns.names
    rows = range(len(names))[nodes.rows] if isinstance(nodes.rows, slice) else nodes.rows
    return [names[row] for row in rows]


class PreFiltering(PreFilterPlugin):
    """PreFilter with a fixed result."""

    def __init__(self, result: PreFilterResult | None = None) -> None:
        self.result = result or PreFilterResult()
        self.asked_count = 0

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        self.asked_count += 1
        return self.result


class Filtering(FilterPlugin):
    """Filter that rejects the Nodes in `rejected`, each with the status given for it."""

    filter_scope: ClassVar[Scope] = Scope.SPEC

    def __init__(self, rejected: Mapping[str, Status] | None = None) -> None:
        self.rejected = rejected or {}

    def filter(self, state: State, nodes: NodeView) -> BoolArray | None:
        if not self.rejected:
            return None
        return np.array([name not in self.rejected for name in node_names(nodes)], dtype=np.bool_)

    def rejections(self, state: State, nodes: NodeView) -> Sequence[Rejection]:
        names = node_names(nodes)
        return [
            Rejection(status, np.array([self.rejected[name] is status for name in names]))
            for status in dict.fromkeys(self.rejected.values())
        ]


class PreScoring(PreScorePlugin):
    """PreScore with a fixed status and state."""

    def __init__(self, status: Status = SUCCESS, state: State = None) -> None:
        self.answer = (status, state)

    def pre_score(self, pod: PodInfo, cluster: Cluster) -> tuple[Status, State]:
        return self.answer


def _scores(scores: Mapping[str, int], nodes: NodeView) -> Int64Array:
    return np.array([scores.get(name, 0) for name in node_names(nodes)], dtype=np.int64)


class Scoring(ScorePlugin):
    """Score by Node name; 0 for a Node that is not in `scores`."""

    score_scope: ClassVar[Scope] = Scope.SPEC

    def __init__(self, scores: Mapping[str, int]) -> None:
        self.scores = scores

    def score(self, state: State, nodes: NodeView) -> Int64Array:
        return _scores(self.scores, nodes)


class NormalizedScoring(NormalizedScorePlugin):
    """Score by Node name, scaled so that the best feasible Node has 100."""

    score_scope: ClassVar[Scope] = Scope.SPEC

    def __init__(self, scores: Mapping[str, int]) -> None:
        self.scores = scores

    def score(self, state: State, nodes: NodeView) -> Int64Array:
        return _scores(self.scores, nodes)

    def normalize(self, raw: Int64Array, lowest: int, highest: int) -> Int64Array:
        return normalize_default(raw, highest)


class PostFiltering(PostFilterPlugin):
    """PostFilter with a fixed result, or one of just a status."""

    def __init__(self, result: PostFilterResult | Status) -> None:
        self.result = result if isinstance(result, PostFilterResult) else PostFilterResult(result)

    def post_filter(self, attempt: FailedAttempt) -> PostFilterResult:
        return self.result


class Reserving(ReservePlugin):
    """Reserve with a fixed status."""

    def __init__(self, calls: list[str], status: Status = SUCCESS) -> None:
        self.calls, self.status = calls, status

    def reserve(self, pod: PodInfo, node_name: str, cluster: Cluster) -> Status:
        self.calls.append(f"{self.name} reserve {pod.name} {node_name}")
        return self.status

    def unreserve(self, pod: PodInfo, node_name: str, cluster: Cluster) -> None:
        self.calls.append(f"{self.name} unreserve {pod.name} {node_name}")


class Permitting(PermitPlugin):
    """Permit with a fixed answer."""

    def __init__(self, calls: list[str], status: Status = SUCCESS, wait_seconds: float = 0) -> None:
        self.calls, self.answer = calls, (status, wait_seconds)

    def permit(self, pod: PodInfo, node_name: str) -> tuple[Status, float]:
        self.calls.append(f"{self.name} permit {pod.name} {node_name}")
        return self.answer


class PreBinding(PreBindPlugin):
    """PreBind with a fixed answer."""

    def __init__(self, calls: list[str], answer: PreBindWork | Status = SUCCESS) -> None:
        self.calls, self.answer = calls, answer

    def pre_bind(self, pod: PodInfo, node_name: str, cluster: Cluster) -> PreBindWork | Status:
        self.calls.append(f"{self.name} pre-bind {pod.name} {node_name}")
        return self.answer


class Binding(BindPlugin):
    """Bind with a fixed status."""

    def __init__(self, calls: list[str], status: Status = SUCCESS) -> None:
        self.calls, self.status = calls, status

    def bind(self, pod: PodInfo, node_name: str) -> Status:
        self.calls.append(f"{self.name} bind {pod.name} {node_name}")
        return self.status


class PostBinding(PostBindPlugin):
    """PostBind that notes the Pod."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls

    def post_bind(self, pod: PodInfo, node_name: str) -> None:
        self.calls.append(f"{self.name} post-bind {pod.name} {node_name}")
