"""InterPodAffinity: which Nodes a Pod may be on, and which it is drawn to, by the Pods there."""

import pytest

from scheduler_svc.core.affinity_objects import LabelRequirement, LabelSelector
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code, Status
from tests.builders import make_node_info, make_pod_info
from tests.unit.scheduler_svc.core.plugins.inter_pod_affinity.asking import (
    A1,
    A2,
    B1,
    BARE,
    FAR,
    NEAR,
    NOTHING,
    UNWANTED,
    Asked,
    new,
    node,
    running,
)
from tests.unit.scheduler_svc.core.plugins.inter_pod_affinity.terms import (
    NOT_TEAM_A,
    TEAM_A,
    demands,
    namespace,
    prefers,
    term,
)


def test_pods_that_want_nothing_are_left_alone() -> None:
    asked = Asked(running("web", "a1", near=demands(term("db"))))
    assert asked(new()) == NOTHING
    assert asked.plugin.projection(new(), asked.cluster) is None
    prepared = prepare(asked.profile, new(), asked.cluster)
    assert (prepared.filters, prepared.scores) == ([], [])


def test_demands_to_be_near_hold_within_the_domain() -> None:
    asked = Asked(running("web", "a1"), running("web", "bare"))
    assert asked(new(near=demands(term("web")))) == {"a1": None, "a2": None, "b1": FAR, "bare": FAR}
    on_host = demands(term("web", "host"))
    assert asked(new(near=on_host)) == {"a1": None, "a2": FAR, "b1": FAR, "bare": FAR}


def test_one_pod_has_to_meet_all_demands_at_once() -> None:
    both = demands(term("web"), term(LabelSelector({"tier": "1"}), "rack"))
    r1, r2 = node("r1", "a", rack="1"), node("r2", "b", rack="1")
    first = make_pod_info("p", labels={"app": "web"}, node="r1")
    second = make_pod_info("q", labels={"tier": "1"}, node="r1")
    assert Asked(first, second, nodes=(r1, r2))(new(near=both)) == {"r1": FAR, "r2": FAR}
    whole = make_pod_info("s", labels={"app": "web", "tier": "1"}, node="r1")
    assert Asked(first, second, whole, nodes=(r1, r2))(new(near=both)) == {"r1": None, "r2": FAR}


def test_the_first_of_pods_that_want_each_other_needs_only_the_keys() -> None:
    pod = new("web", near=demands(term("web")))
    assert Asked()(pod) == {"a1": None, "a2": None, "b1": None, "bare": FAR}
    assert Asked(running("web", "bare"))(pod) == {"a1": None, "a2": None, "b1": None, "bare": FAR}
    assert Asked(running("web", "b1"))(pod) == {"a1": FAR, "a2": FAR, "b1": None, "bare": FAR}
    assert Asked()(new("db", near=demands(term("web")))) == dict.fromkeys(NOTHING, FAR)


def test_a_pod_without_one_of_the_keys_is_there_all_the_same() -> None:
    both = demands(term("web"), term("web", "rack"))
    asked = Asked(running("web", "a1"), nodes=(A1, B1, node("r", "b", rack="1")))
    assert asked(new("web", near=both)) == {"a1": FAR, "b1": FAR, "r": FAR}


def test_demands_to_be_away_hold_within_the_domain() -> None:
    asked = Asked(running("web", "a1"), running("web", "bare"), running("db", "b1"))
    expected = {"a1": NEAR, "a2": NEAR, "b1": None, "bare": None}
    assert asked(new(away=demands(term("web")))) == expected
    on_host = demands(term("web", "host"), term("db", "host"))
    assert asked(new(away=on_host)) == {"a1": NEAR, "a2": None, "b1": NEAR, "bare": None}


def test_demands_of_pods_on_nodes_hold_too() -> None:
    asked = Asked(running("lonely", "a1", away=demands(term("web"))))
    assert asked(new("web")) == {"a1": UNWANTED, "a2": UNWANTED, "b1": None, "bare": None}
    assert asked(new("db")) == NOTHING


