"""Counting Pods off Nodes and on again: both ways give the same, and leave nothing behind."""

import numpy as np
import pytest

from scheduler_svc.core.cache import Cache, describe
from scheduler_svc.core.columns import CPU_ROW, PODS_ROW
from scheduler_svc.core.objects import ContainerPort
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.preemption.counting import ColumnCounting, FullCounting
from scheduler_svc.core.preemption.nodes import SearchedNode
from tests.builders import make_cache, make_node_info, make_pod_info

PORT = (("TCP", 80, "0.0.0.0"),)  # noqa: S104 - data


def host_port(number: int) -> list[ContainerPort]:
    return [ContainerPort(host_port=number)]


def cluster() -> tuple[Cache, list[SearchedNode]]:
    pods: dict[int, list[PodInfo]] = {
        0: [
            make_pod_info("a", node="n0", requests={"cpu": 1}),
            make_pod_info("b", node="n0", requests={"cpu": 2}, ports=host_port(80)),
        ],
        1: [make_pod_info("c", node="n1", requests={"cpu": "500m"})],
        2: [make_pod_info("d", node="n2", requests={"cpu": 3}, ports=host_port(80))],
    }
    nodes = [make_node_info(f"n{row}") for row in pods]
    cache = make_cache(nodes, [pod for on_node in pods.values() for pod in on_node])
    searched = [SearchedNode(row, on_node) for row, on_node in pods.items()]
    for node in searched:
        node.take_turns([], node.pods)
    return cache, searched


def cpu(cache: Cache) -> list[int]:
    amounts: list[int] = cache.columns.free[CPU_ROW, :3].tolist()
    assert np.array_equal(cache.columns.room, cache.columns.free)
    return amounts


def port_80(cache: Cache) -> list[bool]:
    free = cache.columns.ports.free(PORT, slice(0, 3))
    assert free is not None
    result: list[bool] = free.tolist()
    return result


@pytest.mark.parametrize("kind", [FullCounting, ColumnCounting])
def test_pods_go_and_come_back_in_turn(kind: type[FullCounting]) -> None:
    cache, nodes = cluster()
    before, position = describe(cache.columns), cache.columns.usage_log.position
    with kind(cache, nodes) as counting:
        counting.remove_all()
        assert cpu(cache) == [4000, 4000, 4000]
        assert cache.columns.free[PODS_ROW, :3].tolist() == [110, 110, 110]
        assert port_80(cache) == [True, True, True]
        counting.add(nodes, 0)
        assert cpu(cache) == [3000, 3500, 1000]
        assert port_80(cache) == [True, True, False]
        counting.remove([nodes[0], nodes[2]], 0)
        assert cpu(cache) == [4000, 3500, 4000]
        counting.add(nodes[:1], 1)
        assert cpu(cache) == [2000, 3500, 4000]
        assert port_80(cache) == [False, True, True]
    assert describe(cache.columns) == before
    assert cache.columns.usage_log.position == position
    assert cache.cluster.speculated == []
    cache.validate()


def test_nothing_is_counted_of_no_nodes() -> None:
    cache, _ = cluster()
    with ColumnCounting(cache, []) as counting:
        counting.remove_all()
        counting.add([], 0)
        counting.remove([], 0)
    cache.validate()
