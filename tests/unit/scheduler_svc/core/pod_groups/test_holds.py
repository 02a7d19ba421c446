"""A group that has been at the head for long gets its turn against a stream of small Pods."""

import msgspec
import pytest

from scheduler_svc.core.effects import EvictPods, PatchNomination
from scheduler_svc.core.objects import OwnerReference
from tests.builders import make_pod_info
from tests.gangs import group_named, make_group, make_member, make_members
from tests.unit.scheduler_svc.core.pod_groups.stages import FOUR_CPUS, Stage, confirm_all


def stream(stage: Stage, seconds: int, *, lifetime: int = 4) -> None:
    """Let small Pods come, one a second, and go after their lifetime."""
    for _ in range(seconds):
        number = int(stage.seconds)
        stage.add(make_pod_info(f"small{number}", requests={"cpu": "1"}))
        stage.run()
        old = f"small{number - lifetime}"
        if old in stage.bound:
            stage.delete(make_pod_info(old))
        stage.wait(1)


def test_small_pods_do_not_starve_it() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1)])
    stream(stage, 10)
    stage.add(make_member("large", requests=FOUR_CPUS))
    stream(stage, 50)
    assert "large" not in stage.bound
    stream(stage, 20)
    assert stage.bound["large"] == "n1"


def test_room_is_kept_for_a_stated_time_at_most() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1)])
    stage.add(make_pod_info("lasting", requests={"cpu": "1"}))
    stage.run()
    stage.add(make_member("large", requests=FOUR_CPUS))
    stage.run()
    stage.wait(61)
    stage.add(make_pod_info("small", requests={"cpu": "1"}))
    stage.run()
    assert "small" not in stage.bound
    stage.wait(31)
    stage.run()
    assert stage.bound["small"] == "n1"


def test_its_own_timeout_limits_the_time() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1, timeout_seconds=5)])
    stage.add(make_pod_info("lasting", requests={"cpu": "1"}))
    stage.run()
    stage.add(make_member("large", requests=FOUR_CPUS))
    stage.run()
    stage.wait(61)
    stage.add(make_pod_info("small", requests={"cpu": "1"}))
    stage.run()
    stage.wait(7)
    stage.run()
    assert stage.bound["small"] == "n1"


def test_more_important_pods_take_it() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1)])
    stage.add(make_pod_info("lasting", requests={"cpu": "1"}))
    stage.run()
    stage.add(make_member("large", requests=FOUR_CPUS))
    stage.run()
    stage.wait(61)
    stage.add(make_pod_info("urgent", requests={"cpu": "1"}, priority=5))
    stage.run()
    assert stage.bound["urgent"] == "n1"


def test_no_room_is_kept_where_it_would_never_be_enough() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1)])
    stage.add(make_member("huge", requests={"cpu": "5"}))
    stage.run()
    stage.wait(61)
    stage.add(make_pod_info("small", requests={"cpu": "1"}))
    stage.run()
    assert stage.bound == {"small": "n1"}


def test_groups_take_turns() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group("a", 1), make_group("b", 1)])
    stage.add(make_pod_info("lasting", requests={"cpu": "1"}))
    stage.run()
    stage.add(make_member("a-0", "a", requests=FOUR_CPUS))
    stage.run()
    stage.wait(1)
    stage.add(make_member("b-0", "b", requests=FOUR_CPUS))
    stage.run()
    stage.wait(60)
    assert set(stage.scheduler.nominator.node_names) == {"uid-a-0"}
    stage.wait(70)
    assert set(stage.scheduler.nominator.node_names) == {"uid-b-0"}


def test_a_group_that_leaves_gives_its_room_up() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1)])
    stage.add(make_pod_info("lasting", requests={"cpu": "1"}))
    stage.run()
    large = make_member("large", requests=FOUR_CPUS)
    stage.add(large)
    stage.run()
    stage.wait(61)
    assert len(stage.scheduler.nominator) == 1
    stage.delete(large)
    assert len(stage.scheduler.nominator) == 0
    stage.wait(200)
    assert stage.scheduler.next_deadline() is None


