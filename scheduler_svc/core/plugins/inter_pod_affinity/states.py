"""What the plugin keeps of a class of Pods: counts that follow the Pods as they come and go.

Source: pkg/scheduler/framework/plugins/interpodaffinity/{filtering,scoring}.go, v1.36.3.
"""

from collections.abc import Iterable

import numpy as np

from scheduler_svc.core.affinity_terms import TermHolders, TermKind, TermMatch
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.framework.interface import MAX_NODE_SCORE, ScoreArray
from scheduler_svc.core.labels import BoolArray, Rows, is_anywhere, is_everywhere
from scheduler_svc.core.plugins.inter_pod_affinity.domain_totals import (
    CountedTerm,
    DomainPresence,
    DomainTotals,
)
from scheduler_svc.core.plugins.inter_pod_affinity.own_terms import OwnTerm, OwnTerms
from scheduler_svc.core.pods import PodInfo


class FilterState:
    """Where a class of Pods may be: near what it demands, away from what it or others demand.

    All masks are bool `(N,)`.
    """

    __slots__ = (
        "_affinity",
        "_cluster",
        "_excluding",
        "_excluding_terms",
        "_has_demands",
        "_is_idle",
        "_match",
        "_meets_itself",
        "_own",
        "_version",
    )

    def __init__(
        self, pod: PodInfo, own: OwnTerms | None, match: TermMatch, cluster: Cluster
    ) -> None:
        self._own = own
        self._match = match
        self._cluster = cluster
        self._has_demands = own is not None and own.are_required
        self._meets_itself = own is not None and own.meets_itself(pod)
        self._affinity: list[DomainPresence] = []
        excluding: list[CountedTerm] = []
        if own is not None:
            if own.affinity is not None:
                counter = cluster.pod_counts.counter(own.affinity)
                self._affinity = [
                    DomainPresence(cluster.columns, [CountedTerm(counter, key)])
                    for key in own.affinity_keys
                ]
            excluding += _own_counts(own.anti_affinity, cluster)
        self._excluding_terms = dict.fromkeys(_of_kind(TermKind.ANTI_AFFINITY, match.holders))
        excluding += _existing_counts(self._excluding_terms, cluster)
        self._excluding = DomainPresence(cluster.columns, excluding) if excluding else None
        self._version = cluster.affinity_terms.version
        # Upstream's PreFilter skips such Pods, and then looks at no Pod that may come, either.
        self._is_idle = False
        self._note_idleness()

    @property
    def size_bytes(self) -> int:
        """The memory of its counts."""
        excluding = 0 if self._excluding is None else self._excluding.size_bytes
        return excluding + sum(presence.size_bytes for presence in self._affinity)

    def concerns(self, pod: PodInfo) -> bool:
        """Whether a Pod that comes or goes may change where the class may be."""
        rules = pod.shape.affinity_rules
        if rules is not None and rules.anti_affinity:
            return True
        if self._own is None:
            return False
        queries = [term.query for term in self._own.anti_affinity]
        if self._own.affinity is not None:
            queries.append(self._own.affinity)
        labels = dict(pod.labels)
        return any(query.matches(pod.namespace, labels, is_terminating=False) for query in queries)

    def mask(self) -> BoolArray | None:
        """Give where the class may be; None for everywhere."""
        if not self._cluster.speculated:
            self._version = self._cluster.affinity_terms.version
            self._note_idleness()
        if self._is_idle:
            return None
        mask = self.near()
        if self._excluding is not None:
            # Where True is more than the other's False: `mask & ~other`, in one operation.
            mask = mask > self._excluding.refresh()
        if self._cluster.speculated:
            guests = self._speculative_terms()
            mask = mask & _nowhere_near(_existing_counts(guests, self._cluster), self._cluster)
        return mask

    def near(self) -> BoolArray:
        """Give where there is a Pod that meets all demands, or no need of one.

        A Pod that meets its own demands needs none where there is none anywhere, but the keys.
        """
        columns = self._cluster.columns
        near = [presence.refresh() for presence in self._affinity]
        if self._own is not None and self._meets_itself and not any(map(is_anywhere, near)):
            near = [columns.label_column(key).codes >= 0 for key in self._own.affinity_keys]
        if not near:
            return np.ones(columns.capacity, dtype=np.bool_)
        mask, *others = near
        for other in others:
            mask = mask & other
        return mask

    def away(self) -> BoolArray:
        """Give where no Pod is that the class demands to be away from."""
        anti_affinity = () if self._own is None else self._own.anti_affinity
        return _nowhere_near(_own_counts(anti_affinity, self._cluster), self._cluster)

    def _speculative_terms(self) -> list[TermHolders]:
        """Give the terms that exclude the class because of Pods that are not there."""
        terms, match = self._cluster.affinity_terms, self._match
        return [
            holders
            for holders in _of_kind(TermKind.ANTI_AFFINITY, terms.changed_since(self._version))
            if holders not in self._excluding_terms
            and terms.speaks_of(holders, match.namespace, match.labels)
        ]

    def _note_idleness(self) -> None:
        self._is_idle = not self._has_demands and not (
            self._excluding is not None and bool(self._excluding.refresh().any())
        )


