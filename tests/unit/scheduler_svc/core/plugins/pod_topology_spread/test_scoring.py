"""Soft constraints: the emptier a Node's domains, the better."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from scheduler_svc.core.affinity_objects import LabelSelector, TopologySpreadConstraint
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import ObjectMeta, Taint
from scheduler_svc.core.plugins.pod_topology_spread import PodTopologySpread, scoring
from scheduler_svc.core.plugins.pod_topology_spread.rules import HOSTNAME, ZONE
from scheduler_svc.core.plugins.pod_topology_spread.scoring import SoftState
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.workload_objects import LabelsSpec, Service
from tests.builders import make_cache, make_node_info, make_pod_info
from tests.unit.scheduler_svc.core.plugins.pod_topology_spread.spreading import (
    WEB,
    everywhere,
    node,
    scores,
    soft,
    web_pods,
)

NODES = [node("a1", "a"), node("a2", "a"), node("b1", "b"), node("b2", "b")]


@pytest.fixture(autouse=True, params=["few", "many"])
def kinds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Score as where there are few kinds of Nodes, and as where there are many."""
    if request.param == "many":
        monkeypatch.setattr(scoring, "_FEW_KINDS", 0)


def pod_with(*constraints: TopologySpreadConstraint) -> PodInfo:
    return make_pod_info(labels=WEB, spread=constraints)


