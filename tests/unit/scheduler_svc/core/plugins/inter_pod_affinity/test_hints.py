"""Which events call a Pod that InterPodAffinity has rejected."""

from typing import Any

import pytest

from scheduler_svc.core.affinity_objects import LabelRequirement, LabelSelector, PodAffinity
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventResource,
    QueueingHint,
)
from scheduler_svc.core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_svc.core.plugins.inter_pod_affinity.hints import (
    Hints,
    after_namespace_change,
    after_node_change,
)
from scheduler_svc.core.pods import PodInfo
from tests.builders import make_pod_info
from tests.unit.scheduler_svc.core.plugins.asking import EVENTS, is_queued, registered
from tests.unit.scheduler_svc.core.plugins.inter_pod_affinity.asking import A1, B1, BARE, node
from tests.unit.scheduler_svc.core.plugins.inter_pod_affinity.terms import (
    EVERY_NAMESPACE,
    NOT_TEAM_A,
    TEAM_A,
    app,
    demands,
    namespace,
    prefers,
    term,
)

NO_WISH = PodAffinity()
TIER = LabelSelector(match_expressions=(LabelRequirement("tier", "Exists"),))


def waiting(near: PodAffinity = NO_WISH, away: PodAffinity = NO_WISH, **labels: str) -> PodInfo:
    return make_pod_info("waiting", labels=labels, near=near, away=away)


def other(
    name: str = "other", *, space: str = "default", place: str = "n", **labels: str
) -> PodInfo:
    return make_pod_info(name, namespace=space, labels=labels, node=place)


WEB, DB = other(app="web"), other(app="db")
NEAR_WEB = waiting(near=demands(term("web")))
AWAY_FROM_WEB = waiting(away=demands(term("web")))
BOTH_NEAR = waiting(near=demands(term("web"), term(TIER)))
AWAY_FROM_EITHER = waiting(away=demands(term("web"), term("db")))
PREFERS_WEB = waiting(near=prefers((1, term("web"))))
NEAR_ITSELF = waiting(near=demands(term("web")), app="web")


def pod_hint(pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> bool:
    return Hints().after_pod_change(pod, old, new) is QueueingHint.QUEUE


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (NEAR_WEB, True),
        (AWAY_FROM_WEB, False),
        (PREFERS_WEB, False),
        (waiting(), False),
        (BOTH_NEAR, False),
        (waiting(near=demands(term(None))), False),
        (waiting(near=demands(term("web", namespaces=["elsewhere"]))), False),
        (waiting(near=demands(term("web", of=EVERY_NAMESPACE))), True),
        # The labels of Namespaces are not known.
        (waiting(near=demands(term("web", of=TEAM_A))), True),
    ],
)
def test_a_pod_that_comes_helps_who_wants_to_be_near(pod: PodInfo, expected: bool) -> None:
    assert pod_hint(pod, None, WEB) is expected


def test_a_pod_of_another_namespace_helps_nobody_who_names_none() -> None:
    assert not pod_hint(NEAR_WEB, None, other(space="elsewhere", app="web"))


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (NEAR_WEB, False),
        (AWAY_FROM_WEB, True),
        # Upstream asks for a Pod that is in the way by all demands at once.
        (AWAY_FROM_EITHER, True),
        (PREFERS_WEB, False),
        # It was the last to be near; without any the Pod may be anywhere.
        (NEAR_ITSELF, True),
        (waiting(away=demands(term("cache"))), False),
        (waiting(), False),
    ],
)
def test_a_pod_that_goes_helps_who_wants_to_be_away(pod: PodInfo, expected: bool) -> None:
    assert pod_hint(pod, WEB, None) is expected


def test_a_pod_that_goes_helps_who_it_kept_away() -> None:
    lonely = make_pod_info("lonely", node="n", away=demands(term("web"), term("cache")))
    assert pod_hint(waiting(app="web"), lonely, None)
    assert pod_hint(waiting(near=demands(term("db")), app="cache"), lonely, None)
    assert not pod_hint(waiting(app="db"), lonely, None)


@pytest.mark.parametrize(
    ("pod", "old", "new", "expected"),
    [
        (NEAR_WEB, DB, WEB, True),
        (NEAR_WEB, WEB, DB, False),
        (NEAR_WEB, WEB, other(app="web", more="yes"), False),
        (BOTH_NEAR, WEB, other(app="web", tier="1"), True),
        (AWAY_FROM_WEB, WEB, DB, True),
        (AWAY_FROM_WEB, DB, WEB, False),
        (AWAY_FROM_WEB, WEB, other(app="web", more="yes"), False),
        (AWAY_FROM_EITHER, WEB, DB, True),
        (AWAY_FROM_EITHER, other(app="db", x="1"), DB, False),
        (NEAR_ITSELF, WEB, DB, True),
        (NEAR_ITSELF, WEB, other(app="web", more="yes"), False),
        (waiting(app="web"), WEB, DB, False),
    ],
)
def test_labels_that_change(pod: PodInfo, old: PodInfo, new: PodInfo, expected: bool) -> None:
    assert pod_hint(pod, old, new) is expected