class ScoreState:
    """How much a class of Pods is drawn to each Node, by its own preferences and others'."""

    __slots__ = ("_totals",)

    def __init__(
        self, own: OwnTerms | None, match: TermMatch, hard_weight: int, cluster: Cluster
    ) -> None:
        terms = [] if own is None else _own_counts(own.preferred, cluster)
        terms += _existing_counts(_of_kind(TermKind.PREFERENCE, match.holders), cluster)
        if hard_weight:
            demanding = _of_kind(TermKind.AFFINITY, match.holders)
            terms += _existing_counts(demanding, cluster, hard_weight)
        self._totals = DomainTotals(cluster.columns, terms) if terms else None

    @property
    def size_bytes(self) -> int:
        """The memory of its counts."""
        return 0 if self._totals is None else self._totals.size_bytes

    def scores(self, rows: Rows, feasible: BoolArray) -> ScoreArray | None:
        """Give int16 `(K,)` 0 to 100; None where nothing draws or repels the class."""
        if self._totals is None:
            return None
        raw = self._totals.refresh()[rows]
        among = raw if is_everywhere(feasible) else raw.compress(feasible)
        lowest, highest = float(among.min()), float(among.max())
        if lowest == highest:
            is_skipped = lowest == 0 and not self._totals.is_anything_counted()
            return None if is_skipped else np.zeros(len(raw), dtype=np.int16)
        # The division comes first, as upstream's: 29 of 100 gives 28.
        shares = raw - lowest
        shares /= highest - lowest
        shares *= MAX_NODE_SCORE
        return shares.astype(np.int16)


def _of_kind(kind: TermKind, holders: Iterable[TermHolders]) -> list[TermHolders]:
    return [each for each in holders if each.term.kind is kind]


def _own_counts(terms: Iterable[OwnTerm], cluster: Cluster) -> list[CountedTerm]:
    counter = cluster.pod_counts.counter
    return [CountedTerm(counter(term.query), term.topology_key, term.weight or 1) for term in terms]


def _existing_counts(
    holders: Iterable[TermHolders], cluster: Cluster, weight: int = 1
) -> list[CountedTerm]:
    counter = cluster.affinity_terms.counter
    return [
        CountedTerm(counter(each), each.term.topology_key, each.term.weight or weight)
        for each in holders
    ]


def _nowhere_near(terms: list[CountedTerm], cluster: Cluster) -> BoolArray:
    if not terms:
        return np.ones(cluster.columns.capacity, dtype=np.bool_)
    return ~DomainPresence(cluster.columns, terms).refresh()