def test_the_first_reason_is_told() -> None:
    asked = Asked(
        running("web", "a1", away=demands(term("new", "host"))),
        running("db", "b1"),
        running("cache", "a2"),
        nodes=(A1, A2, B1, node("b2", "b", rack="1"), BARE),
    )
    near = demands(term("db"))
    away = demands(term("db", "host"))
    assert asked(new(near=near, away=away)) == {
        "a1": FAR,
        "a2": FAR,
        "b1": NEAR,
        "b2": None,
        "bare": FAR,
    }
    assert asked(new(away=demands(term("web", "host"))))["a1"] == NEAR
    assert asked(new(away=demands(term("db", "host"))))["a1"] == UNWANTED


def test_preferences_add_up_by_domain_and_are_scaled() -> None:
    asked = Asked(running("web", "a1"), running("web", "a2"), running("db", "b1"))
    near = prefers((10, term("web")), (5, term("web", "host")), (7, term("db", "host")))
    # a1 and a2: 2 * 10 + 5; b1: 7; bare: 0.
    assert asked(new(near=near)) == {"a1": 100, "a2": 100, "b1": 28, "bare": 0}
    away = prefers((10, term("web")), (4, term("db", "host")))
    # a1 and a2: -20; b1: -4; bare: 0.
    assert asked(new(away=away)) == {"a1": 0, "a2": 0, "b1": 80, "bare": 100}


def test_the_division_comes_before_the_multiplication() -> None:
    """29/100 is a little less than 0.29 as a float: 28, as upstream has it."""
    asked = Asked(running("web", "a1"), running("db", "b1"), nodes=(A1, B1, BARE))
    near = prefers((100, term("web")), (29, term("db")))
    assert asked(new(near=near)) == {"a1": 100, "b1": 28, "bare": 0}


def test_only_feasible_nodes_are_compared() -> None:
    asked = Asked(running("web", "a1"), running("web", "a1", "more"), running("web", "b1"))
    near = prefers((10, term("web", "host")))
    away = demands(term("web", "rack"))
    assert asked(new(near=near, away=away)) == {"a1": 100, "a2": 0, "b1": 50, "bare": 0}
    lonely = running("lonely", "a1", away=demands(term("new", "host")))
    asked.cache.upsert(lonely)
    expected = {"a1": UNWANTED, "a2": 0, "b1": 100, "bare": 0}
    assert asked(new(near=near, away=away)) == expected


def test_pods_on_nodes_draw_and_repel_the_new_one() -> None:
    wants_web = prefers((20, term("web")))
    asked = Asked(
        running("x", "a1", near=wants_web),
        running("y", "b1", away=prefers((5, term("web")))),
        running("z", "a2", near=demands(term("web", "host"))),
    )
    # a1: 20; a2: 20 + 1; b1: -5; bare: 0.
    assert asked(new("web")) == {"a1": 96, "a2": 100, "b1": 0, "bare": 19}
    assert asked(new("db")) == NOTHING


@pytest.mark.parametrize(("weight", "expected"), [(0, None), (1, 100), (40, 100)])
def test_demands_of_pods_on_nodes_draw_by_a_weight_of_the_profile(
    weight: int, expected: int | None
) -> None:
    plugin = InterPodAffinity(hard_pod_affinity_weight=weight)
    asked = Asked(running("z", "b1", near=demands(term("web"))), plugin=plugin)
    answer = asked(new("web"))
    assert answer["b1"] == expected
    assert answer["a1"] == (None if expected is None else 0)


def test_preferences_of_others_may_be_ignored() -> None:
    plugin = InterPodAffinity(ignore_preferred_terms_of_existing_pods=True)
    asked = Asked(
        running("x", "a1", near=prefers((20, term("web")))),
        running("z", "a2", near=demands(term("web", "host"))),
        plugin=plugin,
    )
    assert asked(new("web")) == NOTHING
    assert asked(new("web", near=demands(term("x")))) == {
        "a1": None,
        "a2": None,
        "b1": FAR,
        "bare": FAR,
    }
    # A Pod with preferences of its own hears those of others, too.
    assert asked(new("web", near=prefers((20, term("z", "host"))))) == {
        "a1": 48,
        "a2": 100,
        "b1": 0,
        "bare": 0,
    }


def test_nothing_counted_is_skipped_but_nothing_left_over_is_not() -> None:
    pod = new(near=prefers((5, term("web"))), away=prefers((5, term("web"))))
    assert Asked()(pod) == NOTHING
    assert Asked(running("web", "bare"))(pod) == NOTHING
    assert Asked(running("web", "a1"))(pod) == dict.fromkeys(NOTHING, 0)


