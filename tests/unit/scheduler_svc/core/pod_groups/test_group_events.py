"""What happens to groups and their members, and whom it calls."""

import msgspec
import pytest

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.events import (
    NodeUpserted,
    ObjectDeleted,
    ObjectUpserted,
)
from scheduler_svc.core.objects import Namespace, ObjectMeta
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import Place
from tests.builders import make_node_info, make_pod_info
from tests.gangs import make_group, make_member, make_members
from tests.unit.scheduler_svc.core.pod_groups.stages import (
    FOUR_CPUS,
    TWO_CPUS,
    Stage,
    confirm_all,
    messages,
    on,
)


def test_the_minimum_goes_up_and_down() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=4)])
    stage.add(*make_members(4, requests=TWO_CPUS))
    stage.run()
    assert stage.bound == {}
    stage.tell_group(make_group(min_count=2))
    stage.wait(2)
    stage.run()
    assert len(stage.bound) == 2
    stage.tell_group(make_group(min_count=5))
    stage.tell(NodeUpserted(make_node_info("n2")))
    stage.wait(20)
    stage.run()
    assert len(stage.bound) == 2
    stage.tell_group(make_group(min_count=4))
    stage.wait(20)
    stage.run()
    assert len(stage.bound) == 4


def test_members_of_several_kinds_are_called_by_a_lower_minimum() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=2)])
    stage.add(make_member("small", requests={"cpu": "1"}), make_member("huge", requests={"cpu": 9}))
    stage.run()
    stage.wait(12)
    stage.tell_group(make_group(min_count=1))
    stage.run()
    assert stage.bound == {"small": "n1"}


def test_a_lower_min_resources_calls_an_only_member() -> None:
    group = make_group(min_count=1, min_resources={"cpu": "9"})
    stage = Stage(nodes=["n1"], groups=[group])
    stage.add(*make_members(1))
    stage.run()
    stage.wait(12)
    stage.tell_group(make_group(min_count=1, min_resources={"cpu": "1"}))
    stage.run()
    assert stage.bound == {"gang-0": "n1"}


def test_what_a_group_is_said_to_be_does_not_call_it() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=2)])
    stage.add(*make_members(2, requests=FOUR_CPUS))
    stage.run()
    stage.wait(12)
    told = make_group(min_count=2)
    metadata = msgspec.structs.replace(told.metadata, resource_version="9")
    stage.tell_group(msgspec.structs.replace(told, metadata=metadata))
    assert stage.run() == []


@pytest.mark.parametrize("has_finalizer", [False, True])
def test_a_large_member_that_goes_leaves_its_room_to_small_ones(has_finalizer: bool) -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=2)])
    large = make_member("large", requests=FOUR_CPUS)
    stage.add(large, *make_members(2, requests=TWO_CPUS))
    stage.run()
    stage.wait(12)
    assert stage.bound == {}
    if has_finalizer:
        stage.add(msgspec.structs.replace(large, is_terminating=True, resource_version="9"))
    stage.delete(large)
    stage.run()
    assert sorted(stage.bound) == ["gang-0", "gang-1"]


def test_a_group_that_all_have_left_by_their_labels_waits_no_more() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=2)])
    members = make_members(2, requests=FOUR_CPUS)
    stage.add(*members)
    stage.run()
    assert stage.scheduler.statistics().waiting_group_count == 1
    stage.add(*(make_pod_info(m.name, requests=FOUR_CPUS, version="9") for m in members))
    stage.run()
    assert stage.scheduler.statistics().waiting_group_count == 0
    assert list(stage.bound.values()) == ["n1"]


def test_a_group_deleted_half_way_leaves_its_pods_waiting() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=2)])
    stage.add(*make_members(2))
    stage.tell(ObjectDeleted(ObjectKind.POD_GROUP, "default/gang"))
    texts = messages(stage.run())
    assert set(texts.values()) == {"pod group gang: PodGroup default/gang does not exist"}
    assert stage.bound == {}
    stage.tell_group(make_group(min_count=2))
    stage.run()
    assert len(stage.bound) == 2


