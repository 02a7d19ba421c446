from pathlib import Path

import msgspec
import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.workloads import DEFAULT_FILE, NodeShape, load_workloads, pick

DEVICE = "example.com/device"


def test_the_sizes_are_those_that_were_agreed_on() -> None:
    workloads = load_workloads()
    sizes = [(each.node_count, each.pod_count, each.class_count) for each in workloads.core]
    assert sizes[:2] == [(5_000, 30_000, 50), (50_000, 30_000, 50)]
    assert (workloads.end_to_end.node_count, workloads.end_to_end.pod_count) == (5_000, 3_000)
    assert workloads.end_to_end.create_concurrency == 32
    footprint = workloads.footprint
    assert (footprint.node_count, footprint.pod_count) == (5_000, 50_000)
    assert footprint.class_count == 1_000


def test_a_quick_run_is_smaller_in_sizes_only() -> None:
    full, quick = load_workloads(), load_workloads(quick=True)
    assert quick.end_to_end.pod_count < full.end_to_end.pod_count
    assert quick.footprint.pod_count < full.footprint.pod_count
    assert all(q.pod_count < f.pod_count for q, f in zip(quick.core, full.core, strict=True))
    assert quick.core[1].node_count == 10 * quick.core[0].node_count
    assert (quick.goals, quick.node_pools) == (full.goals, full.node_pools)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("in_flight_count", "in_fligth_count", "in_fligth_count"),
        ("pod_count = 3_000", "pod_count = 0", "pod_count"),
        ('node_pool = "mixed"', 'node_pool = "missing"', "no node pool 'missing'"),
        ('pod_pool = "plain"', 'pod_pool = "missing"', "no pod pool 'missing'"),
        ('placed_pools = ["affinity"]', 'placed_pools = ["no"]', "no pod pool 'no'"),
        ('pod_pool = "preemptor"', 'pod_pool = "no"', "no pod pool 'no'"),
        ('waiting_pool = "larger_than_any_node"', 'waiting_pool = "no"', "no pod pool 'no'"),
        ('objects = ["csi_node"]', 'objects = ["no"]', "no object 'no'"),
        ('objects = ["churn_node"', 'objects = ["no"', "no object 'no'"),
        ('filterVerb = "filter"', 'filterVerb = "filtre"', "filtre"),
        ("nodeCacheCapable", "nodeCacheCapabel", "nodeCacheCapabel"),
        ("[end_to_end]", "[end_to_end", "line"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_place(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    text = DEFAULT_FILE.read_text().replace(
        "class_count = 50", "class_count = 50\nin_flight_count = 8", 1
    )
    assert old in text
    path = tmp_path / "workloads.toml"
    path.write_text(text.replace(old, new))
    with pytest.raises(BenchmarkError) as caught:
        load_workloads(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert complaint in str(caught.value)


def test_a_mistake_in_quick_sizes_is_told(tmp_path: Path) -> None:
    path = tmp_path / "workloads.toml"
    path.write_text(DEFAULT_FILE.read_text().replace("quick = { node_count", "quick = { nodes"))
    with pytest.raises(BenchmarkError, match="nodes"):
        load_workloads(path, quick=True)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="No such file"):
        load_workloads(tmp_path / "none.toml")


def test_shapes_come_in_turn_as_often_as_their_shares() -> None:
    shapes = [NodeShape(allocatable={"cpu": str(share)}, share=share) for share in (2, 1, 3)]
    picked = [pick(shapes, index).share for index in range(12)]
    assert picked == [2, 2, 1, 3, 3, 3] * 2


def test_the_shapes_with_goals_are_those_that_were_agreed_on() -> None:
    shapes = load_workloads().shapes
    assert {shape.name: shape.raw_ratio for shape in shapes if shape.raw_ratio} == {
        "hard-spread": 0.8,
        "required-anti-affinity": 0.8,
        "preferred-affinity": 0.8,
    }
    assert all(shape.node_count == 5_000 for shape in shapes if shape.raw_ratio)
    assert len({shape.name for shape in shapes}) == len(shapes)


def test_the_extenders_are_those_that_were_agreed_on() -> None:
    everybodys, managing = (shape for shape in load_workloads().shapes if shape.extender)
    assert (everybodys.name, managing.name) == ("extender-filter", "extender-managed")
    assert everybodys.node_count == managing.node_count == 5_000
    assert msgspec.to_builtins(everybodys.extender) == {
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 1,
        "nodeCacheCapable": True,
    }
    assert msgspec.to_builtins(managing.extender) == {
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 1,
        "managedResources": ({"name": "example.com/managed", "ignoredByScheduler": True},),
        "ignorable": True,
    }


def test_the_small_size_is_smaller_in_every_shape() -> None:
    for full, small in zip(load_workloads().shapes, load_workloads(quick=True).shapes, strict=True):
        assert small.pod_count < full.pod_count
        assert small.placed_count <= full.placed_count


@pytest.mark.parametrize("quick", [False, True])
def test_no_two_pods_that_avoid_each_other_have_to_share_a_node(quick: bool) -> None:
    for shape in load_workloads(quick=quick).shapes:
        if shape.name.startswith("required-anti-affinity"):
            assert shape.placed_count + shape.pod_count <= shape.node_count


def test_the_groups_and_their_goals_are_those_that_were_agreed_on() -> None:
    fitting, *beside = load_workloads().pod_groups
    assert (fitting.node_count, fitting.pod_count) == (500, 5_000)
    assert [variant.member_count for variant in fitting.variants] == [50]
    assert (fitting.plain_ratio, fitting.together_seconds) == (0.8, 1)
    for workload in beside:
        assert (workload.pod_count, workload.waiting_group_count) == (1_000, 1_000)
        assert workload.plain_ratio == 0.9


@pytest.mark.parametrize("quick", [False, True])
def test_groups_that_are_to_wait_do_not_fit(quick: bool) -> None:
    workloads = load_workloads(quick=quick)
    (node, *_) = workloads.node_pools["pod_groups"]
    cores = float(node.allocatable["cpu"])
    for workload in workloads.pod_groups:
        devices = sum(
            int(pick(workloads.node_pools["pod_groups"], index).allocatable.get(DEVICE, 0))
            for index in range(workload.node_count)
        )
        for variant in workload.variants:
            if variant.waiting_pool:
                template = workloads.pod_pools[variant.waiting_pool][0]
                is_large = template.requests.milli_cpu > cores * 1000
                needs_devices = variant.waiting_member_count * ("containers" in template.spec)
                assert is_large or needs_devices > devices > 0
