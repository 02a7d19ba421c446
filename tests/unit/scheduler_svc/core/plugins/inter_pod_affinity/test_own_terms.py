"""The terms of the Pod to be placed: of which namespaces they speak."""

import pytest

from scheduler_svc.core.affinity_objects import LabelRequirement, LabelSelector
from scheduler_svc.core.cluster_objects import ObjectStore
from scheduler_svc.core.plugins.inter_pod_affinity.own_terms import OwnTerm, OwnTerms, OwnTermsIndex
from scheduler_svc.core.pods import PodInfo
from tests.builders import make_pod_info
from tests.unit.scheduler_svc.core.plugins.inter_pod_affinity.terms import (
    EVERY_NAMESPACE,
    NOT_TEAM_A,
    TEAM_A,
    demands,
    namespace,
    namespaces,
    prefers,
    term,
)

UPSTREAM = OwnTermsIndex(matches_no_labels=True)
STORE = namespaces(default={}, team_a={"team": "a"}, team_b={"team": "b"})


def named(own: OwnTerm) -> set[str] | None:
    """Give the namespaces of a term; None for all."""
    [pods] = own.query.terms
    return None if pods.namespaces is None else set(pods.namespaces)


def terms_of(pod: PodInfo, store: ObjectStore = STORE, index: OwnTermsIndex = UPSTREAM) -> OwnTerms:
    rules = pod.shape.affinity_rules
    assert rules is not None
    return index.terms(pod, rules, store)


@pytest.mark.parametrize(
    ("spaces", "selector", "expected"),
    [
        ([], None, {"mine"}),
        (["team-a"], None, {"team-a"}),
        ([], TEAM_A, {"team-a"}),
        (["mine"], TEAM_A, {"mine", "team-a"}),
        ([], LabelSelector({"team": "c"}), set()),
        ([], EVERY_NAMESPACE, None),
        (["mine"], EVERY_NAMESPACE, None),
        # Upstream asks the selector about a namespace without labels, too.
        ([], NOT_TEAM_A, None),
    ],
)
def test_namespaces(
    spaces: list[str], selector: LabelSelector | None, expected: set[str] | None
) -> None:
    away = demands(term("web", namespaces=spaces, of=selector))
    [own] = terms_of(make_pod_info(namespace="mine", away=away)).anti_affinity
    assert named(own) == expected


def test_without_upstreams_fault_only_matching_namespaces_are_meant() -> None:
    index = OwnTermsIndex(matches_no_labels=False)
    away = demands(term("web", of=NOT_TEAM_A), term("web", of=EVERY_NAMESPACE))
    some, every = terms_of(make_pod_info(away=away), index=index).anti_affinity
    assert named(some) == {"default", "team-b"}
    assert named(every) is None


def test_terms_without_a_selector_mean_no_pods() -> None:
    own = terms_of(make_pod_info(near=demands(term(None))))
    assert own.affinity is not None
    assert not own.affinity.matches("default", {}, is_terminating=False)
    assert not own.meets_itself(make_pod_info(near=demands(term(None))))


def test_keys_weights_and_whether_anything_is_demanded() -> None:
    near = demands(term("web"), term("db", "host"), term("cache"))
    own = terms_of(make_pod_info(near=near, away=prefers((3, term("web", "rack")))))
    assert own.affinity_keys == ("zone", "host")
    assert [(t.topology_key, t.weight) for t in own.preferred] == [("rack", -3)]
    assert own.are_required
    assert terms_of(make_pod_info(away=demands(term("web")))).are_required
    assert not terms_of(make_pod_info(away=prefers((3, term("web"))))).are_required


def test_a_pod_may_meet_all_its_demands_itself() -> None:
    both = demands(term("web"), term(LabelSelector({"tier": "1"})))

    def meets(**labels: str) -> bool:
        pod = make_pod_info(near=both, labels=labels)
        return terms_of(pod).meets_itself(pod)

    assert meets(app="web", tier="1")
    assert not meets(app="web")
    lonely = make_pod_info(away=demands(term("web")), labels={"app": "web"})
    assert not terms_of(lonely).meets_itself(lonely)


def test_terms_are_the_same_while_what_they_mean_is() -> None:
    store = namespaces(team_a={"team": "a"})
    pod = make_pod_info(away=demands(term("web", of=TEAM_A)))
    first = terms_of(pod, store)
    assert terms_of(pod, store) is first
    store.upsert(namespace("team-b", team="b"))
    assert terms_of(pod, store) is first
    store.upsert(namespace("team-c", team="a"))
    second = terms_of(pod, store)
    assert second is not first
    assert named(second.anti_affinity[0]) == {"team-a", "team-c"}
    assert named(terms_of(pod, STORE).anti_affinity[0]) == {"team-a"}


def test_terms_that_select_no_namespaces_depend_on_none() -> None:
    store = namespaces(team_a={"team": "a"})
    pod = make_pod_info(away=demands(term("web")))
    first = terms_of(pod, store)
    store.upsert(namespace("team-c", team="a"))
    assert terms_of(pod, store) is first
    elsewhere = make_pod_info(namespace="team-a", away=demands(term("web")))
    assert elsewhere.shape is pod.shape
    assert named(terms_of(elsewhere, store).anti_affinity[0]) == {"team-a"}


def test_namespaces_without_labels_have_none() -> None:
    absent = LabelSelector(match_expressions=(LabelRequirement("team", "DoesNotExist"),))
    index = OwnTermsIndex(matches_no_labels=False)
    pod = make_pod_info(away=demands(term("web", of=absent)))
    assert named(terms_of(pod, index=index).anti_affinity[0]) == {"default"}
