"""A Pod's affinity to other Pods made ready to match, as far as its specification tells.

Which namespaces a rule speaks of depends on the Pod's own namespace and on the labels of
all others, so that is left to whoever asks.

Source: staging/src/k8s.io/kube-scheduler/framework/types.go (`AffinityTerm`), v1.36.3.
"""

from collections.abc import Iterable, Sequence

import msgspec

from scheduler_svc.core.affinity_objects import (
    PodAffinity,
    PodAffinityTerm,
    WeightedPodAffinityTerm,
)
from scheduler_svc.core.label_selectors import Selector, compile_selector
from scheduler_svc.core.label_syntax import joined_faults, selector_fault
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
    """What a Pod demands (`affinity`: to be near, `anti_affinity`: to be away) and prefers.

    Of a list in which some selector makes no sense nothing counts; `fault` says what is wrong.
    """

    affinity: tuple[AffinityRule, ...]
    anti_affinity: tuple[AffinityRule, ...]
    preferred: tuple[AffinityRule, ...]
    fault: str = ""


def affinity_rules(affinity: Affinity | None) -> AffinityRules | None:
    """Make the rules ready; None without any."""
    if affinity is None:
        return None
    near = affinity.pod_affinity or PodAffinity()
    away = affinity.pod_anti_affinity or PodAffinity()
    found: list[tuple[AffinityRule, ...]] = []
    faults = []
    for name, terms in (
        ("requiredAffinityTerms", [(term, 0) for term in near.required]),
        ("requiredAntiAffinityTerms", [(term, 0) for term in away.required]),
        ("preferredAffinityTerms", _weighted(near.preferred, 1)),
        ("preferredAntiAffinityTerms", _weighted(away.preferred, -1)),
    ):
        fault = _first_fault(term for term, _ in terms)
        if fault:
            faults.append(f"{name}: {fault}")
        found.append(() if fault else tuple(_rule(term, weight) for term, weight in terms))
    demanded, refused, *preferred = found
    if not faults and not any(found):
        return None
    return AffinityRules(
        affinity=demanded,
        anti_affinity=refused,
        preferred=tuple(rule for rules in preferred for rule in rules),
        fault=joined_faults(faults) if faults else "",
    )


def _weighted(
    terms: Sequence[WeightedPodAffinityTerm], sign: int
) -> list[tuple[PodAffinityTerm, int]]:
    return [(each.pod_affinity_term, sign * each.weight) for each in terms if each.weight]


def _first_fault(terms: Iterable[PodAffinityTerm]) -> str:
    for term in terms:
        fault = selector_fault(term.label_selector) or selector_fault(term.namespace_selector)
        if fault:
            return fault
    return ""


def _rule(term: PodAffinityTerm, weight: int) -> AffinityRule:
    return AffinityRule(
        topology_key=term.topology_key,
        selector=compile_selector(term.label_selector),
        namespaces=frozenset(term.namespaces),
        namespace_selector=compile_selector(term.namespace_selector),
        weight=weight,
    )
