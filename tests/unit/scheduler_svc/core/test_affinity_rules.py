"""What a Pod wants of other Pods, made ready."""

from scheduler_svc.core.affinity_objects import (
    LabelRequirement,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
)
from scheduler_svc.core.affinity_rules import AffinityRule, affinity_rules
from scheduler_svc.core.label_selectors import EVERYTHING, compile_selector
from scheduler_svc.core.objects import Affinity, NodeAffinity
from tests.unit.scheduler_svc.core.plugins.inter_pod_affinity.terms import (
    EVERY_NAMESPACE,
    TEAM_A,
    app,
    demands,
    prefers,
    term,
)

WEB = compile_selector(app("web"))


def test_without_wishes_there_are_no_rules() -> None:
    assert affinity_rules(None) is None
    assert affinity_rules(Affinity(NodeAffinity())) is None
    assert affinity_rules(Affinity(pod_affinity=PodAffinity())) is None


def test_demands_have_no_weight_and_wishes_to_be_away_a_negative_one() -> None:
    near = PodAffinity((term("web"),), prefers((30, term("web", "host"))).preferred)
    away = PodAffinity((term("web", "rack"),), prefers((7, term("web"))).preferred)
    rules = affinity_rules(Affinity(pod_affinity=near, pod_anti_affinity=away))
    assert rules is not None
    assert rules.affinity == (AffinityRule("zone", WEB),)
    assert rules.anti_affinity == (AffinityRule("rack", WEB),)
    assert rules.preferred == (
        AffinityRule("host", WEB, weight=30),
        AffinityRule("zone", WEB, weight=-7),
    )


def test_no_selector_is_not_an_empty_one() -> None:
    terms = demands(term(None), term(LabelSelector()))
    rules = affinity_rules(Affinity(pod_anti_affinity=terms))
    assert rules is not None
    assert [rule.selector for rule in rules.anti_affinity] == [None, EVERYTHING]


def test_a_term_that_names_no_namespace_means_the_pods_own() -> None:
    def named(one: PodAffinityTerm) -> frozenset[str]:
        rules = affinity_rules(Affinity(pod_affinity=demands(one)))
        assert rules is not None
        return rules.affinity[0].named_namespaces("mine")

    assert named(term("web")) == {"mine"}
    assert named(term("web", namespaces=["a", "b"])) == {"a", "b"}
    assert named(term("web", of=TEAM_A)) == frozenset()
    assert named(term("web", of=EVERY_NAMESPACE)) == frozenset()
    assert named(term("web", namespaces=["a"], of=TEAM_A)) == {"a"}


NO_OPERATOR = LabelSelector(match_expressions=(LabelRequirement("app", "Is"),))
NO_VALUES = LabelSelector(match_expressions=(LabelRequirement("app", "In"),))


def test_of_a_list_with_a_selector_that_makes_no_sense_nothing_counts() -> None:
    """As `PodInfo.Update` has it: the lists are read one by one, all are told of."""
    near = PodAffinity((term("web"), term(NO_OPERATOR)), prefers((1, term("web"))).preferred)
    away = PodAffinity((term("web"),), prefers((1, term("web", of=NO_VALUES))).preferred)
    rules = affinity_rules(Affinity(pod_affinity=near, pod_anti_affinity=away))
    assert rules is not None
    assert (rules.affinity, rules.anti_affinity) == ((), (AffinityRule("zone", WEB),))
    assert rules.preferred == (AffinityRule("zone", WEB, weight=1),)
    assert rules.fault == (
        '[requiredAffinityTerms: "Is" is not a valid label selector operator, '
        "preferredAntiAffinityTerms: values: Invalid value: null: for 'in', 'notin' operators, "
        "values set can't be empty]"
    )


def test_what_is_all_wrong_is_told_all_the_same() -> None:
    rules = affinity_rules(Affinity(pod_affinity=demands(term(NO_OPERATOR))))
    assert rules is not None
    assert rules.fault == 'requiredAffinityTerms: "Is" is not a valid label selector operator'


def test_a_preference_of_no_weight_is_none() -> None:
    assert affinity_rules(Affinity(pod_affinity=prefers((0, term("web"))))) is None
