"""The plugin at its extension points: when it is skipped, what makes classes, what calls Pods."""

import pytest

from scheduler_svc.core.affinity_objects import LabelRequirement, LabelSelector
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.framework.cluster_changes import object_change
from scheduler_svc.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.verdict import judge
from scheduler_svc.core.objects import ObjectMeta
from scheduler_svc.core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code, Status
from scheduler_svc.core.workload_objects import LabelsSpec, Service
from tests.builders import make_cache, make_pod_info, make_profile
from tests.unit.scheduler_svc.core.plugins.asking import EVENTS, is_queued, registered
from tests.unit.scheduler_svc.core.plugins.pod_topology_spread.spreading import (
    WEB,
    everywhere,
    hard,
    node,
    open_nodes,
    scores,
    soft,
    verdicts,
    web_pods,
)

NODES = [node("a1", "a"), node("b1", "b")]
WEB_POD = make_pod_info(labels=WEB)
POD_UPDATE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE)


def service(selector: dict[str, str] | None = None, *, namespace: str = "default") -> Service:
    return Service(ObjectMeta(name="s", namespace=namespace), LabelsSpec(selector))


def served() -> Cluster:
    cluster = make_cache(NODES, web_pods("a1")).cluster
    cluster.objects[ObjectKind.SERVICE].upsert(service(WEB))
    return cluster


@pytest.mark.parametrize(
    ("pod", "filters", "scores_nodes"),
    [
        (WEB_POD, False, False),
        (make_pod_info(labels=WEB, spread=[hard()]), True, False),
        (make_pod_info(labels=WEB, spread=[soft()]), False, True),
        (make_pod_info(labels=WEB, spread=[soft(), hard()]), True, True),
    ],
)
def test_it_is_skipped_without_constraints(pod: PodInfo, filters: bool, scores_nodes: bool) -> None:
    cluster, plugin = make_cache(NODES).cluster, PodTopologySpread()
    assert (verdicts(plugin, pod, cluster) is not None) is filters
    assert (scores(plugin, pod, cluster) is not None) is scores_nodes
    assert (plugin.projection(pod, cluster) is not None) is (filters or scores_nodes)
    if not filters:
        assert plugin.pre_filter(pod, cluster).status.code is Code.SKIP


def test_defaults_of_the_system_only_score() -> None:
    cluster, plugin = served(), PodTopologySpread()
    assert verdicts(plugin, WEB_POD, cluster) is None
    found = scores(plugin, WEB_POD, cluster)
    assert found is not None
    assert found["b1"] > found["a1"]
    own = make_pod_info(labels=WEB, spread=[hard()])
    assert scores(plugin, own, cluster) is None


def test_defaults_of_the_profile_may_filter() -> None:
    cluster = served()
    assert open_nodes(PodTopologySpread((hard(selector=None),)), WEB_POD, cluster) == "b1"
    assert verdicts(PodTopologySpread(()), WEB_POD, cluster) is None
    assert scores(PodTopologySpread(()), WEB_POD, cluster) is None


def test_pods_are_of_one_class_if_their_rules_are_the_same() -> None:
    cluster, plugin = make_cache(NODES).cluster, PodTopologySpread()

    def projected(**labels: str) -> object:
        return plugin.projection(make_pod_info(labels=labels, spread=[hard()]), cluster)

    assert projected(app="web", index="1") is projected(app="web", index="2")
    assert projected(app="web") != projected(app="db")


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (make_pod_info(labels=WEB), True),
        (make_pod_info(labels=WEB, is_terminating=True), True),
        (make_pod_info(labels={"app": "db"}), False),
        (make_pod_info(labels=WEB, namespace="elsewhere"), False),
    ],
)
def test_pods_that_may_count_concern_it(other: PodInfo, expected: bool) -> None:
    plugin, cluster = PodTopologySpread(), make_cache(NODES).cluster
    state = plugin.pre_filter(make_pod_info(labels=WEB, spread=[hard("x"), hard()]), cluster).state
    assert plugin.is_concerned_by(state, other) is expected


def test_what_is_kept_grows_with_the_nodes() -> None:
    plugin, pod = PodTopologySpread(), make_pod_info(labels=WEB, spread=[hard(), soft(), soft("x")])

    def sizes(node_count: int) -> tuple[int, int]:
        cluster = make_cache([node(f"n{number}", "a") for number in range(node_count)]).cluster
        assert verdicts(plugin, pod, cluster)
        assert scores(plugin, pod, cluster)
        filtering, (_, scoring) = plugin.pre_filter(pod, cluster), plugin.pre_score(pod, cluster)
        assert scoring is not None
        everything = everywhere(cluster)
        plugin.filter(filtering.state, everything)
        plugin.score_feasible(scoring, everything, cluster.columns.live[everything.rows])
        return plugin.state_size_bytes(filtering.state), plugin.state_size_bytes(scoring)

    few, many = sizes(10), sizes(1000)
    # Four bytes a Node for each constraint that has domains, one for the Node's kind.
    assert many[0] - few[0] >= 4 * 900
    assert many[1] - few[1] >= (2 * 4 + 1) * 900