def test_a_group_created_after_its_pods() -> None:
    stage = Stage(nodes=["n1"])
    members = make_members(2)
    stage.add(*members)
    assert stage.run() == []
    assert stage.scheduler.queue.place_of(members[0].uid) is Place.GATED
    stage.tell_group(make_group(min_count=2))
    stage.run()
    assert len(stage.bound) == 2


def test_members_that_a_quota_refuses_are_waited_for() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=4)])
    members = list(make_members(3))
    stage.add(*members)
    assert stage.run() == []
    assert {stage.scheduler.queue.place_of(pod.uid) for pod in members} == {Place.GATED}


def test_the_place_of_a_lost_member_is_kept_for_a_while_only() -> None:
    stage = Stage(nodes=["n1", "n2"], groups=[make_group(min_count=2)])
    members = list(make_members(2, requests=FOUR_CPUS))
    stage.add(*members)
    stage.run()
    [first, _] = confirm_all(stage, members)
    stage.add(make_pod_info("filler", requests=FOUR_CPUS))
    leaving = msgspec.structs.replace(first, is_terminating=True, resource_version="10")
    stage.add(leaving)
    stage.delete(leaving)
    stage.wait(29)
    stage.run()
    assert "filler" not in stage.bound
    stage.wait(12)
    stage.run()
    assert stage.bound["filler"] == first.node_name


def test_a_group_that_is_deleted_leaves_no_places() -> None:
    stage = Stage(nodes=["n1", "n2"], groups=[make_group(min_count=2)])
    members = list(make_members(2, requests=FOUR_CPUS))
    stage.add(*members)
    stage.run()
    confirmed = confirm_all(stage, members)
    leaving = [msgspec.structs.replace(pod, is_terminating=True) for pod in confirmed]
    stage.add(*leaving)
    stage.delete(*leaving)
    stage.add(make_pod_info("other", requests=FOUR_CPUS))
    stage.run()
    assert "other" in stage.bound
    assert len(stage.scheduler.nominator) == 0


def test_a_group_that_finishes_leaves_no_places() -> None:
    stage = Stage(nodes=["n1", "n2"], groups=[make_group(min_count=2)])
    members = list(make_members(2, requests=FOUR_CPUS))
    stage.add(*members)
    stage.run()
    confirmed = confirm_all(stage, members)
    stage.add(msgspec.structs.replace(confirmed[0], is_finished=True))
    assert len(stage.scheduler.nominator) == 0
    stage.delete(confirmed[1])
    assert len(stage.scheduler.nominator) == 0


def test_who_is_killed_leaves_a_place_for_a_short_while() -> None:
    """A forced deletion, a Pod that failed: the watch tells only that it is gone."""
    stage = Stage(nodes=["n1", "n2"], groups=[make_group(min_count=2)])
    members = list(make_members(2, requests=FOUR_CPUS))
    stage.add(*members)
    stage.run()
    [first, _] = confirm_all(stage, members)
    stage.add(make_pod_info("filler", requests=FOUR_CPUS))
    stage.run()
    stage.delete(first)
    stage.wait(3)
    stage.run()
    assert "filler" not in stage.bound
    stage.add(make_member("again", requests=FOUR_CPUS))
    stage.run()
    assert stage.bound["again"] == first.node_name
    assert len(stage.scheduler.nominator) == 0


def test_the_place_of_who_ends_unseen_is_others_soon() -> None:
    """It may have succeeded, so that nobody replaces it; each has a time of its own."""
    stage = Stage(nodes=["n1", "n2", "n3"], groups=[make_group(min_count=3)])
    members = list(make_members(3, requests=FOUR_CPUS))
    stage.add(*members)
    stage.run()
    [first, second, _] = confirm_all(stage, members)
    stage.delete(first)
    stage.wait(10)
    stage.delete(second)
    assert len(stage.scheduler.nominator) == 2
    stage.wait(5)
    assert [pod.node_name for pod in _nominated(stage)] == [second.node_name]
    stage.wait(10)
    assert len(stage.scheduler.nominator) == 0


