"""NodeAffinity: the labels a Pod demands and prefers of its Node.

Source: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go, v1.36.3. Difference: a
faulty preference fails the attempt also where only one Node is feasible.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import Int64Array, NodeView
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
from scheduler_svc.core.framework.normalize import normalize_default
from scheduler_svc.core.label_syntax import joined_faults, term_faults
from scheduler_svc.core.labels import NODE_NAME_FIELD, BoolArray
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Affinity, PreferredSchedulingTerm
from scheduler_svc.core.objects import NodeAffinity as NodeAffinityRules
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.required_affinity import (
    RequiredAffinity,
    required_affinity,
    term_mask,
)
from scheduler_svc.core.status import SKIP, SUCCESS, Code, Status

REASON_POD = "node(s) didn't match Pod's node affinity/selector"
REASON_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
REASON_CONFLICT = "pod affinity terms conflict"


class Preferences(msgspec.Struct):
    """The preferred terms that count, and what is wrong with some, once a Node was scored."""

    terms: tuple[PreferredSchedulingTerm, ...]
    faults: tuple[str, ...]
    is_asked: bool = False


class NodeAffinity(
    PreFilterPlugin, FilterPlugin, PreScorePlugin, NormalizedScorePlugin, EnqueueExtensions
):
    """Filters by nodeSelector and required affinity, scores by preferred affinity.

    `added_affinity` is demanded of every Pod of the profile, beside its own.
    """

    name = "NodeAffinity"
    filter_scope = Scope.SPEC
    score_scope = Scope.SPEC

    def __init__(self, added_affinity: NodeAffinityRules | None = None) -> None:
        required = added_affinity.required if added_affinity else None
        self._added_terms = required.node_selector_terms if required else None
        self._added_preferred = added_affinity.preferred if added_affinity else None

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Skip without any demand; find the only Nodes that metadata.name terms allow."""
        del cluster
        required = required_affinity(pod.shape)
        if not required.is_given and self._added_terms is None:
            return PreFilterResult(SKIP)
        names = _node_names(pod.shape.affinity)
        if names is not None and not names:
            conflict = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON_CONFLICT,))
            return PreFilterResult(conflict)
        return PreFilterResult(state=required, node_names=names)

    def filter(self, state: RequiredAffinity, nodes: NodeView) -> BoolArray:
        """Pass Nodes that satisfy the profile's and the Pod's demands."""
        return self._added(nodes) & state.mask(nodes)

    def _added(self, nodes: NodeView) -> BoolArray:
        return RequiredAffinity((), self._added_terms).mask(nodes)

    def rejections(self, state: RequiredAffinity, nodes: NodeView) -> Sequence[Rejection]:
        """Tell the profile's demand, which is looked at first, from the Pod's own."""
        del state
        added = self._added(nodes)
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        return [
            Rejection(Status(code, (REASON_ENFORCED,)), ~added),
            Rejection(Status(code, (REASON_POD,)), added),
        ]

    def pre_score(self, pod: PodInfo, cluster: Cluster) -> tuple[Status, Preferences | None]:
        """Collect the preferred terms that count; Skip where there is not even an empty list."""
        del cluster
        affinity = pod.shape.affinity
        rules = affinity.node_affinity if affinity else None
        own = rules.preferred if rules else None
        if own is None and not self._added_preferred:
            return SKIP, None
        own = own or ()
        faults = tuple(
            fault
            for number, term in enumerate(own)
            if term.weight != 0
            for fault in term_faults(term.preference, f"[{number}]")
        )
        return SUCCESS, Preferences((*(self._added_preferred or ()), *own), faults)

    def score(self, state: Preferences, nodes: NodeView) -> Int64Array:
        """Add up the weights of the preferred terms that match."""
        state.is_asked |= nodes.count > 0
        total = np.zeros(nodes.count, dtype=np.int64)
        for term in state.terms:
            if term.weight != 0:
                total += term.weight * term_mask(term.preference, nodes)
        return total

    def failure(self, state: Any) -> Status | None:
        """Give what is wrong with the preferences, if there was a Node to prefer."""
        if not isinstance(state, Preferences) or not state.faults or not state.is_asked:
            return None
        text = f'running PreScore plugin "{self.name}": {joined_faults(state.faults)}'
        return Status(Code.ERROR, (text,))

    def normalize(self, raw: Int64Array, lowest: int, highest: int) -> Int64Array:
        """More is better."""
        del lowest
        return normalize_default(raw, highest)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when a Node comes to match."""
        event = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        return [EventRegistration(event, self._node_came_to_match, is_by_shape=True)]

    def _node_came_to_match(
        self, pod: PodInfo, old: NodeInfo | None, new: NodeInfo
    ) -> QueueingHint:
        demands = [required_affinity(pod.shape), RequiredAffinity((), self._added_terms)]
        matches = all(demand.matches(new.labels, new.name) for demand in demands)
        matched = old is not None and all(d.matches(old.labels, old.name) for d in demands)
        return QueueingHint.QUEUE if matches and not matched else QueueingHint.SKIP


def _node_names(affinity: Affinity | None) -> frozenset[str] | None:
    """Give the only names the terms allow; None where some term does not restrict the name.

    Names in terms of which nothing can be made count, too.
    """
    rules = affinity.node_affinity if affinity else None
    if not rules or not rules.required or not rules.required.node_selector_terms:
        return None
    allowed: set[str] = set()
    for term in rules.required.node_selector_terms:
        named = [
            frozenset(r.values)
            for r in term.match_fields
            if r.key == NODE_NAME_FIELD and r.operator == "In"
        ]
        if not named:
            return None
        allowed |= frozenset.intersection(*named)
    return frozenset(allowed)
