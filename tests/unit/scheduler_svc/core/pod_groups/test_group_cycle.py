"""Groups start together or not at all: what went wrong elsewhere, one test each, and the rest.

The numbers are those of issues of kubernetes-sigs/scheduler-plugins, koordinator and volcano.
"""

import msgspec
import pytest

from scheduler_svc.core.effects import BindPod
from scheduler_svc.core.events import (
    BindFailed,
    BindFailure,
    NodeUpserted,
    PermitDecided,
)
from scheduler_svc.core.extenders import Extender, Extenders
from scheduler_svc.core.plugins.scheduling_gates import SchedulingGates
from scheduler_svc.core.status import Code, Status
from tests.builders import SCHEDULER, at, make_node_info, make_pod_info, make_profile
from tests.gangs import make_group, make_member, make_members
from tests.scripted_plugins import Permitting, named
from tests.unit.scheduler_svc.core.pod_groups.stages import (
    FOUR_CPUS,
    TWO_CPUS,
    Stage,
    confirm_all,
    messages,
    points,
)

EXTENDERS_OBSTACLE = "extenders have a say in its Pods, and do not take part in decisions on groups"


def test_a_group_that_fits_is_bound_in_one_step() -> None:
    stage = Stage(nodes=["n1", "n2"], groups=[make_group(min_count=4)])
    stage.add(*make_members(4, requests=TWO_CPUS))
    effects = stage.scheduler.step(at(0))
    assert effects is not None
    assert [type(effect) for effect in effects] == [BindPod] * 4
    assert stage.scheduler.step(at(0)) is None


def test_a_group_that_does_not_fit_holds_nothing() -> None:
    stage = Stage(nodes=["n1", "n2"], groups=[make_group(min_count=5)])
    stage.add(*make_members(5, requests=TWO_CPUS))
    texts = messages(stage.run())
    assert set(texts.values()) == {
        "pod group gang: needs 5, 4 fit: 1 lacks cpu; 0/2 nodes are available: 2 Insufficient cpu."
    }
    assert len(texts) == 5
    assert stage.bound == {}
    assert len(stage.scheduler.cache) == 0
    stage.add(*(make_pod_info(f"p{i}", requests=TWO_CPUS) for i in range(4)))
    stage.run()
    assert len(stage.bound) == 4


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [0, 3, 1, 4, 2, 5]])
def test_two_groups_never_end_with_half_of_each(order: list[int]) -> None:
    """Scheduler-plugins 114 and 117: they interleave."""
    groups = [make_group("a", 3), make_group("b", 3)]
    stage = Stage(nodes=["n1", "n2"], groups=groups)
    pods = [*make_members(3, "a", requests=TWO_CPUS), *make_members(3, "b", requests=TWO_CPUS)]
    stage.add(*(pods[number] for number in order))
    stage.run()
    assert sorted(stage.bound) in (["a-0", "a-1", "a-2"], ["b-0", "b-1", "b-2"])


def test_the_other_group_comes_when_the_first_has_gone() -> None:
    stage = Stage(nodes=["n1", "n2"], groups=[make_group("a", 3), make_group("b", 3)])
    first = list(make_members(3, "a", requests=TWO_CPUS))
    stage.add(*first, *make_members(3, "b", requests=TWO_CPUS))
    stage.run()
    confirmed = confirm_all(stage, first)
    stage.delete(confirmed[0])
    stage.run()
    assert len(stage.bound) == 3
    stage.delete(*confirmed[1:])
    stage.wait(20)
    stage.run()
    assert sorted(stage.bound) == ["a-0", "a-1", "a-2", "b-0", "b-1", "b-2"]


def test_a_partial_gang_starves_nobody() -> None:
    """Scheduler-plugins 713: nine of ten wait at Permit and hold their room."""
    stage = Stage(nodes=[make_node_info("n1", cpu=10)], groups=[make_group(min_count=10)])
    stage.add(*make_members(9, requests={"cpu": "1"}))
    stage.run()
    stage.add(make_pod_info("p", requests={"cpu": "10"}))
    stage.run()
    assert stage.bound == {"p": "n1"}


def test_a_group_starts_at_once_when_its_last_member_comes() -> None:
    """Scheduler-plugins 358: one by one, with backoffs between them."""
    stage = Stage(groups=[make_group(min_count=4)])
    for member in make_members(4):
        assert stage.bound == {}
        stage.add(member)
        stage.run()
    assert len(stage.bound) == 4


def test_any_order_of_groups_ends_with_all_that_fit() -> None:
    """Koordinator 872: A, C, B, D deadlock."""
    names = ["a", "c", "b", "d"]
    stage = Stage(nodes=["n1", "n2"], groups=[make_group(name, 2) for name in names])
    for number in range(2):
        for name in names:
            stage.add(make_member(f"{name}-{number}", name, requests=TWO_CPUS))
    stage.run()
    assert len({name[0] for name in stage.bound}) == 2
    assert len(stage.bound) == 4


def test_no_part_below_the_minimum_is_bound() -> None:
    """Volcano 2462: after an eviction a part of the gang is scheduled."""
    stage = Stage(nodes=["n1", "n2"], groups=[make_group(min_count=3)])
    members = list(make_members(3, requests=FOUR_CPUS))
    stage.add(*members)
    stage.run()
    assert stage.bound == {}
    stage.delete(members[0])
    stage.add(make_member("new", requests=FOUR_CPUS))
    stage.run()
    assert stage.bound == {}


