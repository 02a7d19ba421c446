"""Pools of slices: complete or not, valid or not, in order."""

from typing import Any

import pytest

from scheduler_svc.core.device_objects import ResourceSlice
from scheduler_svc.core.devices.pools import Pool, PoolView, view_of
from tests.device_builders import device, make_slice, published

COUNTERS = [{"name": "cs", "counters": {"memory": {"value": "80Gi"}}}]


def consuming(name: str, counter_set: str = "cs", counter: str = "memory") -> dict[str, Any]:
    counters = {counter: {"value": "10Gi"}} if counter else {}
    return device(name, consumesCounters=[{"counterSet": counter_set, "counters": counters}])


def see(*seen: ResourceSlice, unseen: tuple[ResourceSlice, ...] = ()) -> PoolView | None:
    """Give what a Node that sees some slices of a pool sees of it."""
    ready = published(*seen, *unseen)
    pool = Pool(("gpu.example", "p"), 0, tuple(ready))
    return view_of(pool, [(one, None) for one in ready[: len(seen)]])


def names(view: PoolView | None) -> list[str]:
    assert view is not None
    return [one.id[2] for one in view.devices]


def test_slices_are_taken_by_name_and_devices_in_their_order() -> None:
    view = see(
        make_slice("b", [device("d1"), device("d0")], pool="p", count=2),
        make_slice("a", [device("d9")], pool="p", count=2),
    )
    assert names(view) == ["d9", "d1", "d0"]
    assert view is not None
    assert view.name == "gpu.example/p"


def test_only_the_newest_generation_counts() -> None:
    old = make_slice("a", [device("old")], pool="p", generation=1)
    new = make_slice("b", [device("new")], pool="p", generation=2)
    assert names(see(old, new)) == ["new"]


def test_a_pool_that_is_being_replaced_elsewhere_is_not_seen() -> None:
    old = make_slice("a", [device("d0")], pool="p", count=2, generation=1)
    new = make_slice("b", [device("d0")], pool="p", generation=2)
    assert see(old, unseen=(new,)) is None


def test_a_pool_is_complete_with_slices_that_others_see() -> None:
    own = make_slice("a", [device("d0")], pool="p", count=2)
    others = make_slice("b", [device("d1")], pool="p", count=2)
    assert names(see(own, unseen=(others,))) == ["d0"]
    lonely = see(own)
    assert lonely is not None
    assert (lonely.is_incomplete, lonely.devices) == (True, ())


@pytest.mark.parametrize(
    "slices",
    [
        [make_slice("a", [device("d0"), device("d0")], pool="p")],
        [make_slice("a", [consuming("d0")], pool="p")],
        [make_slice("a", [consuming("d0", counter="")], pool="p")],
        [
            make_slice("a", [consuming("d0", counter="other")], pool="p", count=2),
            make_slice("b", pool="p", count=2, sharedCounters=COUNTERS),
        ],
        [make_slice("b", pool="p", sharedCounters=COUNTERS * 2)],
    ],
    ids=["names twice", "no set", "no set of nothing", "no counter", "sets twice"],
)
def test_a_pool_with_a_contradiction_is_invalid(slices: list[ResourceSlice]) -> None:
    view = see(*slices)
    assert view is not None
    assert (view.is_invalid, view.devices) == (True, ())


def test_counters_are_taken_by_devices_that_the_node_does_not_see() -> None:
    own = make_slice("a", [consuming("d0"), device("d1")], pool="p", count=3)
    others = make_slice("b", [consuming("d2")], pool="p", count=3)
    counters = make_slice("c", pool="p", count=3, sharedCounters=COUNTERS)
    view = see(own, counters, unseen=(others,))
    assert names(view) == ["d0", "d1"]
    assert view is not None
    assert [one.id[2] for one in view.counting] == ["d0", "d2"]
    assert view.counters == {"cs": {"memory": 80 * 2**30 * 10**9}}


def test_what_takes_time_to_bind_comes_last() -> None:
    slow = see(make_slice("a", [device("d0", bindingConditions=["ready"])], pool="p"))
    quick = see(make_slice("a", [device("d0")], pool="p"))
    assert slow is not None
    assert quick is not None
    assert slow.sort_key > quick.sort_key


def test_devices_for_other_nodes_are_hidden() -> None:
    (ready,) = published(make_slice("a", [device("d0"), device("d1")], pool="p"))
    view = view_of(Pool(ready.pool_id, 0, (ready,)), [(ready, frozenset({1}))])
    assert view is not None
    assert view.hidden == {("gpu.example", "p", "d0")}
