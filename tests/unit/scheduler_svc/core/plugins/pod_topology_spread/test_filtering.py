"""Hard constraints: which Nodes are left, and why not the others."""

import numpy as np
import pytest

from scheduler_svc.core.affinity_objects import LabelSelector, TopologySpreadConstraint
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Taint
from scheduler_svc.core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_svc.core.plugins.pod_topology_spread.rules import HOSTNAME, ZONE
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code
from tests.builders import make_cache, make_pod_info
from tests.unit.scheduler_svc.core.plugins.pod_topology_spread.spreading import (
    IS_WEB,
    WEB,
    everywhere,
    hard,
    node,
    open_nodes,
    verdicts,
    web_pods,
)

NODES = [node("a1", "a"), node("a2", "a"), node("b1", "b"), node("b2", "b")]
SKEWED = (Code.UNSCHEDULABLE, "node(s) didn't match pod topology spread constraints")
NO_LABEL = (
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
    "node(s) didn't match pod topology spread constraints (missing required label)",
)
OTHERS = LabelSelector({"app": "db"})


def pod_with(*constraints: TopologySpreadConstraint, labels: dict[str, str] = WEB) -> PodInfo:
    return make_pod_info(labels=labels, spread=constraints)


@pytest.mark.parametrize(
    ("places", "constraint", "expected"),
    [
        # Counts 0 and 0.
        ("", hard(), "a1 a2 b1 b2"),
        # 1 and 0: one more in zone a would make 2 against 0.
        ("a1", hard(), "b1 b2"),
        ("a1 b1", hard(), "a1 a2 b1 b2"),
        ("a1 a2 a2 b1", hard(), "b1 b2"),
        ("a1 a2 a2 b1", hard(max_skew=3), "a1 a2 b1 b2"),
        # A Pod that is none of those counted adds nothing to its domain.
        ("a1", hard(selector=OTHERS), "a1 a2 b1 b2"),
        # By host: 1, 2, 0, 0.
        ("a1 a2 a2", hard(HOSTNAME), "b1 b2"),
        ("a1 a2 a2", hard(HOSTNAME, 2), "a1 b1 b2"),
        # Two domains are fewer than three: the least is taken for 0.
        ("a1 b1", hard(min_domains=2), "a1 a2 b1 b2"),
        ("a1 b1", hard(min_domains=3), ""),
        ("a1 b1", hard(max_skew=2, min_domains=3), "a1 a2 b1 b2"),
        ("a1 a1 a1", hard(selector=None), "a1 a2 b1 b2"),
        ("a1 a1 a1", hard(selector=LabelSelector()), "a1 a2 b1 b2"),
    ],
)
def test_skew(places: str, constraint: TopologySpreadConstraint, expected: str) -> None:
    cluster = make_cache(NODES, web_pods(*places.split())).cluster
    assert open_nodes(PodTopologySpread(), pod_with(constraint), cluster) == expected


def test_a_pod_that_does_not_match_itself_leaves_room_for_one_more() -> None:
    cluster = make_cache(NODES, web_pods("a1", "a1")).cluster
    pod = pod_with(hard(max_skew=2), labels={"app": "db"})
    assert open_nodes(PodTopologySpread(), pod, cluster) == "a1 a2 b1 b2"
    assert open_nodes(PodTopologySpread(), pod_with(hard(max_skew=2)), cluster) == "b1 b2"


def test_every_constraint_must_hold() -> None:
    # Zones 2 and 1; hosts 1, 1, 1, 0.
    cluster = make_cache(NODES, web_pods("a1", "a2", "b1")).cluster
    pod = pod_with(hard(), hard(HOSTNAME))
    assert open_nodes(PodTopologySpread(), pod, cluster) == "b2"


@pytest.mark.parametrize(
    ("constraints", "reason"),
    [([hard("disk"), hard(ZONE)], SKEWED), ([hard(ZONE), hard("disk")], NO_LABEL)],
)
def test_the_first_constraint_that_fails_says_why(
    constraints: list[TopologySpreadConstraint], reason: tuple[Code, str]
) -> None:
    """A Node without a zone does not count, but its disk is of a kind that is full."""
    nodes = [node("a1", "a", disk="ssd"), node("b1", "b", disk="hdd"), node("bare", disk="ssd")]
    cluster = make_cache(nodes, web_pods("a1", "a1", "bare")).cluster
    found = verdicts(PodTopologySpread(), pod_with(*constraints), cluster)
    assert found == {"a1": SKEWED, "b1": None, "bare": reason}


