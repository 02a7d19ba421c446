"""Where a Pod is between its decision and its Binding; its way is shown in test_binding_cycle."""

from scheduler_svc.core.effects import ReportWait
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.plugins.priority_sort import PrioritySort
from scheduler_svc.core.pod_binding import BindingCycle, binding, deadlines, waited
from scheduler_svc.core.queue import QueuedPodInfo
from scheduler_svc.core.status import Code
from tests.builders import at, make_pod_info
from tests.scripted_plugins import PreBinding, named
from tests.unit.scheduler_svc.core.test_binding_cycle import POD


def cycle(**permits: float) -> BindingCycle:
    return BindingCycle(
        queued=QueuedPodInfo(make_pod_info(), 1, 0.0, attempts=3),
        reference=POD,
        profile=Profile("berthmaster", {"queueSort": [PrioritySort()]}, {}),
        node_name="n1",
        decision_id="d-1",
        decided_at=at(5),
        queue_wait_seconds=2.0,
        permits=permits,
    )


def test_a_pod_waits_on_permit_or_for_work() -> None:
    assert not cycle().waits
    assert cycle(P=20).waits
    working = cycle()
    working.working = named("W", PreBinding)([])
    assert working.waits


def test_the_wait_is_that_of_who_holds_the_pod() -> None:
    held = cycle(P=20)
    assert waited(held, Code.SUCCESS, at(7)) == ReportWait(
        POD, "berthmaster", "Permit", "", "Success", 2
    )
    held.working, held.work_begun_at_seconds = named("W", PreBinding)([]), 8.0
    assert waited(held, Code.ERROR, at(11), "broken") == ReportWait(
        POD, "berthmaster", "PreBind", "W", "Error", 3, "broken"
    )


def test_a_binding_is_a_plugins_or_an_extenders() -> None:
    decided = cycle()
    assert (binding(decided).plugin, binding(decided).extender) == ("DefaultBinder", None)
    assert (binding(decided, 2).plugin, binding(decided, 2).extender) == ("", 2)
    assert binding(decided).attempt == 3


def test_the_deadlines_are_those_of_permits_and_of_work() -> None:
    held = cycle(P=20, Q=30)
    assert list(deadlines(held)) == [20, 30]
    held.work_deadline_seconds = 40
    assert list(deadlines(held)) == [20, 30, 40]