def _nominated(stage: Stage) -> list[PodInfo]:
    found = (stage.scheduler.nominator.nominated(u) for u in stage.scheduler.nominator.node_names)
    return [pod for pod in found if pod is not None]


def test_places_are_given_up_with_the_last_member_that_runs_though_others_wait() -> None:
    stage = Stage(nodes=["n1", "n2"], groups=[make_group(min_count=2)])
    members = list(make_members(2, requests=FOUR_CPUS))
    stage.add(*members)
    stage.run()
    confirmed = confirm_all(stage, members)
    stage.add(*make_members(5, requests=FOUR_CPUS)[2:])
    stage.delete(confirmed[0])
    assert len(stage.scheduler.nominator) == 1
    stage.delete(confirmed[1])
    assert len(stage.scheduler.nominator) == 0


def test_a_member_that_somebody_else_binds_need_not_fit() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=3)])
    members = list(make_members(3, requests=TWO_CPUS))
    stage.add(*members)
    stage.run()
    stage.wait(12)
    assert stage.bound == {}
    stage.add(on(members[0], "elsewhere"))
    stage.run()
    assert sorted(stage.bound) == ["gang-1", "gang-2"]


@pytest.mark.parametrize("is_bound", [True, False])
def test_the_other_scheduler_of_a_group_has_nothing_to_do_any_more(is_bound: bool) -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=2)])
    other = make_member("other", scheduler="other")
    stage.add(*make_members(2), other)
    stage.run()
    stage.wait(12)
    leaving = msgspec.structs.replace(other, is_terminating=True, resource_version="2")
    stage.add(on(other, "n1") if is_bound else leaving)
    stage.run()
    assert sorted(stage.bound) == ["gang-0", "gang-1"]


def test_whoever_ends_after_all_others_leaves_no_place() -> None:
    stage = Stage(nodes=["n1", "n2"], groups=[make_group(min_count=2)])
    members = list(make_members(2, requests=FOUR_CPUS))
    stage.add(*members)
    stage.run()
    stage.delete(*confirm_all(stage, members))
    assert len(stage.scheduler.nominator) == 0


def test_a_pending_member_that_goes_has_no_place_to_keep() -> None:
    stage = Stage(groups=[make_group(min_count=1)])
    members = list(make_members(2, requests=FOUR_CPUS))
    stage.add(*members)
    stage.run()
    confirm_all(stage, members)
    stage.tell_group(make_group(min_count=2))
    stage.add(msgspec.structs.replace(members[1], is_terminating=True, resource_version="2"))
    assert len(stage.scheduler.nominator) == 0


def test_other_objects_are_no_groups() -> None:
    stage = Stage(groups=[make_group(min_count=1)])
    stage.tell(ObjectUpserted(ObjectKind.NAMESPACE, Namespace(ObjectMeta(name="default"))))
    stage.add(*make_members(1))
    stage.run()
    assert len(stage.bound) == 1


def test_gates_that_go_complete_a_group() -> None:
    stage = Stage(groups=[make_group(min_count=2)])
    stage.add(make_member("a"), make_member("b", gates=["wait"]))
    assert stage.run() == []
    stage.add(make_member("b", version="2"))
    stage.run()
    assert sorted(stage.bound) == ["a", "b"]


def test_a_label_that_goes_takes_the_pod_out_of_its_group() -> None:
    stage = Stage(groups=[make_group(min_count=2)])
    stage.add(make_member("a"), make_member("b", gates=["wait"]))
    stage.add(make_pod_info("a", version="2"))
    stage.run()
    assert sorted(stage.bound) == ["a"]