def test_pods_of_daemon_sets_are_not_waited_for() -> None:
    owner = OwnerReference("apps/v1", "DaemonSet", "d", "u", controller=True)
    daemon = make_pod_info("daemon", node="n1", requests={"cpu": "1"}, owner=owner)
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1)], placed=[daemon])
    stage.add(make_member("large", requests=FOUR_CPUS))
    stage.run()
    stage.wait(61)
    assert len(stage.scheduler.nominator) == 0


def test_more_important_pods_that_evict_take_it_and_no_status_is_written_for_that() -> None:
    """Nobody but the memory knows that room is kept."""
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1)])
    stage.add(make_pod_info("lasting", node="n1", requests={"cpu": "1"}))
    stage.add(make_member("large", requests=FOUR_CPUS))
    stage.run()
    stage.wait(61)
    assert set(stage.scheduler.nominator.node_names) == {"uid-large"}
    stage.add(make_pod_info("urgent", requests=FOUR_CPUS, priority=5))
    effects = stage.run()
    assert [type(e) for e in effects if isinstance(e, EvictPods | PatchNomination)] == [EvictPods]
    assert set(stage.scheduler.nominator.node_names) == {"uid-urgent"}


def test_the_most_important_group_is_first_then_the_oldest() -> None:
    groups = [make_group(name, 1) for name in ("a", "b", "c")]
    stage = Stage(nodes=["n1"], groups=groups)
    stage.add(make_pod_info("lasting", node="n1", requests={"cpu": "1"}))
    for name, priority in (("a", -2), ("b", -1), ("c", -1)):
        stage.add(make_member(f"{name}-0", name, requests=FOUR_CPUS, priority=priority))
        stage.run()
    assert stage.scheduler.statistics().waiting_group_count == 3
    # Room is looked for in turn; the Pod that is more important is never waited for.
    heads = []
    for _ in range(4):
        heads.append(stage.scheduler._groups._holds.head)
        stage.wait(60)
    assert [head.name for head in heads if head is not None] == ["b", "c", "b", "c"]


def test_a_group_may_become_more_important_while_it_waits() -> None:
    groups = [make_group("a", 1), make_group("b", 1)]
    stage = Stage(nodes=["n1"], groups=groups)
    stage.add(make_pod_info("lasting", node="n1", requests={"cpu": "1"}))
    stage.add(
        make_member("a-0", "a", requests=FOUR_CPUS), make_member("b-0", "b", requests=FOUR_CPUS)
    )
    stage.run()
    stage.add(make_member("b-1", "b", requests={"cpu": "9"}, priority=1))
    stage.run()
    stage.wait(61)
    assert set(stage.scheduler.nominator.node_names) <= {"uid-b-0", "uid-b-1"}


def test_members_beyond_what_the_group_needs_have_no_room_kept() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1)])
    stage.add(make_member("first", requests={"cpu": "1"}))
    stage.run()
    confirm_all(stage, [make_member("first", requests={"cpu": "1"})])
    stage.add(make_member("more", requests=FOUR_CPUS))
    stage.run()
    assert stage.scheduler.statistics().waiting_group_count == 0


@pytest.mark.parametrize(("timeout_seconds", "kept_seconds"), [(10**9, 900), (0, 30), (-5, 30)])
def test_no_group_can_ask_for_room_for_ever(timeout_seconds: int, kept_seconds: int) -> None:
    group = make_group(min_count=1, timeout_seconds=timeout_seconds)
    stage = Stage(nodes=["n1"], groups=[group])
    stage.add(make_pod_info("lasting", node="n1", requests={"cpu": "1"}))
    stage.add(make_member("large", requests=FOUR_CPUS))
    stage.run()
    stage.wait(60)
    assert stage.scheduler.statistics().held_group_count == 1
    stage.wait(kept_seconds - 1)
    assert stage.scheduler.statistics().held_group_count == 1
    stage.wait(1)
    assert stage.scheduler.statistics().held_group_count == 0