def test_it_hears_of_pods_and_nodes() -> None:
    everything_about_pods = {name for name in EVENTS if name.startswith("Pod")}
    expected = everything_about_pods | {"Node add", "Node delete", "Node label", "Node taint"}
    assert registered(PodTopologySpread()) == expected
    for kind in (
        ObjectKind.SERVICE,
        ObjectKind.REPLICATION_CONTROLLER,
        ObjectKind.REPLICA_SET,
        ObjectKind.STATEFUL_SET,
    ):
        event = object_change(kind, None, service())
        assert event is not None
        assert not any(r.event.matches(event) for r in PodTopologySpread().events_to_register())
        hard_defaults = PodTopologySpread((hard(),)).events_to_register()
        assert any(r.event.matches(event) for r in hard_defaults)


@pytest.mark.parametrize(
    ("pod", "old", "new", "expected"),
    [
        (WEB_POD, None, service(WEB), True),
        (WEB_POD, service(WEB), None, True),
        (WEB_POD, service(WEB), service({"app": "db"}), True),
        (WEB_POD, service(WEB), service(WEB), False),
        (WEB_POD, None, service(WEB, namespace="elsewhere"), False),
        (make_pod_info(labels=WEB, spread=[hard()]), None, service(WEB), False),
    ],
)
def test_what_selects_the_pod_may_change(
    pod: PodInfo, old: Service | None, new: Service | None, expected: bool
) -> None:
    event = object_change(ObjectKind.SERVICE, old, new)
    assert event is not None
    assert is_queued(PodTopologySpread((hard(),)), event, pod, old, new) is expected


def test_a_pod_that_nothing_is_to_be_spread_of_any_more_is_called() -> None:
    cluster, plugin = served(), PodTopologySpread((hard(selector=None),))
    assert open_nodes(plugin, WEB_POD, cluster) == "b1"
    (unrelated,) = web_pods("a1", namespace="elsewhere")
    bare = node("bare")
    assert not is_queued(plugin, EVENTS["Pod add"], WEB_POD, None, unrelated)
    assert not is_queued(plugin, EVENTS["Node add"], WEB_POD, None, bare)
    assert not is_queued(plugin, POD_UPDATE, WEB_POD, WEB_POD, WEB_POD)
    cluster.objects[ObjectKind.SERVICE].delete("default/s")
    assert is_queued(plugin, EVENTS["Pod add"], WEB_POD, None, unrelated)
    assert is_queued(plugin, EVENTS["Node add"], WEB_POD, None, bare)
    assert is_queued(plugin, POD_UPDATE, WEB_POD, WEB_POD, WEB_POD)


NO_OPERATOR = LabelSelector(match_expressions=(LabelRequirement("app", "Is"),))
NO_SENSE = 'topology spread constraints: "Is" is not a valid label selector operator'
POINTS = ("preFilter", "filter", "preScore", "score")


@pytest.mark.parametrize("has_nodes", [True, False])
def test_a_selector_that_makes_no_sense_fails_the_attempt(has_nodes: bool) -> None:
    """Of a hard constraint at once, of a soft one when there are Nodes to be scored."""
    plugin, cluster = PodTopologySpread(), make_cache(NODES if has_nodes else []).cluster
    profile = make_profile({point: [plugin] for point in POINTS})
    pod = make_pod_info(labels=WEB, spread=[hard(), hard("rack", selector=NO_OPERATOR), soft()])
    text = f"get constraints from pod: obtaining pod's hard {NO_SENSE}"
    text = f'running PreFilter plugin "PodTopologySpread": {text}'
    assert prepare(profile, pod, cluster).rejection == Status(Code.ERROR, (text,), plugin.name)
    pod = make_pod_info(labels=WEB, spread=[hard(), soft(selector=NO_OPERATOR)])
    prepared = prepare(profile, pod, cluster)
    judge(prepared, cluster.columns)
    text = f"calculating preScoreState: obtaining pod's soft {NO_SENSE}"
    text = f'running PreScore plugin "PodTopologySpread": {text}'
    expected = Status(Code.ERROR, (text,), plugin.name)
    assert prepared.failure() == (expected if has_nodes else None)
    [(_, state)] = [(p, state) for p, state, _ in prepared.scores]
    assert plugin.state_size_bytes(state) == 0
