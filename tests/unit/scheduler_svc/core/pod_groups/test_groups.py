"""All that the scheduler does about groups, connected."""

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.events import ObjectDeleted
from scheduler_svc.core.pods import PodInfo
from tests.builders import at, make_pod_info
from tests.gangs import make_group, make_member, make_members
from tests.unit.scheduler_svc.core.pod_groups.stages import FOUR_CPUS, Stage, on


def starving() -> Stage:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1)])
    stage.add(make_pod_info("lasting", requests={"cpu": "1"}))
    stage.run()
    stage.add(make_member("large", requests=FOUR_CPUS))
    stage.run()
    return stage


def test_there_is_a_deadline_while_a_group_waits_or_room_is_kept() -> None:
    stage = starving()
    assert stage.scheduler.next_deadline() == 60
    stage.wait(60)
    assert stage.scheduler.next_deadline() == 90


def test_a_group_that_is_gone_has_no_room_kept() -> None:
    stage = starving()
    stage.tell(ObjectDeleted(ObjectKind.POD_GROUP, "default/gang"))
    stage.wait(61)
    assert len(stage.scheduler.nominator) == 0


def test_a_group_nobody_of_whom_waits_has_no_room_kept() -> None:
    stage = starving()
    stage.scheduler.remove_profile("berthmaster", at(1), "gone")
    stage.wait(61)
    assert len(stage.scheduler.nominator) == 0


def test_groups_that_wait_and_those_that_room_is_kept_for_are_counted() -> None:
    stage = starving()
    statistics = stage.scheduler.statistics()
    assert (statistics.waiting_group_count, statistics.held_group_count) == (1, 0)
    stage.wait(61)
    statistics = stage.scheduler.statistics()
    assert (statistics.waiting_group_count, statistics.held_group_count) == (1, 1)


def killed_half_way(*others: PodInfo, min_count: int = 4) -> tuple[Stage, list[PodInfo]]:
    """Give a scheduler that starts anew: half of a group is bound, and others come first."""
    members = list(make_members(4, requests=FOUR_CPUS))
    placed = [on(members[0], "n0"), on(members[1], "n1"), *others, *members[2:]]
    nodes = [f"n{i}" for i in range(4)]
    return Stage(nodes=nodes, groups=[make_group(min_count=min_count)], placed=placed), members


def test_the_rest_of_a_group_comes_before_who_waited_when_a_scheduler_was_killed() -> None:
    stage, members = killed_half_way(make_pod_info("filler", requests=FOUR_CPUS))
    stage.run()
    assert sorted(stage.bound) == [members[2].name, members[3].name]
    assert len(stage.scheduler.nominator) == 0


def test_a_leader_that_saw_another_bind_half_of_a_group_knows_it_too() -> None:
    members = list(make_members(2, requests=FOUR_CPUS))
    filler = make_pod_info("filler", requests=FOUR_CPUS)
    stage = Stage(nodes=["n1", "n2"], groups=[make_group(min_count=2)], placed=[filler, *members])
    stage.add(on(members[0], "n1"))
    stage.run()
    assert sorted(stage.bound) == [members[1].name]


def test_no_room_is_kept_for_a_rest_that_does_not_fit_or_is_not_needed() -> None:
    important = make_pod_info("top", node="n2", requests=FOUR_CPUS)
    stage, _ = killed_half_way(important, make_pod_info("filler", requests=FOUR_CPUS))
    stage.run()
    assert sorted(stage.bound) == ["filler"]
    stage, _ = killed_half_way(make_pod_info("filler", requests=FOUR_CPUS), min_count=2)
    stage.run()
    assert "filler" in stage.bound


def test_no_room_is_kept_for_a_rest_that_two_schedulers_share() -> None:
    other = make_member("other", scheduler="other")
    stage, _ = killed_half_way(other, make_pod_info("filler", requests=FOUR_CPUS))
    stage.run()
    assert sorted(stage.bound) == ["filler"]


def test_a_group_that_is_gone_by_then_is_not_looked_at() -> None:
    stage, members = killed_half_way()
    stage.delete(*members)
    stage.add(make_pod_info("filler", requests=FOUR_CPUS))
    stage.run()
    assert sorted(stage.bound) == ["filler"]
