"""The terms of the Pod that is to be placed, with the namespaces they speak of.

Source: pkg/scheduler/framework/plugins/interpodaffinity/plugin.go
(`mergeAffinityTermNamespacesIfNotEmpty`), v1.36.3.
"""

import weakref
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from scheduler_svc.core.affinity_rules import AffinityRule, AffinityRules
from scheduler_svc.core.cluster_objects import ObjectStore
from scheduler_svc.core.label_selectors import EVERYTHING, Selector
from scheduler_svc.core.pod_counts import PodQuery, PodTerm
from scheduler_svc.core.pods import PodInfo, PodShape

_NO_PODS = PodTerm(frozenset(), EVERYTHING)


class OwnTerm(msgspec.Struct, frozen=True):
    """Which Pods a term speaks of, within what, and its weight as in `AffinityRule`."""

    query: PodQuery
    topology_key: str
    weight: int = 0


class OwnTerms(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """The terms of Pods of one shape and namespace; the same object while nothing changes.

    A Pod has to be near one Pod that meets all of `affinity` at once (None: no demand), within
    the domain of each of `affinity_keys`.
    """

    affinity: PodQuery | None
    affinity_keys: tuple[str, ...]
    anti_affinity: tuple[OwnTerm, ...]
    preferred: tuple[OwnTerm, ...]

    @property
    def are_required(self) -> bool:
        """Whether anything is demanded, and not only preferred."""
        return self.affinity is not None or bool(self.anti_affinity)

    def meets_itself(self, pod: PodInfo) -> bool:
        """Whether a Pod is one of those that it demands to be near."""
        return self.affinity is not None and self.affinity.matches(
            pod.namespace, dict(pod.labels), is_terminating=pod.is_terminating
        )


class _Resolved(NamedTuple):
    """Terms and the Namespaces that they were made from; `version` None: of any."""

    namespaces: ObjectStore
    version: int | None
    terms: OwnTerms


class OwnTermsIndex:
    """The terms of each shape and namespace, made anew where Namespaces have changed.

    `matches_no_labels`: a selector of namespaces that a namespace without labels meets counts
    as one of all namespaces, as it does upstream. Cost: two look-ups for known ones.
    """

    def __init__(self, *, matches_no_labels: bool) -> None:
        self._matches_no_labels = matches_no_labels
        self._resolved: weakref.WeakKeyDictionary[PodShape, dict[str, _Resolved]] = (
            weakref.WeakKeyDictionary()
        )

    def terms(self, pod: PodInfo, rules: AffinityRules, namespaces: ObjectStore) -> OwnTerms:
        """Give the terms of a Pod with `rules`."""
        of_shape = self._resolved.get(pod.shape)
        if of_shape is None:
            of_shape = self._resolved[pod.shape] = {}
        known = of_shape.get(pod.namespace)
        if known is not None and known.namespaces is namespaces:
            if known.version in {None, namespaces.version}:
                return known.terms
            terms = self._resolve(rules, pod.namespace, namespaces)
            if msgspec.structs.astuple(terms) == msgspec.structs.astuple(known.terms):
                terms = known.terms
        else:
            terms = self._resolve(rules, pod.namespace, namespaces)
        version = namespaces.version if _selects_namespaces(rules) else None
        of_shape[pod.namespace] = _Resolved(namespaces, version, terms)
        return terms

    def _resolve(self, rules: AffinityRules, own: str, namespaces: ObjectStore) -> OwnTerms:
        def query(*of: AffinityRule) -> PodQuery:
            return PodQuery(tuple(self._pods(rule, own, namespaces) for rule in of))

        return OwnTerms(
            affinity=query(*rules.affinity) if rules.affinity else None,
            affinity_keys=tuple(dict.fromkeys(rule.topology_key for rule in rules.affinity)),
            anti_affinity=tuple(
                OwnTerm(query(rule), rule.topology_key) for rule in rules.anti_affinity
            ),
            preferred=tuple(
                OwnTerm(query(rule), rule.topology_key, rule.weight) for rule in rules.preferred
            ),
        )

    def _pods(self, rule: AffinityRule, own: str, namespaces: ObjectStore) -> PodTerm:
        if rule.selector is None:
            return _NO_PODS
        named, selecting = rule.named_namespaces(own), rule.namespace_selector
        if selecting is not None:
            if selecting == EVERYTHING or (self._matches_no_labels and selecting.matches({})):
                return PodTerm(None, rule.selector)
            named = named.union(_selected(selecting, namespaces))
        return PodTerm(named, rule.selector)


def _selected(selector: Selector, namespaces: ObjectStore) -> Iterator[str]:
    for namespace in namespaces.by_key.values():
        if selector.matches(namespace.metadata.labels or {}):
            yield namespace.metadata.name


def _selects_namespaces(rules: AffinityRules) -> bool:
    every = (*rules.affinity, *rules.anti_affinity, *rules.preferred)
    return any(rule.namespace_selector is not None for rule in every)