def test_its_own_labels_call_a_pod() -> None:
    before, after = waiting(app="web"), waiting(app="db")
    assert pod_hint(after, before, after)


def test_pods_without_a_node_help_nobody_unless_nominated() -> None:
    pending = make_pod_info("pending", labels={"app": "web"})
    nominated = make_pod_info("pending", labels={"app": "web"}, nominated="n")
    assert not pod_hint(NEAR_WEB, None, pending)
    assert not pod_hint(AWAY_FROM_WEB, pending, None)
    assert pod_hint(NEAR_WEB, None, nominated)
    assert pod_hint(AWAY_FROM_WEB, nominated, None)


@pytest.mark.parametrize(
    ("pod", "old", "new", "expected"),
    [
        (NEAR_WEB, None, A1, True),
        (NEAR_WEB, None, BARE, False),
        (AWAY_FROM_WEB, None, BARE, True),
        # Others may demand to be away from it.
        (waiting(), None, BARE, True),
        (NEAR_WEB, node("n"), node("n", "a"), True),
        (NEAR_WEB, node("n", "b"), node("n", "a"), True),
        (NEAR_WEB, node("n"), node("n", rack="1"), False),
        (AWAY_FROM_WEB, node("n"), node("n", "a"), False),
        (AWAY_FROM_WEB, node("n", "a"), node("n", "b"), True),
        (AWAY_FROM_WEB, node("n", "a"), node("n"), True),
        (waiting(), node("n", "a"), node("n"), True),
        (waiting(), node("n"), node("n", "a"), False),
    ],
)
def test_nodes_that_come_or_change_domain(pod: PodInfo, old: Any, new: Any, expected: bool) -> None:
    assert (after_node_change(pod, old, new) is QueueingHint.QUEUE) is expected


SELECTS = waiting(near=demands(term("web", of=TEAM_A)))
SELECTS_AWAY = waiting(away=demands(term("web", of=TEAM_A)))


@pytest.mark.parametrize(
    ("pod", "old", "new", "expected"),
    [
        (SELECTS, None, namespace("x", team="a"), True),
        (SELECTS, None, namespace("x", team="b"), False),
        (SELECTS, namespace("x", team="b"), namespace("x", team="a"), True),
        (SELECTS, namespace("x", team="a"), namespace("x", team="a", more="1"), False),
        (SELECTS_AWAY, namespace("x", team="a"), None, True),
        (SELECTS_AWAY, namespace("x", team="b"), None, False),
        (NEAR_WEB, namespace("x", team="b"), namespace("x", team="a"), False),
        (waiting(), None, namespace("x"), False),
        # What others select is the Pod's own namespace.
        (waiting(), namespace("default"), namespace("default", team="a"), True),
        (waiting(), namespace("default", team="a"), namespace("default", team="a"), False),
    ],
)
def test_labels_of_namespaces(pod: PodInfo, old: Any, new: Any, expected: bool) -> None:
    assert (after_namespace_change(pod, old, new) is QueueingHint.QUEUE) is expected


def test_the_events_it_hears_of() -> None:
    plugin = InterPodAffinity()
    assert registered(plugin) == {
        *("Node add", "Node delete", "Node label"),
        *("Pod add", "Pod label", "Pod delete"),
    }
    assert is_queued(plugin, EVENTS["Node delete"], waiting(), B1, None)
    assert is_queued(plugin, EVENTS["Pod add"], NEAR_WEB, None, WEB)
    for action in (ActionType.ADD, ActionType.UPDATE, ActionType.DELETE):
        event = ClusterEvent(EventResource.NAMESPACE, action)
        old, new = namespace("default"), namespace("default", team="a")
        assert is_queued(plugin, event, waiting(), old, new)


def test_rules_without_a_selector_are_about_no_pod() -> None:
    assert not pod_hint(waiting(away=demands(term(None))), WEB, None)
    assert pod_hint(waiting(away=demands(term(app("web")))), WEB, None)


def test_labels_of_namespaces_are_looked_up_where_they_are_known() -> None:
    plugin, cluster = InterPodAffinity(), Cluster()
    plugin.attach(cluster)
    cluster.objects[ObjectKind.NAMESPACE].upsert(namespace("team-a", team="a"))
    cluster.objects[ObjectKind.NAMESPACE].upsert(namespace("team-b", team="b"))

    def helps(pod: PodInfo, space: str) -> bool:
        new = other(space=space, app="web")
        return is_queued(plugin, EVENTS["Pod add"], pod, None, new)

    assert helps(SELECTS, "team-a")
    assert not helps(SELECTS, "team-b")
    assert helps(SELECTS, "unheard-of")
    assert not helps(NEAR_WEB, "team-a")
    # As upstream, which asks the selector about a namespace without labels, too.
    assert helps(waiting(near=demands(term("web", of=NOT_TEAM_A))), "team-a")