def test_a_node_in_a_domain_that_does_not_count_is_judged_by_nothing_in_it() -> None:
    taints = (Taint("k", "NoSchedule"),)
    nodes = [node("a1", "a"), node("b1", "b", taints=taints), node("c1", "c")]
    cluster = make_cache(nodes, web_pods("a1", "b1", "b1", "b1", "c1")).cluster
    assert open_nodes(PodTopologySpread(), pod_with(hard(taints="Honor")), cluster) == "a1 b1 c1"
    assert open_nodes(PodTopologySpread(), pod_with(hard(taints="Ignore")), cluster) == "a1 c1"


def test_without_a_domain_every_node_lacks_the_label() -> None:
    cluster = make_cache([node("none")]).cluster
    assert verdicts(PodTopologySpread(), pod_with(hard()), cluster) == {"none": NO_LABEL}


@pytest.mark.parametrize("quirks", [True, False])
@pytest.mark.parametrize(
    ("selector", "terminating", "is_miscounted"),
    [
        (IS_WEB, False, False),
        (IS_WEB, True, True),
        (LabelSelector(), False, True),
        (None, True, False),
    ],
)
def test_pods_counted_on_only_to_see_what_would_be(
    selector: LabelSelector | None, terminating: bool, is_miscounted: bool, quirks: bool
) -> None:
    """Upstream's AddPod counts terminating Pods and all Pods of an empty selector."""
    cache = make_cache(NODES)
    plugin = PodTopologySpread(upstream_quirks=quirks)
    pod = pod_with(hard(selector=selector))
    state = plugin.pre_filter(pod, cache.cluster).state
    (added,) = web_pods("a1", terminating=terminating)
    (elsewhere,) = web_pods("b1", terminating=terminating, namespace="elsewhere")
    rows = cache.columns.rows
    counts = selector is IS_WEB and not terminating
    in_zone_a = not counts and not (is_miscounted and quirks)
    everything = everywhere(cache.cluster)
    for _ in range(2):
        assert plugin.filter(state, everything).all()
        with cache.speculation() as speculation:
            speculation.add(elsewhere, rows["b1"])
            speculation.add(added, rows["a1"])
            expected = [in_zone_a, in_zone_a, True, True]
            assert plugin.filter(state, everything).tolist() == expected
            speculation.add(added, rows["b1"])
            assert plugin.filter(state, everything).tolist() == [True, True, True, True]
        assert plugin.filter(state, everything).all()


def test_pods_counted_off_make_room() -> None:
    pods = [*web_pods("a1"), *web_pods("b1", terminating=True)]
    cache = make_cache([*NODES, node("none")], pods)
    plugin, pod = PodTopologySpread(), pod_with(hard())
    state, columns = plugin.pre_filter(pod, cache.cluster).state, cache.columns
    a1, b1, none = (columns.rows[name] for name in ("a1", "b1", "none"))
    with cache.speculation() as speculation:
        # Zone b sinks to -1 in upstream's count: a Node with 0 and this Pod is 2 above it.
        speculation.remove(pods[1], b1)
        speculation.add(pods[1], none)
        mask = plugin.filter(state, everywhere(cache.cluster))
        assert mask[[a1, b1, none]].tolist() == [False, True, False]
        speculation.remove(pods[0], a1)
        mask = plugin.filter(state, everywhere(cache.cluster))
        assert mask[[a1, b1, none]].tolist() == [False, True, False]


def test_masks_follow_nodes_and_pods() -> None:
    cache = make_cache(NODES, web_pods("a1"))
    plugin, pod = PodTopologySpread(), pod_with(hard())
    state = plugin.pre_filter(pod, cache.cluster).state
    assert plugin.filter(state, everywhere(cache.cluster)).tolist() == [False, False, True, True]
    (placed,) = web_pods("b2")
    cache.assume(placed, cache.columns.rows["b2"])
    assert plugin.filter(state, everywhere(cache.cluster)).all()
    cache.forget(placed.uid)
    cache.set_node(node("c1", "c"))
    mask = plugin.filter(state, everywhere(cache.cluster))
    assert np.flatnonzero(mask).tolist() == [2, 3, 4]


def nodes_of_many_zones(count: int) -> list[NodeInfo]:
    return [node(f"n{number}", f"z{number}") for number in range(count)]


def test_as_many_domains_as_nodes() -> None:
    nodes = nodes_of_many_zones(300)
    cache = make_cache(nodes, web_pods(*[n.name for n in nodes[:299]]))
    plugin = PodTopologySpread()
    assert open_nodes(plugin, pod_with(hard(HOSTNAME), hard(ZONE)), cache.cluster) == "n299"
    cache.remove_node("n299")
    assert len(open_nodes(plugin, pod_with(hard(HOSTNAME)), cache.cluster).split()) == 299