def test_a_group_keeps_its_place_in_line_while_members_that_wait_are_deleted() -> None:
    """Pods of a Job have a finalizer, so the watch tells first that they are being deleted."""
    groups = [make_group("a", 2), make_group("b", 2)]
    stage = Stage(nodes=["n1"], groups=groups)
    members = list(make_members(3, "a", requests=FOUR_CPUS))
    stage.add(*members)
    stage.run()
    stage.add(*make_members(2, "b", requests=FOUR_CPUS))
    stage.run()
    stage.wait(50)
    leaving = msgspec.structs.replace(members[2], is_terminating=True, resource_version="2")
    stage.add(leaving)
    stage.delete(leaving)
    stage.run()
    assert stage.scheduler._groups._holds.head == group_named("a")
    assert stage.scheduler._groups._holds.head_since_seconds == 0


@pytest.mark.parametrize("waits_before", [50, 61])
def test_a_group_that_is_incomplete_leaves_the_line_and_gives_its_room_up(
    waits_before: int,
) -> None:
    groups = [make_group("a", 1), make_group("b", 1)]
    lasting = make_pod_info("lasting", node="n1", requests={"cpu": "1"})
    stage = Stage(nodes=["n1"], groups=groups, placed=[lasting])
    stage.add(make_member("a-0", "a", requests=FOUR_CPUS))
    stage.run()
    stage.add(make_member("b-0", "b", requests=FOUR_CPUS))
    stage.run()
    stage.wait(waits_before)
    stage.tell_group(make_group("a", 2))
    stage.wait(5)
    assert stage.scheduler._groups._holds.head == group_named("b")
    assert stage.scheduler.statistics().held_group_count == 0
    assert len(stage.scheduler.nominator) == 0


def test_no_room_is_kept_for_members_that_may_not_be_tried() -> None:
    lasting = make_pod_info("lasting", node="n1", requests={"cpu": "1"})
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1)], placed=[lasting])
    large = make_member("large", requests=FOUR_CPUS)
    stage.add(make_member("gated", requests=FOUR_CPUS, gates=["wait"]), large)
    stage.run()
    stage.wait(61)
    assert set(stage.scheduler.nominator.node_names) == {large.uid}


def test_a_group_whose_last_member_is_being_deleted_has_no_room_kept() -> None:
    lasting = make_pod_info("lasting", node="n1", requests={"cpu": "1"})
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1)], placed=[lasting])
    large = make_member("large", requests=FOUR_CPUS)
    stage.add(large, make_member("gated", gates=["wait"]))
    stage.run()
    stage.add(msgspec.structs.replace(large, is_terminating=True, resource_version="2"))
    stage.wait(61)
    assert len(stage.scheduler.nominator) == 0
    assert stage.scheduler.statistics().waiting_group_count == 0


@pytest.mark.parametrize(("cpu", "is_held"), [("5", False), ("4", True), ("many", False)])
def test_no_room_is_kept_where_min_resources_are_more_than_all_nodes_have(
    cpu: str, is_held: bool
) -> None:
    """The group is not even tried then."""
    placed = [make_pod_info("lasting", node="n1", requests={"cpu": "1"})]
    group = make_group(min_count=1, min_resources={"cpu": "4"})
    stage = Stage(nodes=["n1"], groups=[group], placed=placed)
    stage.add(make_member("small", requests={"cpu": "1"}))
    stage.run()
    # Its turn for room may come before it is tried again.
    stage.tell_group(make_group(min_count=1, min_resources={"cpu": cpu}))
    stage.wait(61)
    assert bool(stage.scheduler.nominator.node_names) is is_held
