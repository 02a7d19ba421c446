"""Pods of a group of which too few are there are told so, after a while."""

import msgspec

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.effects import (
    Effect,
    EvictPods,
    PatchNomination,
    PatchPodCondition,
    RecordEvent,
)
from scheduler_svc.core.events import EvictionFinished, ObjectDeleted
from scheduler_svc.core.pods import PodInfo
from tests.builders import at, make_pod_info
from tests.gangs import make_group, make_member, make_members
from tests.unit.scheduler_svc.core.pod_groups.stages import FOUR_CPUS, Stage, messages


def told(stage: Stage, seconds: float) -> list[Effect]:
    """Give what is told by then."""
    stage.seconds = seconds
    return stage.scheduler.expire(at(seconds))


def test_pods_are_told_after_five_seconds_by_event_and_condition() -> None:
    stage = Stage(groups=[make_group(min_count=3)])
    stage.add(*make_members(2))
    assert told(stage, 4.9) == []
    assert stage.scheduler.next_deadline() == 5
    effects = told(stage, 5)
    text = "pod group gang: needs 3 Pods, has 2"
    assert messages(effects) == {"gang-0": text, "gang-1": text}
    assert [e.note for e in effects if isinstance(e, RecordEvent)] == [text, text]
    assert told(stage, 20) == []


def test_nobody_is_told_of_a_group_that_is_complete_by_then() -> None:
    stage = Stage(groups=[make_group(min_count=2)])
    for member in make_members(2):
        stage.add(member)
    assert told(stage, 5) == []


def test_a_change_is_told_to_those_who_do_not_know() -> None:
    stage = Stage(groups=[make_group(min_count=3)])
    [first, second] = make_members(2)
    stage.add(first)
    [_, patch] = told(stage, 5)
    assert isinstance(patch, PatchPodCondition)
    assert patch.is_transition
    stage.add(msgspec.structs.replace(first, condition=(patch.reason, patch.message)))
    stage.add(second)
    text = "pod group gang: needs 3 Pods, has 2"
    effects = told(stage, 10)
    assert messages(effects) == {"gang-0": text, "gang-1": text}
    # The watch has not told that this was written: it may come over what is there now.
    stage.delete(second)
    assert messages(told(stage, 15)) == {"gang-0": patch.message}
    stage.tell_group(make_group(min_count=2))
    stage.tell_group(make_group(min_count=3))
    assert messages(told(stage, 20)) == {}


def test_pods_of_a_group_that_is_gone_are_told() -> None:
    stage = Stage(groups=[make_group(min_count=2)])
    stage.add(*make_members(1))
    told(stage, 5)
    stage.tell(ObjectDeleted(ObjectKind.POD_GROUP, "default/gang"))
    text = "pod group gang: PodGroup default/gang does not exist"
    assert messages(told(stage, 10)) == {"gang-0": text}


def test_pods_with_gates_of_their_own_and_those_of_others_are_not_told() -> None:
    stage = Stage(groups=[make_group(min_count=3)])
    stage.add(make_member("gated", gates=["wait"]), make_member("other", scheduler="other"))
    assert told(stage, 5) == []


def test_groups_are_told_each_in_its_time() -> None:
    stage = Stage(groups=[make_group("a", 2), make_group("b", 2)])
    stage.add(make_member("a-0", "a"))
    stage.seconds = 1
    stage.add(make_member("b-0", "b"))
    assert set(messages(told(stage, 5))) == {"a-0"}
    assert set(messages(told(stage, 6))) == {"b-0"}


def test_members_that_did_not_fit_are_told_that_their_group_is_gone() -> None:
    stage = Stage(groups=[make_group(min_count=2)])
    stage.add(*make_members(2, requests={"cpu": "9"}))
    stage.run()
    stage.tell(ObjectDeleted(ObjectKind.POD_GROUP, "default/gang"))
    text = "pod group gang: PodGroup default/gang does not exist"
    assert messages(told(stage, 10)) == {"gang-0": text, "gang-1": text}


def preempting() -> tuple[Stage, list[PodInfo], list[EvictPods]]:
    """Give two members for which a Pod each is being evicted."""
    low = [make_pod_info(f"low{i}", node=f"n{i}", requests=FOUR_CPUS) for i in (1, 2)]
    stage = Stage(nodes=["n1", "n2"], groups=[make_group(min_count=2)], placed=low)
    members = list(make_members(2, requests=FOUR_CPUS, priority=10))
    stage.add(*members)
    return stage, members, [e for e in stage.run() if isinstance(e, EvictPods)]


def carry_out(stage: Stage, evictions: list[EvictPods]) -> None:
    """Evict."""
    for eviction in evictions:
        stage.tell(EvictionFinished(eviction.eviction_id))
        stage.delete(*(make_pod_info(victim.pod.name) for victim in eviction.victims))


def test_a_group_that_loses_a_member_while_it_preempts_holds_nothing() -> None:
    stage, [first, second], evictions = preempting()
    stage.delete(first)
    assert told(stage, 5) == []
    carry_out(stage, evictions)
    [_, patch] = told(stage, 10)
    assert isinstance(patch, PatchPodCondition)
    assert (patch.pod.name, patch.nominated_node_name) == (second.name, "")
    assert len(stage.scheduler.nominator) == 0
    stage.add(*(make_pod_info(f"p{i}", requests=FOUR_CPUS) for i in range(2)))
    stage.run()
    assert len(stage.bound) == 2


def test_who_knows_what_the_group_lacks_is_told_that_it_holds_nothing() -> None:
    """Another replica has said so, and had promised it room."""
    condition = ("Unschedulable", "pod group gang: needs 2 Pods, has 1")
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=2)])
    member = make_member("gang-0", nominated="n1")
    stage.add(msgspec.structs.replace(member, condition=condition))
    assert len(stage.scheduler.nominator) == 1
    effects = told(stage, 5)
    assert [type(effect) for effect in effects] == [PatchNomination]
    assert len(stage.scheduler.nominator) == 0


def test_room_that_no_status_shows_is_given_up_in_silence() -> None:
    lasting = make_pod_info("lasting", node="n1", requests={"cpu": "1"})
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1)], placed=[lasting])
    large = make_member("large", requests=FOUR_CPUS)
    stage.add(large)
    stage.run()
    stage.wait(61)
    assert len(stage.scheduler.nominator) == 1
    stage.tell_group(make_group(min_count=2))
    [_, patch] = told(stage, stage.seconds + 5)
    assert isinstance(patch, PatchPodCondition)
    assert patch.nominated_node_name is None
    assert len(stage.scheduler.nominator) == 0
