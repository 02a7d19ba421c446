"""Sums by domain follow every Pod and Node, and equal a count from scratch."""

import numpy as np
import pytest

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.label_selectors import compile_selector
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Taint, Toleration
from scheduler_svc.core.plugins.pod_topology_spread.domains import DomainCounts
from scheduler_svc.core.plugins.pod_topology_spread.rules import ZONE, SpreadConstraint
from scheduler_svc.core.pods import PodInfo
from tests.builders import make_cache, make_pod_info
from tests.unit.scheduler_svc.core.plugins.pod_topology_spread.spreading import (
    IS_WEB,
    WEB,
    node,
    web_pods,
)

WEB_BY_ZONE = SpreadConstraint(1, ZONE, compile_selector(IS_WEB))
NODES = [node("a1", "a"), node("a2", "a"), node("b1", "b"), node("none")]
# Enough that one Node is few.
MANY = [node(f"many-{i}", "many") for i in range(400)]


def counted(domains: DomainCounts) -> dict[str, tuple[int, int]]:
    """Give Pods and Nodes by domain, those without Nodes left out."""
    domains.refresh()
    assert (domains.sums[-1], domains.node_counts[-1]) == (0, 0)
    values = domains.column.values
    assert len(domains.sums) == len(domains.node_counts) == len(values) + 1
    found = {
        value: (int(domains.sums[code]), int(domains.node_counts[code]))
        for code, value in enumerate(values)
    }
    assert all(pods == 0 for pods, nodes in found.values() if nodes == 0)
    result = {value: both for value, both in found.items() if both[1]}
    assert domains.domain_count == len(result)
    return result


def domains_of(
    cluster: Cluster,
    constraint: SpreadConstraint = WEB_BY_ZONE,
    *,
    keys: tuple[str, ...] = (ZONE,),
    pod: PodInfo | None = None,
    absent_is_empty: bool = False,
) -> DomainCounts:
    pod = make_pod_info(labels=WEB) if pod is None else pod
    return DomainCounts(constraint, keys, pod, cluster, absent_is_empty=absent_is_empty)


def test_pods_of_the_namespace_that_match_and_stay_are_counted() -> None:
    pods = [
        *web_pods("a1", "a2", "none"),
        *web_pods("b1", namespace="elsewhere"),
        *web_pods("b1", terminating=True),
        make_pod_info("db", labels={"app": "db"}, node="b1"),
    ]
    assert counted(domains_of(make_cache(NODES, pods).cluster)) == {"a": (2, 2), "b": (0, 1)}


def test_nodes_need_all_keys() -> None:
    nodes = [*NODES, node("a3", "a", disk="ssd")]
    cluster = make_cache(nodes, web_pods("a1", "a3")).cluster
    assert counted(domains_of(cluster, keys=(ZONE, "disk"))) == {"a": (1, 1)}


@pytest.mark.parametrize("honors_affinity", [True, False])
@pytest.mark.parametrize("honors_taints", [True, False])
def test_policies_leave_nodes_out(honors_affinity: bool, honors_taints: bool) -> None:
    taints = (Taint("k", "NoSchedule"),)
    nodes = [
        node("plain", "plain", disk="ssd"),
        node("other", "other", disk="hdd"),
        node("kept", "kept", disk="ssd", taints=taints),
        node("tolerated", "tolerated", disk="ssd", taints=(Taint("l", "NoExecute"),)),
        node("disliked", "disliked", disk="ssd", taints=(Taint("k", "PreferNoSchedule"),)),
    ]
    pod = make_pod_info(
        labels=WEB, selector={"disk": "ssd"}, tolerations=[Toleration("l", "Exists")]
    )
    constraint = SpreadConstraint(1, ZONE, WEB_BY_ZONE.selector, 1, honors_affinity, honors_taints)
    expected = {n.name for n in nodes}
    expected -= {"other"} if honors_affinity else set()
    expected -= {"kept"} if honors_taints else set()
    cluster = make_cache(nodes, web_pods(*[n.name for n in nodes])).cluster
    found = counted(domains_of(cluster, constraint, pod=pod))
    assert found == dict.fromkeys(expected, (1, 1))


