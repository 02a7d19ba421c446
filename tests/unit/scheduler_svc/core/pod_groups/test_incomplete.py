"""Pods of a group of which too few are there are told so, after a while."""

import msgspec

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.effects import Effect, PatchPodCondition, RecordEvent
from scheduler_svc.core.events import ObjectDeleted
from tests.builders import at
from tests.gangs import make_group, make_member, make_members
from tests.unit.scheduler_svc.core.pod_groups.stages import Stage, messages


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
    stage.delete(second)
    assert messages(told(stage, 15)) == {}


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
