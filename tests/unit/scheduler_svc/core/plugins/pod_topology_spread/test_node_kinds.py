"""Kinds of Nodes: what each row's kind says is what is true of the Node."""

import numpy as np
import pytest

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.label_selectors import compile_selector
from scheduler_svc.core.plugins.pod_topology_spread.node_kinds import NodeKinds, Trait
from scheduler_svc.core.plugins.pod_topology_spread.rules import HOSTNAME, ZONE, SpreadConstraint
from scheduler_svc.core.pod_counts import PodCounter
from tests.builders import make_cache, make_node_info, make_pod_info
from tests.unit.scheduler_svc.core.plugins.pod_topology_spread.spreading import (
    IS_WEB,
    WEB,
    node,
    web_pods,
)

MANY = [node(f"many-{i}", "many") for i in range(300)]


def web_counter(cache: Cache) -> PodCounter:
    query = SpreadConstraint(1, HOSTNAME, compile_selector(IS_WEB)).query("default")
    return cache.cluster.pod_counts.counter(query)


def kinds_of(cache: Cache, counter: PodCounter) -> NodeKinds:
    zone, hostname = (cache.columns.label_column(key) for key in (ZONE, HOSTNAME))
    return NodeKinds(cache.columns, [Trait(zone), Trait(hostname, counter.tally)])


def check(kinds: NodeKinds, cache: Cache, counter: PodCounter) -> None:
    """Compare the levels of every row's kind with the Node's labels and Pods."""
    kinds.refresh()
    zone, hostname = (cache.columns.label_column(key) for key in (ZONE, HOSTNAME))
    assert len(kinds.of_row) == cache.columns.capacity
    assert kinds.of_row.min() > 0
    assert kinds.of_row.dtype.kind == "u"
    levels = kinds.levels[:, kinds.of_row]
    assert levels[0].tolist() == zone.codes.tolist()
    counts = np.where(hostname.codes < 0, -1, counter.tally.counts)
    assert levels[1].tolist() == counts.tolist()
    assert kinds.levels[:, 0].tolist() == [-1, -1]
    known = len(cache.columns.infos)
    for divisor in (1, 2, 3, 5, 7, 1, known, 1):
        nodes = np.arange(known) % divisor == 0
        nodes[known // 2] ^= divisor == known
        counts = np.bincount(kinds.of_row[:known][nodes], minlength=kinds.levels.shape[1])
        assert kinds.counts(nodes) == counts.tolist()


@pytest.mark.parametrize("others", [[], MANY])
def test_every_change_is_followed(others: list[object]) -> None:
    cache = make_cache([node("a1", "a"), node("b1", "b"), node("none"), *(MANY if others else [])])
    counter = web_counter(cache)
    kinds = kinds_of(cache, counter)
    check(kinds, cache, counter)
    pods = web_pods("a1", "a1", "b1", "none")
    for pod in pods:
        cache.upsert(pod)
        check(kinds, cache, counter)
    version = kinds.version
    check(kinds, cache, counter)
    assert kinds.version == version
    cache.remove(pods[0].uid)
    cache.set_node(node("none", "c"))
    cache.set_node(make_node_info("bare"))
    check(kinds, cache, counter)
    cache.remove_node("b1")
    check(kinds, cache, counter)


def test_a_kind_that_came_before_changes_no_levels() -> None:
    cache = make_cache(MANY)
    counter = web_counter(cache)
    kinds = kinds_of(cache, counter)
    for pod in web_pods("many-0", "many-1"):
        cache.upsert(pod)
        check(kinds, cache, counter)
    version = kinds.version
    for pod in web_pods("many-2", "many-3"):
        cache.upsert(pod)
        check(kinds, cache, counter)
    assert kinds.version == version


def test_there_may_be_more_kinds_than_a_byte_tells_apart() -> None:
    cache = make_cache(MANY)
    counter = web_counter(cache)
    kinds = kinds_of(cache, counter)
    check(kinds, cache, counter)
    for number in range(300):
        cache.upsert(make_pod_info(f"p{number}", labels=WEB, node="many-0"))
        check(kinds, cache, counter)
    assert kinds.levels.shape[1] > 256
    assert kinds.of_row.itemsize == 2


def test_kinds_of_which_no_node_is_left_are_forgotten_in_the_end() -> None:
    cache = make_cache(MANY[:70])
    counter = web_counter(cache)
    kinds = kinds_of(cache, counter)
    most = 0
    for number in range(400):
        cache.upsert(make_pod_info(f"p{number}", labels=WEB, node="many-0"))
        check(kinds, cache, counter)
        most = max(most, kinds.levels.shape[1])
    assert most <= 2 * cache.columns.capacity + 66
    assert kinds.levels.shape[1] < most


def test_more_changes_than_the_logs_hold() -> None:
    cache = make_cache([*MANY, node("a1", "a")])
    counter = web_counter(cache)
    kinds = kinds_of(cache, counter)
    check(kinds, cache, counter)
    for number in range(1500):
        cache.upsert(make_pod_info(f"p{number}", labels=WEB, node="a1"))
    check(kinds, cache, counter)


def test_traits_of_which_there_are_many() -> None:
    """Zones and hosts of a kind of their own each, more pairs than could be looked up."""
    cache = make_cache([node(f"n{i}", f"z{i}") for i in range(300)])
    pods = [make_pod_info(f"p{i}", labels=WEB, node="n7") for i in range(40)]
    for pod in pods:
        cache.upsert(pod)
    counter = web_counter(cache)
    kinds = kinds_of(cache, counter)
    check(kinds, cache, counter)
    assert kinds.levels.shape[1] == 302


def test_a_few_nodes_may_come_and_go_among_those_that_are_counted() -> None:
    cache = make_cache(MANY, web_pods("many-1", "many-2"))
    counter = web_counter(cache)
    kinds = kinds_of(cache, counter)
    check(kinds, cache, counter)
    nodes = np.ones(300, dtype=np.bool_)
    before = kinds.counts(nodes)
    assert sorted(before) == [0, 0, 2, 298]
    for row, expected in ((0, [0, 0, 2, 297]), (1, [0, 0, 1, 297]), (2, [0, 0, 0, 297])):
        nodes[row] = False
        assert sorted(kinds.counts(nodes)) == expected
    nodes[1] = True
    assert sorted(kinds.counts(nodes)) == [0, 0, 1, 297]