def test_all_alike_score_nothing() -> None:
    asked = Asked(running("web", "a1"), nodes=(A1, A2))
    assert asked(new(near=prefers((5, term("web"))))) == {"a1": 0, "a2": 0}


def test_pods_on_nodes_that_are_gone_do_not_count() -> None:
    asked = Asked(running("web", "a1"), running("web", "b1", away=demands(term("web", "host"))))
    pod = new("web", near=demands(term("web")))
    assert asked(pod) == {"a1": None, "a2": None, "b1": UNWANTED, "bare": FAR}
    asked.cache.remove_node("a1")
    assert asked(pod) == {"a2": FAR, "b1": UNWANTED, "bare": FAR}
    asked.cache.remove_node("b1")
    assert asked(pod) == {"a2": None, "bare": FAR}


def test_answers_follow_pods_and_nodes() -> None:
    asked = Asked()
    lonely = new("web", away=demands(term("web", "host")))
    assert asked(lonely) == NOTHING
    placed = running("web", "a1", away=demands(term("web", "host")))
    asked.cache.upsert(placed)
    assert asked(lonely)["a1"] == NEAR
    assert asked(new("web"))["a1"] == UNWANTED
    asked.cache.set_node(node("a1", "a", host="a2"))
    assert asked(lonely) == {"a1": NEAR, "a2": NEAR, "b1": None, "bare": None}
    asked.cache.remove(placed.uid)
    assert asked(lonely) == NOTHING
    assert asked(new("web")) == NOTHING


def test_pods_of_a_stateful_set_share_a_class() -> None:
    asked = Asked(running("web", "a1", away=demands(term("web", "host"))))

    def replica(number: int) -> PodInfo:
        labels = {"app": "web", "index": str(number)}
        return make_pod_info(f"r{number}", labels=labels, away=demands(term("web", "host")))

    assert [asked(replica(number))["a1"] for number in range(3)] == [NEAR] * 3
    assert asked.classes.statistics().class_count == 1


def test_namespaces_are_selected_by_their_labels_now() -> None:
    asked = Asked(
        make_pod_info("p", namespace="one", labels={"app": "web"}, node="a1"),
        spaces={"one": {"team": "a"}, "default": {}},
    )
    pod = new(near=demands(term("web", of=TEAM_A)))
    assert asked(pod)["a1"] is None
    asked.cluster.objects[ObjectKind.NAMESPACE].upsert(namespace("one", team="b"))
    assert asked(pod)["a1"] == FAR


def test_upstreams_fault_with_namespaces_may_be_left_out() -> None:
    other = make_pod_info("p", namespace="one", labels={"app": "web"}, node="a1")
    pod = new(away=demands(term("web", of=NOT_TEAM_A)))
    spaces = {"one": {"team": "a"}, "default": {}}
    assert Asked(other, spaces=spaces)(pod)["a1"] == NEAR
    better = InterPodAffinity(upstream_quirks=False)
    assert Asked(other, spaces=spaces, plugin=better)(pod)["a1"] is None


def test_a_node_that_is_seen_after_its_pods() -> None:
    asked = Asked(running("web", "late"))
    pod = new(near=demands(term("web")))
    assert asked(pod)["a1"] == FAR
    asked.cache.set_node(make_node_info("late", labels={"zone": "a"}))
    assert asked(pod)["a1"] is None


NO_OPERATOR = LabelSelector(match_expressions=(LabelRequirement("app", "Is"),))


def test_a_pod_with_a_selector_that_makes_no_sense_fits_nowhere() -> None:
    asked = Asked(running("web", "a1"))
    prepared = prepare(asked.profile, new(near=prefers((1, term(NO_OPERATOR)))), asked.cluster)
    text = 'parsing pod: preferredAffinityTerms: "Is" is not a valid label selector operator'
    expected = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,), "InterPodAffinity")
    assert prepared.rejection == expected


def test_of_a_pod_on_a_node_what_makes_no_sense_does_not_count() -> None:
    refusing = running("lonely", "a1", away=demands(term("web"), term(NO_OPERATOR)))
    assert Asked(refusing)(new("web")) == NOTHING