def normalized(raw: Sequence[float]) -> list[int]:
    """Normalize as the formula says, over Nodes that are not ignored."""
    whole = [math.floor(value + 0.5) for value in raw]
    lowest, highest = min(whole), max(whole)
    if highest == 0:
        return [100] * len(whole)
    return [100 * (highest + lowest - value) // highest for value in whole]


@pytest.mark.parametrize(
    ("places", "constraint", "counts", "size"),
    [
        ("a1 a1 a2 b1", soft(ZONE), [3, 3, 1, 1], 2),
        ("a1 a1 a2 b1", soft(ZONE, 5), [3, 3, 1, 1], 2),
        ("a1 a1 a2 b1", soft(HOSTNAME), [2, 1, 1, 0], 4),
        ("", soft(ZONE), [0, 0, 0, 0], 2),
        ("", soft(ZONE, 4), [0, 0, 0, 0], 2),
        ("a1 b1 b2", soft(ZONE, selector=None), [0, 0, 0, 0], 2),
        ("a1 b1 b2", soft(HOSTNAME, selector=LabelSelector()), [0, 0, 0, 0], 4),
    ],
)
def test_one_constraint(
    places: str, constraint: TopologySpreadConstraint, counts: list[int], size: int
) -> None:
    cluster = make_cache(NODES, web_pods(*places.split())).cluster
    found = scores(PodTopologySpread(), pod_with(constraint), cluster)
    raw = [count * math.log(size + 2) + constraint.max_skew - 1 for count in counts]
    assert found == dict(zip(["a1", "a2", "b1", "b2"], normalized(raw), strict=True))


def test_constraints_add_up() -> None:
    cluster = make_cache(NODES, web_pods("a1", "a1", "a2", "b1")).cluster
    found = scores(PodTopologySpread(), pod_with(soft(HOSTNAME, 3), soft(ZONE, 2)), cluster)
    by_host, by_zone = math.log(4 + 2), math.log(2 + 2)
    raw = [
        host * by_host + 2 + zone * by_zone + 1 for host, zone in [(2, 3), (1, 3), (1, 1), (0, 1)]
    ]
    assert found == dict(zip(["a1", "a2", "b1", "b2"], normalized(raw), strict=True))


def test_only_feasible_nodes_make_domains_but_pods_on_all_are_counted() -> None:
    nodes = [*NODES, node("c1", "c")]
    cluster = make_cache(nodes, web_pods("a1", "a2", "b1", "c1", "c1")).cluster
    feasible = ["a2", "b1", "b2"]
    found = scores(PodTopologySpread(), pod_with(soft(ZONE)), cluster, feasible)
    raw = [count * math.log(2 + 2) for count in (2, 1, 1)]
    assert found == dict(zip(feasible, normalized(raw), strict=True))


@pytest.mark.parametrize("affinity", ["Honor", "Ignore"])
@pytest.mark.parametrize("taints", ["Honor", "Ignore"])
def test_policies_leave_nodes_out_of_domains_not_of_hosts(affinity: str, taints: str) -> None:
    kept = (Taint("k", "NoSchedule"),)
    nodes = [
        node("a1", "a", disk="ssd"),
        node("a2", "a", disk="hdd"),
        node("a3", "a", disk="ssd", taints=kept),
        node("b1", "b", disk="ssd"),
    ]
    cluster = make_cache(nodes, web_pods("a1", "a2", "a2", "a3", "a3", "a3", "b1")).cluster
    spread = [soft(ZONE, affinity=affinity, taints=taints)]
    pod = make_pod_info(labels=WEB, selector={"disk": "ssd"}, spread=spread)
    in_a = 1 + 2 * (affinity == "Ignore") + 3 * (taints == "Ignore")
    raw = [count * math.log(2 + 2) for count in (in_a, 1)]
    found = scores(PodTopologySpread(), pod, cluster, ["a1", "b1"])
    assert found == dict(zip(["a1", "b1"], normalized(raw), strict=True))

    by_host = [soft(HOSTNAME, affinity=affinity, taints=taints)]
    pod = make_pod_info(labels=WEB, selector={"disk": "ssd"}, spread=by_host)
    raw = [count * math.log(4 + 2) for count in (1, 2, 3, 1)]
    assert scores(PodTopologySpread(), pod, cluster) == dict(
        zip(["a1", "a2", "a3", "b1"], normalized(raw), strict=True)
    )


def test_nodes_without_some_label_are_worth_nothing_and_count_for_nothing() -> None:
    nodes = [node("a1", "a"), node("b1", "b"), node("bare")]
    cluster = make_cache(nodes, web_pods("a1", "bare", "bare", "bare")).cluster
    found = scores(PodTopologySpread(), pod_with(soft(HOSTNAME), soft(ZONE)), cluster)
    raw = [math.log(2 + 2) + math.log(2 + 2), 0]
    assert found == {**dict(zip(["a1", "b1"], normalized(raw), strict=True)), "bare": 0}
    only = scores(PodTopologySpread(), pod_with(soft(HOSTNAME), soft(ZONE)), cluster, ["bare"])
    assert only == {"bare": 0}


def system_defaulted(nodes: Sequence[NodeInfo], *places: str) -> Cache:
    cache = make_cache(nodes, web_pods(*places))
    service = Service(ObjectMeta(name="s", namespace="default"), LabelsSpec(WEB))
    cache.cluster.objects[ObjectKind.SERVICE].upsert(service)
    return cache


@pytest.mark.parametrize("quirks", [True, False])
def test_defaults_of_the_system_ask_for_no_label(quirks: bool) -> None:
    """Upstream takes the Nodes without a zone for one more zone."""
    nodes = [node("a1", "a"), node("b1", "b"), node("none"), make_node_info("bare")]
    cluster = system_defaulted(nodes, "a1", "none", "none", "bare").cluster
    found = scores(PodTopologySpread(upstream_quirks=quirks), make_pod_info(labels=WEB), cluster)
    by_host, by_zone = math.log(4 + 2), math.log((3 if quirks else 2) + 2)
    raw = [1 * by_host + 2 + 1 * by_zone + 4, 2.0 + 4.0, 2 * by_host + 2, 0]
    assert found == dict(zip(["a1", "b1", "none", "bare"], normalized(raw), strict=True))


@pytest.mark.parametrize("quirks", [True, False])
def test_no_zone_and_the_empty_zone_are_one_to_upstream(quirks: bool) -> None:
    nodes = [node("a1", "a"), node("empty", ""), node("none")]
    cluster = system_defaulted(nodes, "a1", "none", "none").cluster
    plugin = PodTopologySpread(upstream_quirks=quirks)
    found = scores(plugin, make_pod_info(labels=WEB), cluster)
    by_host, by_zone = math.log(3 + 2), math.log(2 + 2)
    in_empty = 2 if quirks else 0
    raw = [by_host + 2 + by_zone + 4, 2 + in_empty * by_zone + 4, 2 * by_host + 2]
    assert found == dict(zip(["a1", "empty", "none"], normalized(raw), strict=True))
    without = scores(plugin, make_pod_info(labels=WEB), cluster, ["a1", "none"])
    by_host, by_zone = math.log(2 + 2), math.log((2 if quirks else 1) + 2)
    raw = [by_host + 2 + by_zone + 4, 2 * by_host + 2]
    assert without == dict(zip(["a1", "none"], normalized(raw), strict=True))


def test_scores_follow_nodes_and_pods() -> None:
    cache = make_cache(NODES)
    plugin, pod = PodTopologySpread(), pod_with(soft(HOSTNAME), soft(ZONE))
    _, state = plugin.pre_score(pod, cache.cluster)
    assert isinstance(state, SoftState)
    _assert_fresh(plugin, pod, state, cache)
    for placed in web_pods("a1", "a1", "a2", "b1", "b2", "b2", "b2", "a1", "a1", "b1", "b1"):
        cache.upsert(placed)
        _assert_fresh(plugin, pod, state, cache)
    cache.set_node(node("c1", "c"))
    _assert_fresh(plugin, pod, state, cache)
    cache.set_node(node("a1"))
    _assert_fresh(plugin, pod, state, cache)


@pytest.mark.parametrize("max_tables", [1, 2, 64])
def test_scores_follow_where_only_the_pods_of_a_node_count(
    max_tables: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever Nodes are feasible, and whether or not that has been so before."""
    monkeypatch.setattr(scoring, "_MAX_TABLES", max_tables)
    cache = make_cache(NODES)
    plugin, pod = PodTopologySpread(), pod_with(soft(HOSTNAME))
    _, state = plugin.pre_score(pod, cache.cluster)
    nodes = everywhere(cache.cluster)
    masks = [
        [True] * 4,
        [True, True, False, False],
        [False, False, True, True],
        [True] * 3 + [False],
    ]
    for placed in web_pods("a1", "b1", "a2", "b2", "b2", "a1", "a1", "a2", "b1", "b1", "b1"):
        cache.upsert(placed)
        for mask in (masks[0], masks[0], *masks, masks[1]):
            feasible = np.array(mask)
            _, fresh = plugin.pre_score(pod, cache.cluster)
            assert isinstance(state, SoftState)
            assert isinstance(fresh, SoftState)
            kept = plugin.score_feasible(state, nodes, feasible)[feasible]
            assert kept.tolist() == plugin.score_feasible(fresh, nodes, feasible)[feasible].tolist()


def test_a_view_of_the_first_nodes_alone() -> None:
    cache = make_cache(NODES)
    plugin, pod = PodTopologySpread(), pod_with(soft(HOSTNAME))
    _, state = plugin.pre_score(pod, cache.cluster)
    assert isinstance(state, SoftState)
    first = NodeView(cache.columns, slice(0, 2))
    feasible = np.ones(2, dtype=np.bool_)
    for placed, second in zip(web_pods("b1", "a2", "b2"), [100, 0, 0], strict=True):
        assert plugin.score_feasible(state, first, feasible).tolist()[0] == 100
        cache.upsert(placed)
        assert plugin.score_feasible(state, first, feasible).tolist() == [100, second]


def _assert_fresh(plugin: PodTopologySpread, pod: PodInfo, state: SoftState, cache: Cache) -> None:
    nodes = everywhere(cache.cluster)
    kept = plugin.score_feasible(state, nodes, cache.columns.live[nodes.rows])
    fresh = scores(plugin, pod, cache.cluster)
    assert fresh is not None
    assert dict(zip(cache.columns.names, kept.tolist(), strict=True)) == fresh
