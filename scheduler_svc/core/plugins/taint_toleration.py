"""TaintToleration: taints that the Pod does not tolerate keep it away or make a Node worse.

Source: pkg/scheduler/framework/plugins/tainttoleration, v1.36.3.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import Int64Array, NodeView
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    QueueingHint,
    own_update,
)
from scheduler_svc.core.framework.interface import (
    EnqueueExtensions,
    FilterPlugin,
    NormalizedScorePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Rejection,
    Scope,
)
from scheduler_svc.core.framework.normalize import normalize_reversed
from scheduler_svc.core.labels import BoolArray, Int32Array
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Taint, Toleration
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SUCCESS, Code, Status
from scheduler_svc.core.taints import PREFER_NO_SCHEDULE, is_tolerated, keeps_away

REASON = "node(s) had untolerated taint(s)"

_Tolerations = tuple[Toleration, ...]
Taints = tuple[Taint, ...]

_FEW: Final = 32


class TaintToleration(
    PreFilterPlugin, FilterPlugin, PreScorePlugin, NormalizedScorePlugin, EnqueueExtensions
):
    """Filters by NoSchedule and NoExecute taints, scores by PreferNoSchedule ones.

    Each distinct set of taints is judged once; the Nodes look it up by code.
    Upstream has no PreFilter here; ours hands the tolerations to the Filter.
    """

    name = "TaintToleration"
    filter_scope = Scope.SPEC
    score_scope = Scope.SPEC

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Give the Pod's tolerations as state."""
        del cluster
        return PreFilterResult(state=pod.shape.tolerations)

    def filter(self, state: _Tolerations, nodes: NodeView) -> BoolArray | None:
        """Pass Nodes without an untolerated NoSchedule or NoExecute taint."""
        judged = _judge(nodes, lambda taints: keeps_away(taints, state))
        return None if judged is None else judged == 0

    def rejections(self, state: _Tolerations, nodes: NodeView) -> Sequence[Rejection]:
        """One reason for all; which taint it was is not said, as upstream."""
        del state
        status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON,))
        return [Rejection.of_all(status, nodes)]

    def pre_score(self, pod: PodInfo, cluster: Cluster) -> tuple[Status, _Tolerations]:
        """Keep the tolerations that speak of PreferNoSchedule."""
        del cluster
        relevant = (t for t in pod.shape.tolerations if t.effect in ("", PREFER_NO_SCHEDULE))
        return SUCCESS, tuple(relevant)

    def score(self, state: _Tolerations, nodes: NodeView) -> Int64Array:
        """Count the untolerated PreferNoSchedule taints of each Node."""
        judged = _judge(nodes, lambda taints: _avoided_count(taints, state))
        return np.zeros(nodes.count, dtype=np.int64) if judged is None else judged

    def normalize(self, raw: Int64Array, lowest: int, highest: int) -> Int64Array:
        """Fewer is better."""
        del lowest
        return normalize_reversed(raw, highest)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when a Node's taints become tolerable or the Pod's tolerations change."""
        node = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        return [
            EventRegistration(node, _node_became_tolerable, is_by_shape=True),
            own_update(ActionType.UPDATE_POD_TOLERATION),
        ]


def _judge(nodes: NodeView, judge: Callable[[Taints], int]) -> Int64Array | None:
    """Give what `judge` says of each Node's taints, int64 `(K,)`; None if it says 0 of all.

    Each set of taints is judged once, and only those that occur where there are many.
    """
    columns = nodes.columns
    codes: Int32Array | None = None
    verdicts = np.zeros(len(columns.taint_sets), dtype=np.int64)
    known: Iterable[int] = range(len(verdicts))
    if len(verdicts) > _FEW:
        codes = columns.taint_codes[nodes.rows]
        known = np.flatnonzero(np.bincount(codes)).tolist()
    for code in known:
        verdicts[code] = judge(columns.taint_sets[code])
    if not verdicts.any():
        return None
    return verdicts[columns.taint_codes[nodes.rows] if codes is None else codes]


def _avoided_count(taints: Taints, tolerations: _Tolerations) -> int:
    preferred = (taint for taint in taints if taint.effect == PREFER_NO_SCHEDULE)
    return sum(not is_tolerated(taint, tolerations) for taint in preferred)


def _node_became_tolerable(pod: PodInfo, old: NodeInfo | None, new: NodeInfo) -> QueueingHint:
    tolerations = pod.shape.tolerations
    was_away = old is None or keeps_away(old.taints, tolerations)
    if was_away and not keeps_away(new.taints, tolerations):
        return QueueingHint.QUEUE
    return QueueingHint.SKIP
