"""Plans of any size hold every pool and shape, and Nodes that can take all of it."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.demo.errors import SizeError
from deploy.demo.plan import MOST_PODS_PER_NODE, Plan, apportion, make_plan
from deploy.demo.resources import Resources, total
from deploy.demo.shapes import NODE_POOLS, POD_SHAPES, POOL_BY_NAME, ZONES, PodShape

DEFAULT = make_plan(100, 500)


def test_the_default_is_the_tables() -> None:
    assert DEFAULT.counts == {shape.name: shape.share for shape in POD_SHAPES}
    assert Counter(node.pool.name for node in DEFAULT.nodes) == {
        pool.name: pool.share for pool in NODE_POOLS
    }
    assert len(DEFAULT.nodes) == 100
    assert DEFAULT.pod_count == 500
    assert DEFAULT.bound_count == 498


def test_it_shows_what_it_says() -> None:
    """Three zones, several sizes, GPUs, taints, one cordoned; two Pods that never fit."""
    assert {node.zone for node in DEFAULT.nodes} == set(ZONES)
    assert len({node.pool.allocatable for node in DEFAULT.nodes}) >= 4
    assert any(node.pool.allocatable.gpu_count for node in DEFAULT.nodes)
    assert any(node.pool.taint for node in DEFAULT.nodes)
    assert sum(node.pool.is_cordoned for node in DEFAULT.nodes) == 1
    assert [pod.name for pod in DEFAULT.impossible] == ["too-large-0000", "nowhere-0000"]
    assert len(DEFAULT.gated) == 20


def test_shapes_are_mixed() -> None:
    """No long run of one shape: a quarter of the way in, a quarter of each has come."""
    first = Counter(pod.shape.name for pod in DEFAULT.pods[: len(DEFAULT.pods) // 4])

    assert first["plain"] == pytest.approx(DEFAULT.counts["plain"] / 4, abs=2)
    assert first["gpu"] == pytest.approx(DEFAULT.counts["gpu"] / 4, abs=2)


def test_the_deployments_pods_are_left_to_it() -> None:
    assert not any(pod.shape.from_deployment for pod in DEFAULT.pods)
    assert len(DEFAULT.pods) == DEFAULT.pod_count - DEFAULT.counts["deployment"]


def test_names_are_unique() -> None:
    assert len({pod.name for pod in DEFAULT.pods}) == len(DEFAULT.pods)
    assert len({node.name for node in DEFAULT.nodes}) == len(DEFAULT.nodes)


@given(data=st.data())
def test_everything_fits_at_any_size(data: st.DataObject) -> None:
    """Even if the other Pods that may run on a shape's Nodes have come first."""
    node_count = data.draw(st.integers(10, 300))
    plan = make_plan(node_count, data.draw(st.integers(50, MOST_PODS_PER_NODE * node_count)))

    assert all(count >= 1 for count in plan.counts.values())
    assert {node.pool.name for node in plan.nodes} == {pool.name for pool in NODE_POOLS}
    for shape in POD_SHAPES:
        if not shape.is_impossible:
            assert_fits(plan, shape)


def assert_fits(plan: Plan, shape: PodShape) -> None:
    nodes = [n for n in plan.nodes if n.pool.name in shape.pools and n.zone in shape.zones]
    rivals = [r for r in POD_SHAPES if set(r.pools) & set(shape.pools)]
    taken = total(times(rival.requests, plan.counts[rival.name]) for rival in rivals)
    # On each Node less than one Pod's requests can be left over before the Node counts as full.
    counts = Counter(node.pool.name for node in nodes)
    usable = total(
        times(less(POOL_BY_NAME[name].allocatable, shape.requests), count)
        for name, count in counts.items()
    )

    assert taken.fits_in(usable + shape.requests), shape.name
    if shape.host_ports:
        assert plan.counts[shape.name] <= len(nodes)


def times(amounts: Resources, count: int) -> Resources:
    return Resources(
        milli_cpu=amounts.milli_cpu * count,
        memory_mib=amounts.memory_mib * count,
        gpu_count=amounts.gpu_count * count,
    )


def less(whole: Resources, part: Resources) -> Resources:
    gpu_count = whole.gpu_count - (part.gpu_count - 1 if part.gpu_count else 0)
    return Resources(
        milli_cpu=whole.milli_cpu - part.milli_cpu,
        memory_mib=whole.memory_mib - part.memory_mib,
        gpu_count=gpu_count,
    )


@given(shares=st.lists(st.integers(1, 200), min_size=1, max_size=20), surplus=st.integers(0, 5000))
def test_apportioning_loses_nothing(shares: list[int], surplus: int) -> None:
    counts = apportion(len(shares) + surplus, shares)

    assert sum(counts) == len(shares) + surplus
    assert min(counts) >= 1


def test_apportioning_is_by_largest_remainder() -> None:
    assert apportion(10, [50, 30, 20]) == [5, 3, 2]
    assert apportion(11, [50, 30, 20]) == [6, 3, 2]
    assert apportion(3, [98, 1, 1]) == [1, 1, 1]


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(SizeError) as caught:
        make_plan(5, 3)

    assert str(caught.value).splitlines() == [
        "--nodes 5: 10 to 1000 are possible",
        "--pods 3: 50 to 80 are possible with 10 Nodes (all of them must fit: at most 8 a Node)",
    ]


def test_pods_go_with_nodes_where_only_nodes_are_asked_for() -> None:
    assert make_plan(100).pod_count == 500
    assert make_plan(10).pod_count == 50
    with pytest.raises(SizeError) as caught:
        make_plan(5)
    assert str(caught.value) == "--nodes 5: 10 to 1000 are possible"


def test_more_pods_than_fit_are_refused() -> None:
    make_plan(100, 800)
    with pytest.raises(SizeError, match="--pods 801: 50 to 800 are possible with 100 Nodes"):
        make_plan(100, 801)
