"""Preemption from the attempt to the last victim's end, through the whole scheduler."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from scheduler_svc.core.effects import (
    Effect,
    EventType,
    EvictPods,
    PatchNomination,
    PatchPodCondition,
    PodReference,
    RecordEvent,
    ReportPreemption,
    RunPreBind,
    Victim,
    WithdrawPreBind,
)
from scheduler_svc.core.events import (
    EvictionFinished,
    NodeUpserted,
    PodDeleted,
    PodUpserted,
    PreBindFinished,
)
from scheduler_svc.core.framework.interface import Plugin, PreBindWork
from scheduler_svc.core.objects import PodCondition
from scheduler_svc.core.plugins.default_preemption import DefaultPreemption
from scheduler_svc.core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import Place
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.core.status import Code, Status
from tests.builders import at, make_node_info, make_pod_info
from tests.scripted_plugins import Permitting, PreBinding, named
from tests.unit.scheduler_svc.core.plugins.inter_pod_affinity.terms import demands, term
from tests.unit.scheduler_svc.core.staging import add, bound_to, decide, stage, step, the

PREEMPTED = PodCondition("DisruptionTarget", "True", "PreemptionByScheduler")
MESSAGE = "berthmaster: preempting to accommodate a higher priority pod"


def preempting(**points: Sequence[Plugin]) -> Scheduler:
    return stage({"postFilter": [DefaultPreemption()], **points})


def reference(name: str) -> PodReference:
    return PodReference("default", name, f"uid-{name}")


def told(name: str, suffix: str = "") -> RecordEvent:
    return RecordEvent(
        reference(name),
        "berthmaster",
        EventType.NORMAL,
        "Preempted",
        "Preempting",
        f"Preempted by pod uid-new on node n1{suffix}",
        related=reference("new"),
    )


def run(scheduler: Scheduler, *names: str, cpu: int = 2, **fields: bool) -> None:
    """Put Pods of priority 1 on the Node."""
    for name in names:
        pod = make_pod_info(name, node="n1", priority=1, requests={"cpu": cpu}, **fields)  # type: ignore[arg-type]
        started = replace(pod, start_time="2026-01-01T00:00:00Z")
        assert scheduler.handle(PodUpserted(started), at(0)) == []


def leave(scheduler: Scheduler, name: str, seconds: float = 2, cpu: int = 2) -> None:
    """Tell that a victim has begun to terminate."""
    pod = make_pod_info(
        name,
        node="n1",
        priority=1,
        requests={"cpu": cpu},
        is_terminating=True,
        conditions=[PREEMPTED],
        version="2",
    )
    assert scheduler.handle(PodUpserted(pod), at(seconds)) == []


def wants(cpu: int = 4, name: str = "new", priority: int = 10, nominated: str = "") -> PodInfo:
    return make_pod_info(name, priority=priority, requests={"cpu": cpu}, nominated=nominated)


def place(scheduler: Scheduler, name: str = "new") -> Place | None:
    scheduler.validate()
    return scheduler.queue.place_of(f"uid-{name}")


def of(kind: type[Effect], effects: Sequence[Effect]) -> list[Effect]:
    return [effect for effect in effects if isinstance(effect, kind)]


def test_victims_are_evicted_and_the_pod_is_told_where_it_may_hope_to_run() -> None:
    scheduler = preempting()
    run(scheduler, "a", "b")
    effects = decide(scheduler, wants(), 1)
    assert the(EvictPods, effects) == EvictPods(
        reference("new"),
        1,
        MESSAGE,
        (Victim(reference("a"), told("a")), Victim(reference("b"), told("b"))),
    )
    assert the(ReportPreemption, effects).victim_count == 2
    assert the(PatchPodCondition, effects) == PatchPodCondition(
        reference("new"),
        "Unschedulable",
        "0/1 nodes are available: 1 Insufficient cpu.",
        "n1",
    )
    assert scheduler.nominator.node_name_of("uid-new") == "n1"


def test_victims_are_told_in_the_generation_that_was_judged() -> None:
    scheduler = preempting()
    placed = make_pod_info("a", node="n1", priority=1, requests={"cpu": 4}, generation=5)
    scheduler.handle(PodUpserted(placed), at(0))
    eviction = the(EvictPods, decide(scheduler, wants(), 1))
    assert isinstance(eviction, EvictPods)
    assert [victim.generation for victim in eviction.victims] == [5]


def test_the_pod_is_not_tried_until_its_victims_are_evicted() -> None:
    scheduler = preempting()
    run(scheduler, "a", "b")
    decide(scheduler, wants(), 1)
    assert place(scheduler) is Place.IN_FLIGHT
    scheduler.handle(PodDeleted("uid-a"), at(2))
    assert scheduler.step(at(2)) is None
    scheduler.handle(EvictionFinished(1), at(3))
    # One victim has gone meanwhile.
    assert place(scheduler) is Place.BACKOFF


def test_without_news_the_pod_waits_for_its_victims_to_go() -> None:
    scheduler = preempting()
    run(scheduler, "a")
    decide(scheduler, wants(), 1)
    scheduler.handle(EvictionFinished(1), at(2))
    assert place(scheduler) is Place.UNSCHEDULABLE
    scheduler.handle(PodDeleted("uid-a"), at(3))
    assert bound_to(step(scheduler, 10)) == "n1"
    assert len(scheduler.nominator) == 0


@pytest.mark.parametrize("is_gone", [True, False])
def test_once_the_last_victim_is_seen_to_leave_all_is_done(is_gone: bool) -> None:
    scheduler = preempting()
    run(scheduler, "a", "b")
    decide(scheduler, wants(), 1)
    leave(scheduler, "a")
    assert place(scheduler) is Place.IN_FLIGHT
    if is_gone:
        scheduler.handle(PodDeleted("uid-b"), at(3))
        assert place(scheduler) is Place.BACKOFF
    else:
        leave(scheduler, "b", 3)
        assert place(scheduler) is Place.UNSCHEDULABLE
    # Late, and no news.
    scheduler.handle(EvictionFinished(1), at(4))
    scheduler.handle(EvictionFinished(1), at(4))
    assert place(scheduler) is (Place.BACKOFF if is_gone else Place.UNSCHEDULABLE)


def test_an_error_after_the_last_victim_has_left_lets_the_pod_try_again() -> None:
    scheduler = preempting()
    run(scheduler, "a", "b")
    decide(scheduler, wants(), 1)
    # Somebody else deletes it, while the first cannot be evicted.
    scheduler.handle(PodDeleted("uid-b"), at(2))
    effects = step(scheduler, 10)
    assert of(EvictPods, effects) == []
    scheduler.handle(EvictionFinished(1, "HTTP 403"), at(11))
    assert place(scheduler) is Place.ACTIVE
    assert [v.pod.name for v in the(EvictPods, step(scheduler, 11)).victims] == ["a"]


def test_what_went_wrong_is_tried_again_after_a_backoff() -> None:
    scheduler = preempting()
    run(scheduler, "a", "b")
    decide(scheduler, wants(), 1)
    scheduler.handle(EvictionFinished(1, "evicting default/a: HTTP 403"), at(2))
    assert place(scheduler) is Place.BACKOFF
    assert scheduler.step(at(2.5)) is None
    # Nobody has been evicted as far as anyone knows.
    assert len(the(EvictPods, step(scheduler, 10)).victims) == 2


def test_one_preemption_is_not_made_twice() -> None:
    scheduler = preempting()
    run(scheduler, "a", "b")
    decide(scheduler, wants(), 1)
    scheduler.handle(EvictionFinished(1), at(2))
    scheduler.handle(PodDeleted("uid-a"), at(3))
    # The watch has not told yet that b is terminating.
    effects = step(scheduler, 10)
    assert of(EvictPods, effects) == []
    assert the(PatchPodCondition, effects).message == (
        "0/1 nodes are available: 1 Insufficient cpu. "
        "preemption: not eligible due to a terminating pod on the nominated node."
    )
    assert scheduler.nominator.node_name_of("uid-new") == "n1"


@pytest.mark.parametrize(
    ("cpu", "priority", "fits"), [(1, 9, True), (2, 9, False), (2, 10, False), (2, 11, True)]
)
def test_the_room_is_kept_from_lower_and_equal_priorities(
    cpu: int, priority: int, fits: bool
) -> None:
    scheduler = preempting()
    run(scheduler, "a", cpu=3)
    decide(scheduler, wants(3), 1)
    scheduler.handle(PodDeleted("uid-a"), at(2))
    assert place(scheduler) is Place.BACKOFF
    effects = decide(scheduler, wants(cpu, "other", priority), 2)
    assert (of(PatchPodCondition, effects) == []) is fits


def test_a_pod_that_is_gone_is_not_put_back() -> None:
    scheduler = preempting()
    run(scheduler, "a")
    decide(scheduler, wants(), 1)
    scheduler.handle(PodDeleted("uid-new"), at(2))
    scheduler.handle(EvictionFinished(1), at(3))
    assert place(scheduler) is None
    assert len(scheduler.nominator) == 0


def test_two_may_wait_for_one_victim() -> None:
    scheduler = preempting()
    run(scheduler, "a", cpu=4)
    decide(scheduler, wants(1), 1)
    second = decide(scheduler, wants(1, "new2"), 1)
    assert the(EvictPods, second).eviction_id == 2
    scheduler.handle(PodDeleted("uid-a"), at(2))
    assert place(scheduler) is place(scheduler, "new2") is Place.BACKOFF


def test_victims_that_are_leaving_are_not_evicted_again() -> None:
    scheduler = preempting()
    run(scheduler, "a", is_terminating=True)
    run(scheduler, "b")
    effects = decide(scheduler, wants(), 1)
    assert [v.pod.name for v in the(EvictPods, effects).victims] == ["b"]


def test_where_all_victims_are_leaving_only_nominations_change() -> None:
    scheduler = preempting()
    run(scheduler, "a", is_terminating=True)
    scheduler.nominator.nominate(wants(1, "low", 9, nominated="n1"), "n1")
    effects = decide(scheduler, wants(), 1)
    assert of(EvictPods, effects) == []
    assert the(PatchPodCondition, effects).nominated_node_name == "n1"
    assert of(PatchNomination, effects) == [PatchNomination(reference("low"), "")]
    assert place(scheduler) is not Place.IN_FLIGHT


def test_lower_nominations_to_the_node_are_dropped_and_their_pods_called() -> None:
    scheduler = preempting()
    run(scheduler, "a", cpu=4)
    low = wants(4, "low", 0, nominated="n1")
    decide(scheduler, low, 1)
    assert place(scheduler, "low") is Place.UNSCHEDULABLE
    high = wants(4, "high", 11, nominated="n1")
    add(scheduler, high, 1)
    scheduler.queue.pop(at(1))
    scheduler.nominator.nominate(low, "n1")
    effects = decide(scheduler, wants(), 1)
    assert of(EvictPods, effects) == []
    scheduler.handle(PodDeleted("uid-high"), at(2))
    effects = step(scheduler, 10)
    assert the(PatchNomination, effects) == PatchNomination(reference("low"), "")
    assert scheduler.nominator.node_name_of("uid-low") == ""
    assert place(scheduler, "low") is not Place.UNSCHEDULABLE


def test_a_victim_that_waits_on_permit_is_turned_away_in_memory() -> None:
    calls: list[str] = []
    wait = Status(Code.WAIT)
    scheduler = preempting(permit=[named("Hold", Permitting)(calls, wait, 60)])
    held = make_pod_info("a", priority=1, requests={"cpu": 4})
    assert of(PatchNomination, decide(scheduler, held)) == [PatchNomination(reference("a"), "n1")]
    effects = decide(scheduler, wants(), 1)
    assert of(EvictPods, effects) == []
    events = [e for e in effects if isinstance(e, RecordEvent)]
    assert [(e.pod.name, e.reason, e.note) for e in events] == [
        ("a", "FailedScheduling", "preempted"),
        ("a", "Preempted", "Preempted by pod uid-new on node n1 (in kube-scheduler memory)."),
        ("new", "FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu."),
    ]
    assert place(scheduler, "a") is Place.BACKOFF
    # Its room is free at once.
    assert place(scheduler) is not Place.UNSCHEDULABLE


def test_a_victim_that_is_made_ready_to_be_bound_is_cancelled() -> None:
    work = PreBindWork("claim", 60)
    scheduler = preempting(preBind=[named("W", PreBinding)([], work)])
    held = make_pod_info("a", priority=1, requests={"cpu": 4})
    assert len(of(RunPreBind, decide(scheduler, held))) == 1
    effects = decide(scheduler, wants(), 1)
    assert the(WithdrawPreBind, effects).pod.name == "a"
    # Until its work is over it takes its room, and nobody else is evicted instead.
    assert scheduler._evictions.evicted_uids == {"uid-a"}
    effects = scheduler.handle(PreBindFinished("uid-a", "W", "withdrawn"), at(2))
    failed = the(PatchPodCondition, effects)
    assert (failed.pod.name, failed.message) == (
        "a",
        'running PreBind plugin "W": preempted by DefaultPreemption',
    )
    assert place(scheduler, "a") is Place.BACKOFF
    assert place(scheduler) is not Place.UNSCHEDULABLE
    assert not scheduler._evictions.evicted_uids


def test_a_victim_that_is_being_bound_is_evicted() -> None:
    scheduler = preempting()
    assert bound_to(decide(scheduler, make_pod_info("a", priority=1, requests={"cpu": 4}))) == "n1"
    effects = decide(scheduler, wants(), 1)
    assert [v.pod.name for v in the(EvictPods, effects).victims] == ["a"]


def test_another_node_may_come_first() -> None:
    scheduler = preempting()
    run(scheduler, "a")
    decide(scheduler, wants(), 1)
    scheduler.handle(EvictionFinished(1), at(2))
    scheduler.handle(NodeUpserted(make_node_info("n2")), at(3))
    assert bound_to(step(scheduler, 10)) == "n2"


def test_of_two_that_wait_for_one_victim_each_has_its_own_outcome() -> None:
    scheduler = preempting()
    run(scheduler, "a", cpu=4)
    decide(scheduler, wants(1), 1)
    decide(scheduler, wants(1, "new2"), 1)
    scheduler.handle(EvictionFinished(1), at(2))
    assert place(scheduler) is Place.UNSCHEDULABLE
    assert place(scheduler, "new2") is Place.IN_FLIGHT
    leave(scheduler, "a", 3, cpu=4)
    assert place(scheduler, "new2") is Place.UNSCHEDULABLE
    # Once is enough, though it is told again.
    scheduler.handle(PodDeleted("uid-a"), at(4))
    scheduler.handle(EvictionFinished(2), at(5))
    assert bound_to(step(scheduler, 10)) == "n1"


def test_what_would_have_stood_in_the_way_of_a_preemption_calls_the_pod() -> None:
    fit, affinity = NodeResourcesFit(), InterPodAffinity()
    scheduler = preempting(preFilter=[fit, affinity], filter=[fit, affinity])
    node = make_node_info("n1", labels={"zone": "a"})
    scheduler.handle(NodeUpserted(node), at(0))
    run(scheduler, "less-important", cpu=3)
    equal = make_pod_info("equal", node="n1", priority=10, labels={"app": "web"})
    scheduler.handle(PodUpserted(equal), at(0))
    new = make_pod_info("new", priority=10, requests={"cpu": 2}, away=demands(term("web", "zone")))
    # Room alone is missing, as long as nobody is evicted.
    text = the(PatchPodCondition, decide(scheduler, new, 1)).message
    assert text == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 node(s) didn't match pod anti-affinity rules."
    )
    other = make_pod_info("equal", node="n1", priority=10, labels={"app": "db"}, version="2")
    scheduler.handle(PodUpserted(other), at(60))
    assert place(scheduler) is Place.ACTIVE
    [victim] = the(EvictPods, step(scheduler, 60)).victims
    assert victim.pod == reference("less-important")
