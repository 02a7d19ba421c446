"""TaintToleration: taints that the Pod does not tolerate keep it away or make a Node worse.

Source: pkg/scheduler/framework/plugins/tainttoleration, v1.36.3.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from scheduler_svc.core.columns import Int64Array, NodeColumns, NodeView
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    QueueingHint,
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
from scheduler_svc.core.objects import Toleration
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SUCCESS, Code, Status
from scheduler_svc.core.taints import PREFER_NO_SCHEDULE, is_tolerated, keeps_away

REASON = "node(s) had untolerated taint(s)"

_Tolerations = tuple[Toleration, ...]


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

    def pre_filter(self, pod: PodInfo, columns: NodeColumns) -> PreFilterResult:
        """Give the Pod's tolerations as state."""
        del columns
        return PreFilterResult(state=pod.shape.tolerations)

    def filter(self, state: _Tolerations, nodes: NodeView) -> BoolArray:
        """Pass Nodes without an untolerated NoSchedule or NoExecute taint."""
        sets = nodes.columns.taint_sets
        codes = nodes.columns.taint_codes[nodes.rows]
        verdicts = np.zeros(len(sets), dtype=np.bool_)
        for code in _distinct(codes, len(sets)):
            verdicts[code] = not keeps_away(sets[code], state)
        return verdicts[codes]

    def rejections(self, state: _Tolerations, nodes: NodeView) -> Sequence[Rejection]:
        """One reason for all; which taint it was is not said, as upstream."""
        del state
        status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON,))
        return [Rejection(status, np.ones(nodes.count, dtype=np.bool_))]

    def pre_score(self, pod: PodInfo, columns: NodeColumns) -> tuple[Status, _Tolerations]:
        """Keep the tolerations that speak of PreferNoSchedule."""
        del columns
        relevant = (t for t in pod.shape.tolerations if t.effect in ("", PREFER_NO_SCHEDULE))
        return SUCCESS, tuple(relevant)

    def score(self, state: _Tolerations, nodes: NodeView) -> Int64Array:
        """Count the untolerated PreferNoSchedule taints of each Node."""
        sets = nodes.columns.taint_sets
        codes = nodes.columns.taint_codes[nodes.rows]
        counts = np.zeros(len(sets), dtype=np.int64)
        for code in _distinct(codes, len(sets)):
            preferred = (t for t in sets[code] if t.effect == PREFER_NO_SCHEDULE)
            counts[code] = sum(not is_tolerated(taint, state) for taint in preferred)
        return counts[codes]

    def normalize(self, raw: Int64Array, lowest: int, highest: int) -> Int64Array:
        """Fewer is better."""
        del lowest
        return normalize_reversed(raw, highest)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when a Node's taints become tolerable or the Pod's tolerations change."""
        node = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        pod = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_TOLERATION)
        return [
            EventRegistration(node, _node_became_tolerable),
            EventRegistration(pod, _own_tolerations_changed),
        ]


def _distinct(codes: Int32Array, code_count: int) -> Iterable[int]:
    """Give the codes that occur, once each."""
    return np.flatnonzero(np.bincount(codes, minlength=code_count)).tolist()


def _node_became_tolerable(pod: PodInfo, old: NodeInfo | None, new: NodeInfo) -> QueueingHint:
    tolerations = pod.shape.tolerations
    was_away = old is None or keeps_away(old.taints, tolerations)
    if was_away and not keeps_away(new.taints, tolerations):
        return QueueingHint.QUEUE
    return QueueingHint.SKIP


def _own_tolerations_changed(pod: PodInfo, _old: PodInfo, new: PodInfo) -> QueueingHint:
    return QueueingHint.QUEUE if new.uid == pod.uid else QueueingHint.SKIP
