"""Scores by resources that a DeviceClass stands for, where Nodes offer none of them."""

import pytest

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.framework.cluster_evaluation import evaluation_of
from scheduler_svc.core.framework.interface import Plugin
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.resource_scoring import (
    LeastAllocated,
    MostAllocated,
    RequestedToCapacityRatio,
    ShapePoint,
)
from scheduler_svc.core.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
)
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from tests.builders import GPU, make_node_info, make_pod_info, make_profile
from tests.device_builders import (
    allocation,
    device,
    device_cluster,
    drop,
    make_claim,
    make_class,
    make_slice,
    put,
    result,
)

GPUS = make_class("gpus", extendedResourceName=GPU)
POD = make_pod_info(requests={GPU: 1})
BY_GPU = ((GPU, 1),)
SHAPE = [ShapePoint(0, 0), ShapePoint(100, 10)]
HELD = make_claim("held", status={"allocation": allocation(result("d0", "n1"))})


def cluster_of_three() -> Cluster:
    """n1 has four devices, one of them taken; n2 offers four itself; n3 has none."""
    nodes = [make_node_info("n1"), make_node_info("n2", offers={GPU: 4}), make_node_info("n3")]
    devices = [device(f"d{number}") for number in range(4)]
    return device_cluster(nodes, GPUS, make_slice("n1", devices, nodeName="n1"), HELD)


def scores(plugin: Plugin, cluster: Cluster) -> list[int]:
    """Give the scores of the three Nodes."""
    points = {"preScore": [plugin], "score": [plugin]}
    evaluation = evaluation_of(prepare(make_profile(points), POD, cluster))
    evaluation.refresh(cluster.columns)
    found: list[int] = evaluation.totals[:3].tolist()
    return found


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        # n1: two of four would be used; n2: one of four.
        (NodeResourcesFit(LeastAllocated(BY_GPU)), [50, 75, 0]),
        (NodeResourcesFit(MostAllocated(BY_GPU)), [50, 25, 0]),
        (NodeResourcesFit(RequestedToCapacityRatio(SHAPE, BY_GPU)), [50, 25, 0]),
        # CPU: nothing of it is used. n1: 0.25 and 0, then 0.5 and 0: deviations 0.125, 0.25, so
        # 75 after 87. n2: 0 and 0, then 0.25 and 0: 87 after 100.
        (NodeResourcesBalancedAllocation((("cpu", 1), (GPU, 1))), [69, 68, 75]),
    ],
)
def test_devices_count_where_the_node_offers_none(plugin: Plugin, expected: list[int]) -> None:
    assert scores(plugin, cluster_of_three()) == expected


def test_other_resources_keep_their_share() -> None:
    # n1: CPU 100m of 4, devices 2 of 4. n3: CPU alone.
    plugin = NodeResourcesFit(LeastAllocated((("cpu", 1), (GPU, 3))))
    cluster = cluster_of_three()
    for name in ("n1", "n3"):
        cluster.columns.set_node(make_node_info(name, cpu=4))
    n1, _, n3 = scores(plugin, cluster)
    assert (n1, n3) == ((97 + 3 * 50) // 4, 97)


def test_a_kept_evaluation_follows_the_devices() -> None:
    cluster = cluster_of_three()
    for plugin, before, after in (
        (NodeResourcesFit(MostAllocated(BY_GPU)), 50, 25),
        (NodeResourcesBalancedAllocation((("cpu", 1), (GPU, 1))), 69, 68),
    ):
        put(cluster, HELD)
        points = {"preScore": [plugin], "score": [plugin]}
        evaluation = evaluation_of(prepare(make_profile(points), POD, cluster))
        evaluation.refresh(cluster.columns)
        assert evaluation.totals[0] == before
        drop(cluster, HELD)
        evaluation.refresh(cluster.columns)
        assert evaluation.totals[0] == after


def test_a_class_that_comes_makes_pods_another_class() -> None:
    plugin = NodeResourcesBalancedAllocation((("cpu", 1), (GPU, 1)))
    without, having = device_cluster([]), device_cluster([], GPUS)
    assert plugin.projection(POD, without) != plugin.projection(POD, having)
    assert plugin.projection(make_pod_info(), having) is None
    assert NodeResourcesBalancedAllocation().projection(POD, having) is None


def test_without_devices_the_version_stands_still() -> None:
    cluster = device_cluster([make_node_info("n1", offers={GPU: 4})])
    plugin = NodeResourcesFit(MostAllocated(BY_GPU))
    _, state = plugin.pre_score(POD, cluster)
    assert plugin.score_version(state, cluster.columns) is None
    assert not plugin.asks_version_always(state)
    assert plugin.score(state, NodeView(cluster.columns, slice(0, 1))).tolist() == [25]
