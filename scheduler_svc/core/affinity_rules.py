"""A Pod's affinity to other Pods made ready to match, as far as its specification tells.

Which namespaces a rule speaks of depends on the Pod's own namespace and on the labels of
all others, so that is left to whoever asks.

Source: staging/src/k8s.io/kube-scheduler/framework/types.go (`AffinityTerm`), v1.36.3.
"""

from collections.abc import Iterator

import msgspec

from scheduler_svc.core.affinity_objects import PodAffinity, PodAffinityTerm
from scheduler_svc.core.label_selectors import Selector, compile_selector
from scheduler_svc.core.objects import Affinity


class AffinityRule(msgspec.Struct, frozen=True):
    """One term: Pods that `selector` matches (None: none), near by within a `topology_key`.

    `weight` is 1 to 100 for a preference, negative where it is to be far from them, and 0
    for a demand.
    """

    topology_key: str
    selector: Selector | None
    namespaces: frozenset[str] = frozenset()
    namespace_selector: Selector | None = None
    weight: int = 0

    def named_namespaces(self, own: str) -> frozenset[str]:
        """Give the namespaces that are named; a Pod in `own` that names none means its own."""
        if self.namespaces or self.namespace_selector is not None:
            return self.namespaces
        return frozenset((own,))


class AffinityRules(msgspec.Struct, frozen=True, eq=False):
    """What a Pod demands (`affinity`: to be near, `anti_affinity`: to be away) and prefers."""

    affinity: tuple[AffinityRule, ...]
    anti_affinity: tuple[AffinityRule, ...]
    preferred: tuple[AffinityRule, ...]


def affinity_rules(affinity: Affinity | None) -> AffinityRules | None:
    """Make the rules ready; None without any."""
    if affinity is None:
        return None
    near = affinity.pod_affinity or PodAffinity()
    away = affinity.pod_anti_affinity or PodAffinity()
    rules = AffinityRules(
        affinity=tuple(_rule(term) for term in near.required),
        anti_affinity=tuple(_rule(term) for term in away.required),
        preferred=(*_preferred(near, 1), *_preferred(away, -1)),
    )
    return rules if rules.affinity or rules.anti_affinity or rules.preferred else None


def _preferred(affinity: PodAffinity, sign: int) -> Iterator[AffinityRule]:
    for weighted in affinity.preferred:
        yield _rule(weighted.pod_affinity_term, sign * weighted.weight)


def _rule(term: PodAffinityTerm, weight: int = 0) -> AffinityRule:
    return AffinityRule(
        topology_key=term.topology_key,
        selector=compile_selector(term.label_selector),
        namespaces=frozenset(term.namespaces),
        namespace_selector=compile_selector(term.namespace_selector),
        weight=weight,
    )