@pytest.mark.parametrize(("min_domains", "expected"), [(1, 1), (2, 1), (3, 0), (0, 1)])
def test_the_minimum_is_over_domains_that_count_if_there_are_enough(
    min_domains: int, expected: int
) -> None:
    cache = make_cache([*NODES, node("gone", "gone")], web_pods("a1", "a1", "b1"))
    cache.remove_node("gone")
    domains = domains_of(cache.cluster)
    domains.refresh()
    assert domains.minimum(domains.sums, min_domains) == expected


def test_the_minimum_without_any_domain_is_nothing() -> None:
    domains = domains_of(make_cache([node("none")]).cluster)
    domains.refresh()
    assert domains.minimum(domains.sums, 0) == 0


def test_without_policies_a_gapless_minimum_is_found() -> None:
    domains = domains_of(make_cache(NODES, web_pods("a1", "a1", "b1")).cluster)
    domains.refresh()
    assert domains.minimum(domains.sums, 1) == 1


@pytest.mark.parametrize("others", [[], MANY])
def test_every_change_is_followed(others: list[NodeInfo]) -> None:
    cache = make_cache([*NODES, *others], web_pods("a1", "none"))
    domains = domains_of(cache.cluster)
    many = {"many": (0, 400)} if others else {}
    assert counted(domains) == {"a": (1, 2), "b": (0, 1), **many}
    version = domains.version
    assert counted(domains) == {"a": (1, 2), "b": (0, 1), **many}
    assert domains.version == version

    new = web_pods("b1", "a2", "none", "b1")
    for pod in new:
        cache.upsert(pod)
    assert counted(domains) == {"a": (2, 2), "b": (2, 1), **many}
    cache.remove(new[0].uid)
    assert counted(domains) == {"a": (2, 2), "b": (1, 1), **many}
    assert domains.version > version

    cache.set_node(node("a2", "c"))
    assert counted(domains) == {"a": (1, 1), "b": (1, 1), "c": (1, 1), **many}
    cache.set_node(node("none", "b"))
    assert counted(domains) == {"a": (1, 1), "b": (3, 2), "c": (1, 1), **many}
    cache.set_node(node("new", "new"))
    cache.remove_node("b1")
    assert counted(domains) == {"a": (1, 1), "b": (2, 1), "c": (1, 1), "new": (0, 1), **many}
    version = domains.version
    cache.set_node(node("new", "new", disk="ssd"))
    assert counted(domains)["new"] == (0, 1)
    assert domains.version == version


def test_a_new_value_on_a_node_that_does_not_count_makes_room_for_it() -> None:
    cache = make_cache([*MANY, node("b1", "b", disk="ssd")])
    domains = domains_of(cache.cluster, keys=(ZONE, "disk"))
    assert counted(domains) == {"b": (0, 1)}
    cache.set_node(node("new", "new"))
    assert counted(domains) == {"b": (0, 1)}


def test_more_pods_than_the_log_holds_are_counted_anew() -> None:
    cache = make_cache(NODES)
    domains = domains_of(cache.cluster)
    domains.refresh()
    for number in range(1500):
        pod = make_pod_info(f"p{number}", labels=WEB, node="b1")
        cache.upsert(pod)
    assert counted(domains) == {"a": (0, 2), "b": (1500, 1)}


def test_nodes_get_rows_beyond_the_first() -> None:
    cache = Cache(Cluster())
    domains = domains_of(cache.cluster)
    assert counted(domains) == {}
    for number in range(300):
        cache.set_node(node(f"n{number}", f"z{number % 3}"))
    assert counted(domains) == {f"z{number}": (0, 100) for number in range(3)}


def test_nodes_without_the_label_may_count_for_the_empty_value() -> None:
    cache = make_cache([*MANY, *NODES], web_pods("none", "a1"))
    domains = domains_of(cache.cluster, keys=(), absent_is_empty=True)
    assert counted(domains) == {"a": (1, 2), "b": (0, 1), "many": (0, 400)}
    cache.set_node(node("empty", ""))
    assert counted(domains) == {"a": (1, 2), "b": (0, 1), "many": (0, 400), "": (1, 2)}
    row = cache.columns.rows["none"]
    assert domains.code(row) == domains.column.code_of("")
    assert np.count_nonzero(domains.column.codes == domains.code(row)) == 1
