"""A member whose Binding comes to nothing has its room kept, for a while and once."""

from collections.abc import Callable, Sequence

import msgspec
import pytest

from scheduler_svc.core.clock import Now
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.events import BindFailed, BindFailure, ObjectDeleted, PermitDecided
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code, Status
from tests.builders import at, make_node_info, make_pod_info
from tests.gangs import make_group, make_members
from tests.scripted_plugins import Permitting, named
from tests.unit.scheduler_svc.core.pod_groups.stages import FOUR_CPUS, Stage, confirm_all, points


def deciding(min_count: int = 2) -> tuple[Stage, Sequence[PodInfo]]:
    """Give two members on their way to two Nodes, and a Pod that waits for the room of one."""
    stage = Stage(nodes=["n1", "n2"], groups=[make_group(min_count=min_count)])
    members = make_members(2, requests=FOUR_CPUS)
    stage.add(*members)
    stage.run(confirms=False)
    stage.add(make_pod_info("filler", requests=FOUR_CPUS))
    stage.run()
    return stage, members


def refuse(stage: Stage, pod: PodInfo) -> None:
    """Refuse a Binding, and let the others have a chance."""
    stage.bound.pop(pod.name)
    stage.tell(BindFailed(pod.uid, BindFailure.REFUSED, "no"))


def test_who_is_refused_comes_before_who_waits_for_its_room() -> None:
    stage, [first, second] = deciding()
    node = stage.bound[first.name]
    stage.confirm(second.uid)
    refuse(stage, first)
    stage.run(confirms=False)
    stage.wait(3)
    stage.run()
    assert stage.bound[first.name] == node
    assert "filler" not in stage.bound
    assert len(stage.scheduler.nominator) == 0


def test_who_is_refused_again_and_again_holds_nothing() -> None:
    stage, [first, second] = deciding()
    stage.confirm(second.uid)
    refuse(stage, first)
    stage.wait(3)
    stage.run(confirms=False)
    refuse(stage, first)
    stage.run(confirms=False)
    assert "filler" in stage.bound


def test_room_is_kept_for_a_while_only() -> None:
    stage, [first, second] = deciding()
    stage.confirm(second.uid)
    refuse(stage, first)
    stage.add(make_pod_info("another", requests=FOUR_CPUS))
    assert stage.scheduler.step(_now(stage)) is not None
    assert len(stage.scheduler.nominator) == 1
    assert stage.scheduler.next_deadline() == 0
    stage.wait(0)
    assert stage.scheduler.statistics().held_group_count == 1
    stage.wait(30)
    assert stage.scheduler.statistics().held_group_count == 0
    assert len(stage.scheduler.nominator) == 0


def _goes(stage: Stage, pod: PodInfo) -> None:
    stage.delete(pod)


def _ends(stage: Stage, pod: PodInfo) -> None:
    stage.add(msgspec.structs.replace(pod, is_terminating=True, resource_version="2"))


def _group_goes(stage: Stage, pod: PodInfo) -> None:
    del pod
    stage.tell(ObjectDeleted(ObjectKind.POD_GROUP, "default/gang"))


def _group_needs_less(stage: Stage, pod: PodInfo) -> None:
    del pod
    stage.tell_group(make_group(min_count=1))


@pytest.mark.parametrize("change", [_goes, _ends, _group_goes, _group_needs_less])
def test_nothing_is_kept_for_who_is_not_waited_for(
    change: Callable[[Stage, PodInfo], None],
) -> None:
    stage, [first, second] = deciding()
    stage.confirm(second.uid)
    change(stage, first)
    refuse(stage, first)
    stage.run(confirms=False)
    assert "filler" in stage.bound


def test_several_may_be_refused() -> None:
    stage = Stage(nodes=["n1", "n2", "n3"], groups=[make_group(min_count=3)])
    members = make_members(3, requests=FOUR_CPUS)
    stage.add(*members)
    stage.run(confirms=False)
    stage.confirm(members[0].uid)
    stage.add(*(make_pod_info(f"filler{i}", requests=FOUR_CPUS) for i in range(2)))
    for member in members[1:]:
        refuse(stage, member)
        stage.run(confirms=False)
    stage.wait(3)
    stage.run()
    assert sorted(stage.bound) == ["gang-0", "gang-1", "gang-2"]


def test_nothing_is_kept_where_all_are_refused() -> None:
    stage, [first, second] = deciding()
    refuse(stage, first)
    refuse(stage, second)
    stage.add(make_pod_info("small", requests={"cpu": "1"}))
    stage.scheduler.step(_now(stage))
    assert len(stage.scheduler.nominator) == 0


def test_who_is_turned_back_at_permit_has_its_room_kept_too() -> None:
    permitting = named("Holding", Permitting)([], Status(Code.WAIT), wait_seconds=100)
    plugins = points(permit=[permitting])
    stage = Stage(nodes=["n1", "n2"], groups=[make_group(min_count=2)], plugins=plugins)
    members = make_members(2, requests=FOUR_CPUS)
    stage.add(*members, make_pod_info("filler", requests=FOUR_CPUS))
    stage.run()
    stage.tell(PermitDecided(members[0].uid, permitting.name))
    stage.wait(101)
    stage.run()
    assert stage.scheduler.cache.get(make_pod_info("filler").uid) is None


def test_who_has_arrived_is_forgotten_by_and_by() -> None:
    node = make_node_info("n1", cpu="4", pods="1000")
    stage = Stage(nodes=[node])
    begun = stage.scheduler._groups._begun
    counts = []
    for name in ("a", "b", "c"):
        members = make_members(80, name, requests={"cpu": "1m"})
        stage.tell_group(make_group(name, min_count=80))
        stage.add(*members)
        stage.run()
        confirm_all(stage, list(members))
        counts.append(len(begun))
    assert counts == [80, 80, 80]


def _now(stage: Stage) -> Now:
    return at(stage.seconds)
