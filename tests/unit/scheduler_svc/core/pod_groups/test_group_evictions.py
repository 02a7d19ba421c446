"""Victims are chosen only if the whole group fits then."""

import msgspec
import pytest

from scheduler_svc.core.effects import EvictPods
from scheduler_svc.core.events import EvictionFinished
from tests.builders import make_pod_info
from tests.gangs import make_group, make_member, make_members
from tests.unit.scheduler_svc.core.pod_groups.stages import (
    FOUR_CPUS,
    Stage,
    messages,
    points,
)


def staged(min_count: int, low_count: int = 2) -> Stage:
    low = [
        make_pod_info(f"low{i}", node=f"n{i % 2 + 1}", requests=FOUR_CPUS) for i in range(low_count)
    ]
    return Stage(nodes=["n1", "n2"], groups=[make_group(min_count=min_count)], placed=low)


def test_nobody_is_evicted_for_a_part() -> None:
    stage = staged(min_count=3)
    stage.add(*make_members(3, requests=FOUR_CPUS, priority=10))
    effects = stage.run()
    assert not [e for e in effects if isinstance(e, EvictPods)]
    assert messages(effects)["gang-0"].startswith("pod group gang: needs 3, 0 fit: 3 lack cpu")
    assert len(stage.scheduler.nominator) == 0


def test_all_are_evicted_for_the_whole() -> None:
    stage = staged(min_count=2)
    members = make_members(2, requests=FOUR_CPUS, priority=10)
    stage.add(*members)
    effects = stage.run()
    evictions = [e for e in effects if isinstance(e, EvictPods)]
    assert sorted(v.pod.name for e in evictions for v in e.victims) == ["low0", "low1"]
    assert set(messages(effects).values()) == {"pod group gang: waiting for preemption to complete"}
    stage.add(make_pod_info("newcomer", requests=FOUR_CPUS))
    for number, eviction in enumerate(evictions):
        stage.tell(EvictionFinished(eviction.eviction_id))
        [victim] = eviction.victims
        stage.delete(make_pod_info(victim.pod.name))
        stage.wait(2)
        stage.run()
        assert len(stage.bound) == (2 if number else 0)
    assert "newcomer" not in stage.bound


def test_a_member_without_victims_waits_for_the_others() -> None:
    stage = staged(min_count=2, low_count=1)
    members = make_members(2, requests=FOUR_CPUS, priority=10)
    stage.add(*members)
    [eviction] = [e for e in stage.run() if isinstance(e, EvictPods)]
    stage.add(make_member("third", requests={"cpu": "1"}, priority=10))
    stage.wait(2)
    stage.run()
    assert stage.bound == {}
    stage.tell(EvictionFinished(eviction.eviction_id))
    stage.wait(2)
    stage.run()
    assert stage.bound == {}
    stage.delete(make_pod_info("low0"))
    stage.wait(12)
    stage.run()
    assert len(stage.bound) >= 2


def test_members_do_not_evict_one_another() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=2)])
    stage.add(make_member("low", requests=FOUR_CPUS))
    stage.add(make_member("high", requests=FOUR_CPUS, priority=10))
    effects = stage.run()
    assert not [e for e in effects if isinstance(e, EvictPods)]
    assert stage.bound == {}


def test_without_a_plugin_for_it_nobody_is_evicted() -> None:
    low = [make_pod_info("low", node="n1", requests=FOUR_CPUS)]
    plugins = points(postFilter=[])
    stage = Stage(groups=[make_group(min_count=1)], placed=low, plugins=plugins)
    stage.add(*make_members(1, requests=FOUR_CPUS, priority=10))
    assert not [e for e in stage.run() if isinstance(e, EvictPods)]


def test_a_group_whose_victims_are_leaving_evicts_nobody_else() -> None:
    """Its members come back when the first victim goes, and find the second still there."""
    stage = staged(min_count=2)
    members = make_members(2, requests=FOUR_CPUS, priority=10)
    stage.add(*members)
    evictions = [e for e in stage.run() if isinstance(e, EvictPods)]
    for eviction in evictions:
        stage.tell(EvictionFinished(eviction.eviction_id))
    [first] = evictions[0].victims
    stage.delete(make_pod_info(first.pod.name))
    stage.wait(2)
    effects = stage.run()
    assert not [e for e in effects if isinstance(e, EvictPods)]
    assert stage.bound == {}
    assert set(stage.scheduler.nominator.node_names) == {member.uid for member in members}


def test_an_eviction_that_fails_is_tried_again() -> None:
    stage = staged(min_count=2)
    stage.add(*make_members(2, requests=FOUR_CPUS, priority=10))
    for eviction in [e for e in stage.run() if isinstance(e, EvictPods)]:
        stage.tell(EvictionFinished(eviction.eviction_id, "refused"))
    stage.wait(3)
    assert len([e for e in stage.run() if isinstance(e, EvictPods)]) == 2


@pytest.mark.parametrize("min_count", [1, 2])
def test_victims_that_take_their_time_are_waited_for_and_then_the_group_is_bound(
    min_count: int,
) -> None:
    """They are evicted, terminate for some seconds, and go one after the other."""
    stage = staged(min_count=min_count)
    members = make_members(min_count, requests=FOUR_CPUS, priority=10)
    stage.add(*members)
    evictions = [e for e in stage.run() if isinstance(e, EvictPods)]
    victims = [victim.pod.name for e in evictions for victim in e.victims]
    assert len(victims) == min_count
    low = {
        f"low{i}": make_pod_info(f"low{i}", node=f"n{i + 1}", requests=FOUR_CPUS) for i in (0, 1)
    }
    for name in victims:
        leaving = msgspec.structs.replace(low[name], is_terminating=True, is_preempted=True)
        stage.add(msgspec.structs.replace(leaving, resource_version="2"))
    for eviction in evictions:
        stage.tell(EvictionFinished(eviction.eviction_id))
    for _ in range(3):
        stage.wait(2)
        stage.run()
    assert stage.bound == {}
    for name in victims:
        stage.delete(low[name])
        stage.wait(1)
        stage.run()
    stage.wait(11)
    stage.run()
    assert sorted(stage.bound) == [member.name for member in members]
