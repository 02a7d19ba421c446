"""The plugin itself.

Source: pkg/scheduler/framework/plugins/interpodaffinity, v1.36.3. Differences: Pods on Nodes
are counted as they come and go, not looked at for each Pod anew; hints see more (`hints`).
"""

from collections.abc import Hashable, Sequence

from scheduler_svc.core.affinity_terms import TermMatch
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.framework.cluster_events import EventRegistration
from scheduler_svc.core.framework.interface import (
    ClusterScorePlugin,
    EnqueueExtensions,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Rejection,
    Scope,
    ScoreArray,
)
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.plugins.inter_pod_affinity.hints import Hints
from scheduler_svc.core.plugins.inter_pod_affinity.own_terms import OwnTerms, OwnTermsIndex
from scheduler_svc.core.plugins.inter_pod_affinity.states import FilterState, ScoreState
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SKIP, SUCCESS, Code, Status

REASON_AFFINITY = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"

_FAR = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON_AFFINITY,))
_NEAR = Status(Code.UNSCHEDULABLE, (REASON_ANTI_AFFINITY,))
_UNWANTED = Status(Code.UNSCHEDULABLE, (REASON_EXISTING,))


class InterPodAffinity(
    PreFilterPlugin, FilterPlugin, PreScorePlugin, ClusterScorePlugin, EnqueueExtensions
):
    """Filters and scores by which Pods are near by: by the Pod's own terms and by theirs.

    `hard_pod_affinity_weight`, 0 to 100, is how much the demand of a Pod on a Node to be near
    the new one draws it; `ignore_preferred_terms_of_existing_pods` lets preferences of Pods on
    Nodes count only for Pods that have preferences themselves.
    """

    name = "InterPodAffinity"
    filter_scope = Scope.CLUSTER

    def __init__(
        self,
        *,
        hard_pod_affinity_weight: int = 1,
        ignore_preferred_terms_of_existing_pods: bool = False,
        upstream_quirks: bool = True,
    ) -> None:
        self._hard_weight = hard_pod_affinity_weight
        self._ignores_others = ignore_preferred_terms_of_existing_pods
        self._own_terms = OwnTermsIndex(matches_no_labels=upstream_quirks)
        self._hints = Hints()

    def attach(self, cluster: Cluster) -> None:
        """Let hints know the labels of Namespaces."""
        self._hints.namespaces = cluster.objects[ObjectKind.NAMESPACE]

    def projection(self, pod: PodInfo, cluster: Cluster) -> Hashable:
        """Give the Pod's terms, whether it meets them itself, and others' terms that it meets.

        O(1); 0.3 µs for Pods without terms.
        """
        match = cluster.affinity_terms.match(pod.namespace, pod.labels)
        if pod.shape.affinity_rules is None and not match.holders:
            return None
        match.namespace, match.labels = pod.namespace, pod.labels
        own = self._own(pod, cluster)
        return own, own is not None and own.meets_itself(pod), match

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Skip Pods that demand nothing and that no Pod demands to be away from.

        Reject those with a selector that makes no sense.
        """
        rules = pod.shape.affinity_rules
        if rules is not None and rules.fault:
            text = f"parsing pod: {rules.fault}"
            return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,)))
        own, match = self._terms(pod, cluster)
        if not (own is not None and own.are_required) and not match.excludes:
            return PreFilterResult(SKIP)
        return PreFilterResult(state=FilterState(pod, own, match, cluster))

    def filter(self, state: FilterState, nodes: NodeView) -> BoolArray | None:
        """Pass Nodes that are near what is demanded, and away from it."""
        mask = state.mask()
        return None if mask is None else mask[nodes.rows]

    def is_concerned_by(self, state: FilterState, pod: PodInfo) -> bool:
        """Whether a Pod is one that is demanded near or away, or may itself demand to be away."""
        return state.concerns(pod)

    def state_size_bytes(self, state: FilterState | ScoreState) -> int:
        """Give the memory of the counts."""
        return state.size_bytes

    def rejections(self, state: FilterState, nodes: NodeView) -> Sequence[Rejection]:
        """Tell the Pod's own demands, which are looked at first, from those of others."""
        near, away = state.near()[nodes.rows], state.away()[nodes.rows]
        return [
            Rejection(_FAR, ~near),
            Rejection(_NEAR, near & ~away),
            Rejection(_UNWANTED, near & away),
        ]

    def pre_score(self, pod: PodInfo, cluster: Cluster) -> tuple[Status, ScoreState | None]:
        """Skip Pods without preferences if those of others are to be ignored."""
        own, match = self._terms(pod, cluster)
        has_preferences = own is not None and bool(own.preferred)
        if not has_preferences and (self._ignores_others or not match.holders):
            return SKIP, None
        return SUCCESS, ScoreState(own, match, self._hard_weight, cluster)

    def score_feasible(
        self, state: ScoreState, nodes: NodeView, feasible: BoolArray
    ) -> ScoreArray | None:
        """Scale what draws the Pod from the least to the most; None where nothing does."""
        return state.scores(nodes.rows, feasible)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when Pods, Nodes or Namespaces change so that a demand may be met."""
        return self._hints.registrations()

    def _terms(self, pod: PodInfo, cluster: Cluster) -> tuple[OwnTerms | None, TermMatch]:
        match = cluster.affinity_terms.match(pod.namespace, pod.labels)
        match.namespace, match.labels = pod.namespace, pod.labels
        return self._own(pod, cluster), match

    def _own(self, pod: PodInfo, cluster: Cluster) -> OwnTerms | None:
        rules = pod.shape.affinity_rules
        if rules is None:
            return None
        return self._own_terms.terms(pod, rules, cluster.objects[ObjectKind.NAMESPACE])
