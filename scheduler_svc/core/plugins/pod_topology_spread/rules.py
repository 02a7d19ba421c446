"""What a Pod's spread constraints come down to: its own, or the profile's for Pods without any.

Source: pkg/scheduler/framework/plugins/podtopologyspread/{common,plugin}.go, v1.36.3.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from scheduler_svc.core.affinity_objects import TopologySpreadConstraint
from scheduler_svc.core.default_selectors import DefaultSelectors
from scheduler_svc.core.label_selectors import Selector, compile_selector
from scheduler_svc.core.label_syntax import selector_fault
from scheduler_svc.core.objects import OwnerReference
from scheduler_svc.core.pod_counts import PodQuery, PodTerm
from scheduler_svc.core.pods import Labels, PodInfo, PodShape

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"

# The profile's constraints where `defaultingType` is System.
SYSTEM_CONSTRAINTS: Final = (
    TopologySpreadConstraint(3, HOSTNAME, SCHEDULE_ANYWAY),
    TopologySpreadConstraint(5, ZONE, SCHEDULE_ANYWAY),
)
_MAX_KNOWN: Final = 8192


class SpreadConstraint(msgspec.Struct, frozen=True):
    """A constraint ready to be counted; a `selector` of None matches no Pod."""

    max_skew: int
    topology_key: str
    selector: Selector | None
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False

    def matches(self, labels: dict[str, str]) -> bool:
        """Whether the selector matches; one without requirements does."""
        return self.selector is not None and self.selector.matches(labels)

    def counts(self, pod: PodInfo) -> bool:
        """Whether a Pod of the namespace is counted; by an empty selector none is."""
        selector = self.selector
        if selector is None or not selector.requirements or pod.is_terminating:
            return False
        return selector.matches(dict(pod.labels))

    def query(self, namespace: str) -> PodQuery:
        """Give what asks for the Pods that are counted."""
        if self.selector is None or not self.selector.requirements:
            return PodQuery((PodTerm(frozenset(), Selector()),))
        term = PodTerm(frozenset({namespace}), self.selector)
        return PodQuery((term,), counts_terminating=False)


class SpreadRules(msgspec.Struct, frozen=True, eq=False):
    """All that is to be spread: one object for all Pods alike in it, of one namespace.

    `matches_itself` says of each hard constraint whether the Pod is one of those it counts.
    `needs_all_keys`: a Node without one of the soft constraints' labels is worth nothing.
    """

    namespace: str
    hard: tuple[SpreadConstraint, ...]
    soft: tuple[SpreadConstraint, ...]
    matches_itself: tuple[bool, ...]
    needs_all_keys: bool

    @property
    def hard_part(self) -> tuple[object, ...]:
        """What a Filter makes of it: equal for Pods that are filtered alike."""
        return self.namespace, self.hard, self.matches_itself


_OwnKey = tuple[PodShape, str, Labels]
_DefaultKey = tuple[str, Labels, OwnerReference | None]


class RulesOfPods:
    """Finds the rules of a Pod. Cost: one or two look-ups for a kind of Pod that is known.

    `defaults` are the profile's constraints for Pods without any; their own selectors and
    `matchLabelKeys` play no part. `is_system_defaulted`: they are Kubernetes' own.
    """

    def __init__(
        self, defaults: tuple[TopologySpreadConstraint, ...], *, is_system_defaulted: bool
    ) -> None:
        self._default_hard = _compiled(defaults, DO_NOT_SCHEDULE)
        self._default_soft = _compiled(defaults, SCHEDULE_ANYWAY)
        self._needs_all_keys = not is_system_defaulted
        self._own: dict[_OwnKey, SpreadRules] = {}
        self._defaulted: dict[_DefaultKey, tuple[Selector, SpreadRules]] = {}
        self._interned: dict[tuple[object, ...], SpreadRules] = {}

    @property
    def has_hard_defaults(self) -> bool:
        """Whether Pods without constraints may be kept from Nodes."""
        return bool(self._default_hard)

    def of(self, pod: PodInfo, selectors: DefaultSelectors) -> SpreadRules | None:
        """Give the rules of a Pod; None where nothing is to be spread."""
        constraints = pod.shape.topology_spread_constraints
        if constraints:
            key = (pod.shape, pod.namespace, pod.labels)
            rules = self._own.get(key)
            if rules is None:
                rules = self._own_rules(pod, constraints)
                self._own[key] = rules
            return rules
        if not self._default_hard and not self._default_soft:
            return None
        selector = selectors.of(pod)
        return None if selector is None else self._default_rules(pod, selector)

    def _own_rules(
        self, pod: PodInfo, constraints: tuple[TopologySpreadConstraint, ...]
    ) -> SpreadRules:
        labels = dict(pod.labels)
        hard = _compiled(constraints, DO_NOT_SCHEDULE, labels)
        soft = _compiled(constraints, SCHEDULE_ANYWAY, labels)
        return self._intern(pod, hard, soft, needs_all_keys=True)

    def _default_rules(self, pod: PodInfo, selector: Selector) -> SpreadRules:
        key = (pod.namespace, pod.labels, pod.owner)
        known = self._defaulted.get(key)
        # The selector of a kind of Pod may have changed.
        if known is not None and known[0] is selector:
            return known[1]
        replace = msgspec.structs.replace
        hard = tuple(replace(c, selector=selector) for c in self._default_hard)
        soft = tuple(replace(c, selector=selector) for c in self._default_soft)
        rules = self._intern(pod, hard, soft, needs_all_keys=self._needs_all_keys)
        self._defaulted[key] = (selector, rules)
        return rules

    def _intern(
        self,
        pod: PodInfo,
        hard: tuple[SpreadConstraint, ...],
        soft: tuple[SpreadConstraint, ...],
        *,
        needs_all_keys: bool,
    ) -> SpreadRules:
        if len(self._own) + len(self._defaulted) >= _MAX_KNOWN:
            self._own.clear()
            self._defaulted.clear()
            self._interned.clear()
        labels = dict(pod.labels)
        matches_itself = tuple(c.matches(labels) for c in hard)
        parts = (pod.namespace, hard, soft, matches_itself, needs_all_keys)
        rules = self._interned.get(parts)
        if rules is None:
            rules = self._interned[parts] = SpreadRules(*parts)
        return rules


def fault_of(constraints: Iterable[TopologySpreadConstraint], action: str) -> str:
    """Give what is wrong with the first selector of one action that makes no sense, else ""."""
    for constraint in constraints:
        if constraint.when_unsatisfiable == action:
            fault = selector_fault(constraint.label_selector)
            if fault:
                return fault
    return ""


def _compiled(
    constraints: Iterable[TopologySpreadConstraint],
    action: str,
    labels: dict[str, str] | None = None,
) -> tuple[SpreadConstraint, ...]:
    """Make the constraints of one action ready for Pods with these labels."""
    return tuple(
        SpreadConstraint(
            max_skew=constraint.max_skew,
            topology_key=constraint.topology_key,
            selector=_selector(constraint, labels or {}),
            min_domains=1 if constraint.min_domains is None else constraint.min_domains,
            honors_affinity=constraint.node_affinity_policy in (None, "Honor"),
            honors_taints=constraint.node_taints_policy == "Honor",
        )
        for constraint in constraints
        if constraint.when_unsatisfiable == action
    )


def _selector(constraint: TopologySpreadConstraint, labels: dict[str, str]) -> Selector | None:
    selector = compile_selector(constraint.label_selector)
    added = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    return selector.also(added) if selector is not None and added else selector
