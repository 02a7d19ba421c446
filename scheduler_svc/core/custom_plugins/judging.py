"""Filter and Score of users' plugins: Node by Node, or over arrays."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final

import numpy as np

from scheduler_svc.core.columns import Int64Array, NodeView
from scheduler_svc.core.custom_plugins.adapters import (
    Adapter,
    ClassState,
    PreFilterAdapter,
    PreScoreAdapter,
)
from scheduler_svc.core.custom_plugins.answers import (
    mask_array,
    node_score,
    normalized,
    score_array,
    status_of,
)
from scheduler_svc.core.custom_plugins.base import NodePlugin, Reject, VectorPlugin
from scheduler_svc.core.custom_plugins.guard import PluginFailedError, failure_text
from scheduler_svc.core.custom_plugins.node_arrays import Nodes
from scheduler_svc.core.custom_plugins.views import Node, Pod
from scheduler_svc.core.framework.interface import (
    ClusterScorePlugin,
    FilterPlugin,
    NormalizedScorePlugin,
    Rejection,
    ScorePlugin,
)
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.status import SUCCESS, Code, Status

PerNode = Callable[[Pod, Node], Any]

_READ: Final[Mapping[str, Callable[[str, str, Any], Any]]] = MappingProxyType(
    {"filter": status_of, "score": node_score}
)


class FilterAdapter(PreFilterAdapter, FilterPlugin):
    """Filter, with what both kinds of plugins share: a failure rejects all Nodes."""

    def filter(self, state: ClassState, nodes: NodeView) -> BoolArray | None:
        """Ask the plugin about the Nodes."""
        try:
            mask: BoolArray = self._guard.call(
                self.name, "filter", lambda: self._passing(state, nodes)
            )
        except PluginFailedError as error:
            state.failure = Status(Code.ERROR, (str(error),))
            return np.zeros(nodes.count, dtype=np.bool_)
        return mask

    def rejections(self, state: ClassState, nodes: NodeView) -> Sequence[Rejection]:
        """Ask again for the reasons."""
        failed = state.failure
        if failed is not None:
            return [Rejection.of_all(failed, nodes)]
        try:
            found: Sequence[Rejection] = self._guard.call(
                self.name, "filter", lambda: self._reasons(state, nodes)
            )
        except PluginFailedError as error:
            failed = state.failure = Status(Code.ERROR, (str(error),))
            return [Rejection.of_all(failed, nodes)]
        return found

    @abstractmethod
    def _passing(self, state: ClassState, nodes: NodeView) -> BoolArray:
        """Give the mask; raises what the plugin raises."""

    @abstractmethod
    def _reasons(self, state: ClassState, nodes: NodeView) -> Sequence[Rejection]:
        """Give the reasons; raises what the plugin raises."""


class NodeFilterAdapter(FilterAdapter):
    """Filter of a `NodePlugin`."""

    plugin: NodePlugin[Any]

    def _passing(self, state: ClassState, nodes: NodeView) -> BoolArray:
        return np.array([s is SUCCESS for s in self._statuses(state, nodes)], dtype=np.bool_)

    def _reasons(self, state: ClassState, nodes: NodeView) -> Sequence[Rejection]:
        statuses = self._statuses(state, nodes)
        # One that passes now has changed its mind: it was rejected, for no reason that is known.
        unknown = Status(Code.UNSCHEDULABLE, (f"node(s) rejected by {self.name}",))
        given = [unknown if status is SUCCESS else status for status in statuses]
        return [
            Rejection(status, np.array([other == status for other in given], dtype=np.bool_))
            for status in dict.fromkeys(given)
        ]

    def _statuses(self, state: ClassState, nodes: NodeView) -> list[Status]:
        answers = each_node(self, "filter", self.plugin.filter, state, nodes)
        return [SUCCESS if answer is None else answer for answer in answers]


class VectorFilterAdapter(FilterAdapter):
    """Filter of a `VectorPlugin`."""

    plugin: VectorPlugin[Any]

    def _passing(self, state: ClassState, nodes: NodeView) -> BoolArray:
        seen = Nodes(nodes, state.cluster, state.memory, self.plugin.scope)
        return mask_array(self.name, self.plugin.filter(state.pod, seen), nodes.count)

    def _reasons(self, state: ClassState, nodes: NodeView) -> Sequence[Rejection]:
        del state
        reason = self.plugin.reason or f"node(s) rejected by {self.name}"
        rejection = Reject(reason, self.plugin.resolvable)
        return [Rejection.of_all(status_of(self.name, "filter", rejection), nodes)]


class ScoringAdapter(PreScoreAdapter):
    """What all Scores share: a failure scores 0 and ends the attempt."""

    is_vectorised: ClassVar[bool]

    def _scores(self, state: ClassState, nodes: NodeView) -> Int64Array:
        try:
            scores: Int64Array = self._guard.call(
                self.name, "score", lambda: self._ask_for_scores(state, nodes)
            )
        except PluginFailedError as error:
            state.failure = Status(Code.ERROR, (str(error),))
            return np.zeros(nodes.count, dtype=np.int64)
        return scores

    def _ask_for_scores(self, state: ClassState, nodes: NodeView) -> Int64Array:
        plugin = self.plugin
        seen = Nodes(nodes, state.cluster, state.memory, plugin.scope)
        answers: Any
        if isinstance(plugin, VectorPlugin):
            answers = plugin.score(state.pod, seen)
        else:
            method: PerNode = plugin.score  # type: ignore[attr-defined]
            given = each_node(self, "score", method, state, nodes)
            answers = [0 if answer is None else answer for answer in given]
        return score_array(self.name, answers, seen.names, plugin.normalize)


class ScoreAdapter(ScoringAdapter, ScorePlugin):
    """Score of 0 to 100 by a Node itself."""

    def score(self, state: ClassState, nodes: NodeView) -> Int64Array:
        """Ask the plugin about the Nodes."""
        return self._scores(state, nodes)


class NormalizedScoreAdapter(ScoringAdapter, NormalizedScorePlugin):
    """Score by a Node itself, compared with the others."""

    def score(self, state: ClassState, nodes: NodeView) -> Int64Array:
        """Ask the plugin about the Nodes."""
        return self._scores(state, nodes)

    def normalize(self, raw: Int64Array, lowest: int, highest: int) -> Int64Array:
        """Scale as the plugin says."""
        return normalized(raw, self.plugin.normalize, lowest, highest)


class ClusterScoreAdapter(ScoringAdapter, ClusterScorePlugin):
    """Score by what is on other Nodes, too: of feasible Nodes, at each use."""

    def score_feasible(
        self, state: ClassState, nodes: NodeView, feasible: BoolArray
    ) -> Int64Array | None:
        """Ask the plugin about the feasible Nodes."""
        every = np.arange(nodes.columns.capacity, dtype=np.intp)[nodes.rows]
        raw = self._scores(state, NodeView(nodes.columns, every[feasible]))
        scores = np.zeros(nodes.count, dtype=np.int64)
        scores[feasible] = normalized(raw, self.plugin.normalize, int(raw.min()), int(raw.max()))
        return scores


def each_node(
    adapter: Adapter, point: str, method: PerNode, state: ClassState, nodes: NodeView
) -> list[Any]:
    """Give the answers for Nodes one by one, read; None for a row that is no Node's."""
    infos, scope = nodes.columns.infos, adapter.plugin.scope
    read = _READ[point]
    rows = (
        range(nodes.columns.capacity)[nodes.rows] if isinstance(nodes.rows, slice) else nodes.rows
    )
    answers: list[Any] = []
    for row in rows:
        info = infos[row] if row < len(infos) else None
        if info is None:
            answers.append(None)
            continue
        try:
            answer = method(state.pod, Node(info, int(row), state.cluster, scope))
            if answer is not None or point == "score":
                answer = read(adapter.name, f"{point} of Node {info.name}", answer)
        except (PluginFailedError, KeyboardInterrupt):
            raise
        except BaseException as error:
            text = failure_text(adapter.name, f"{point} of Node {info.name}", error)
            raise PluginFailedError(text) from error
        answers.append(answer)
    return answers