def test_lost_members_come_back_before_others_of_their_priority() -> None:
    """Volcano 5805: drained and uncordoned, a filler of equal priority takes the place."""
    stage = Stage(nodes=["n1", "n2"], groups=[make_group(min_count=2)])
    members = list(make_members(2, requests=FOUR_CPUS))
    stage.add(*members)
    stage.run()
    [first, _] = confirm_all(stage, members)
    stage.add(make_pod_info("filler", requests=FOUR_CPUS))
    stage.run()
    node = first.node_name
    stage.tell(NodeUpserted(make_node_info(node, unschedulable=True)))
    leaving = msgspec.structs.replace(first, is_terminating=True, resource_version="10")
    stage.add(leaving)
    stage.delete(leaving)
    stage.wait(2)
    stage.run()
    stage.tell(NodeUpserted(make_node_info(node)))
    stage.wait(2)
    stage.run()
    assert "filler" not in stage.bound
    stage.add(make_member("again", requests=FOUR_CPUS))
    stage.run()
    assert stage.bound["again"] == node
    assert "filler" not in stage.bound


def test_members_beyond_the_minimum_are_bound_if_they_fit() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1)])
    stage.add(*make_members(3, requests=TWO_CPUS))
    stage.run()
    assert len(stage.bound) == 2
    stage.tell(NodeUpserted(make_node_info("n2")))
    stage.wait(2)
    stage.run()
    assert len(stage.bound) == 3


def test_a_refused_binding_is_tried_again_with_its_room_free_for_it() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=2)])
    members = make_members(2, requests=TWO_CPUS)
    stage.add(*members)
    stage.run(confirms=False)
    stage.tell(BindFailed(members[0].uid, BindFailure.REFUSED, "no"))
    stage.confirm(members[1].uid)
    stage.bound.clear()
    stage.wait(3)
    stage.run()
    assert stage.bound == {"gang-0": "n1"}


def test_several_schedulers_in_one_group() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=2)])
    stage.add(make_member("a"), make_member("b", scheduler="other"))
    texts = messages(stage.run())
    assert texts == {"a": "pod group gang: its Pods name several schedulers: berthmaster, other"}


def test_without_nodes_members_are_tried_again() -> None:
    stage = Stage(nodes=[], groups=[make_group(min_count=2)])
    stage.add(*make_members(2))
    assert set(messages(stage.run()).values()) == {"no nodes available to schedule pods"}
    stage.tell(NodeUpserted(make_node_info("n1")))
    stage.wait(3)
    stage.run()
    assert len(stage.bound) == 2


def test_all_members_deleted_half_way() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1)])
    [member] = make_members(1)
    stage.add(member)
    stage.add(msgspec.structs.replace(member, is_terminating=True, resource_version="2"))
    assert stage.run() == []
    assert stage.scheduler.queue.place_of(member.uid) is None


def test_members_that_are_deleted_half_way_are_not_waited_for() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=2)])
    members = list(make_members(3))
    stage.add(*members)
    stage.add(msgspec.structs.replace(members[0], is_terminating=True, resource_version="2"))
    stage.run()
    assert sorted(stage.bound) == ["gang-1", "gang-2"]


def test_members_of_two_profiles_are_not_decided_together() -> None:
    profiles = [make_profile(points(), scheduler=name) for name in (SCHEDULER, "other")]
    stage = Stage(groups=[make_group(min_count=2)], profiles=profiles)
    stage.add(make_member("a"), make_member("b", scheduler="other"))
    assert set(messages(stage.run()).values()) == {
        "pod group gang: its Pods name several schedulers: berthmaster, other"
    }


def test_extenders_have_no_say_in_groups_so_their_pods_are_not_members() -> None:
    extenders = Extenders([Extender(0, filters=True)])
    stage = Stage(groups=[make_group(min_count=2)], extenders=extenders)
    stage.add(*make_members(2))
    assert set(messages(stage.run()).values()) == {"pod group gang: " + EXTENDERS_OBSTACLE}


def test_without_the_plugin_a_group_means_nothing() -> None:
    plugins = points(preEnqueue=[SchedulingGates()])
    stage = Stage(groups=[make_group(min_count=3)], plugins=plugins)
    stage.add(*make_members(2))
    stage.run()
    assert len(stage.bound) == 2


def test_members_that_wait_on_permit_count_as_placed() -> None:
    permitting = named("Holding", Permitting)([], Status(Code.WAIT), wait_seconds=100)
    stage = Stage(groups=[make_group(min_count=2)], plugins=points(permit=[permitting]))
    members = make_members(3)
    stage.add(*members[:2])
    stage.run()
    stage.add(members[2])
    stage.run()
    assert stage.scheduler.statistics().binding_count == 3
    for member in members:
        effects = stage.tell(PermitDecided(member.uid, permitting.name))
        assert [type(e) for e in effects if isinstance(e, BindPod)] == [BindPod]


def test_pods_of_a_profile_without_the_plugin_are_left_out_of_it() -> None:
    plain = points(preEnqueue=[SchedulingGates()])
    profiles = [make_profile(points(), scheduler=SCHEDULER), make_profile(plain, scheduler="plain")]
    stage = Stage(groups=[make_group(min_count=2)], profiles=profiles)
    stage.add(make_member("a"), make_member("b", scheduler="plain", requests={"cpu": "9"}))
    texts = messages(stage.run())
    assert texts["a"] == "pod group gang: its Pods name several schedulers: berthmaster, plain"
    assert texts["b"].startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_a_group_that_no_room_helps_is_in_nobodys_way() -> None:
    stage = Stage(groups=[make_group(min_count=2)])
    stage.add(*make_members(2, requests=FOUR_CPUS))
    stage.run()
    assert stage.scheduler.statistics().waiting_group_count == 1
    stage.tell_group(make_group(min_count=2, min_resources={"cpu": "many"}))
    stage.run()
    assert stage.scheduler.statistics().waiting_group_count == 0
