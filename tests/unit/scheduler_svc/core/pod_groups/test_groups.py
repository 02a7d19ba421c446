"""All that the scheduler does about groups, connected."""

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.events import ObjectDeleted
from tests.builders import at, make_pod_info
from tests.gangs import make_group, make_member
from tests.unit.scheduler_svc.core.pod_groups.stages import FOUR_CPUS, Stage


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
