"""From the decision to the bound Pod: the order of things, waits, failures and what undoes them."""

from collections.abc import Collection, Sequence

import pytest

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectKind, ObjectName
from scheduler_svc.core.effects import (
    AttemptResult,
    BindPod,
    Effect,
    EventType,
    PatchNomination,
    PatchPodCondition,
    PodReference,
    RecordEvent,
    ReportAttempt,
    ReportBound,
    ReportWait,
    RunCleanup,
    RunPreBind,
    WithdrawPreBind,
)
from scheduler_svc.core.events import (
    BindFailed,
    BindFailure,
    BindSucceeded,
    Event,
    NodeDeleted,
    NodeUpserted,
    ObjectUpserted,
    PermitDecided,
    PodDeleted,
    PodUpserted,
    PreBindFinished,
)
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
)
from scheduler_svc.core.framework.interface import EnqueueExtensions, PreBindWork
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import Place
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.core.status import SKIP, SUCCESS, Code, Status
from tests.builders import at, make_node_info, make_pod_info
from tests.scripted_plugins import (
    Binding,
    Permitting,
    PostBinding,
    PreBinding,
    Reserving,
    named,
)
from tests.storage import make_claim, make_volume
from tests.unit.scheduler_svc.core.staging import (
    Points,
    acts,
    add,
    bound_to,
    decide,
    stage,
    step,
    the,
)

WAIT = Status(Code.WAIT)
POD = PodReference("default", "a", "uid-a")


class PermittingPerLabel(Permitting, EnqueueExtensions):
    """Permit whose rejections a change of a Node's labels may undo."""

    def events_to_register(self) -> list[EventRegistration]:
        event = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)
        return [EventRegistration(event)]


def holding(calls: list[str], *waits: tuple[str, float]) -> Points:
    """Let Permit plugins hold each Pod, and two Reserve plugins see what becomes of it."""
    return {
        "reserve": [named(name, Reserving)(calls) for name in ("R1", "R2")],
        "permit": [
            named(name, PermittingPerLabel)(calls, WAIT, seconds) for name, seconds in waits
        ],
    }


def working(calls: list[str], *answers: PreBindWork | Status) -> Points:
    """Let PreBind plugins W1, W2, ... answer so, and a Reserve plugin see what becomes of it."""
    return {
        "reserve": [named("R", Reserving)(calls)],
        "preBind": [
            named(f"W{i}", PreBinding)(calls, answer) for i, answer in enumerate(answers, start=1)
        ],
    }


class Undoing(Reserving):
    """Reserve that has something to take back."""

    def undo(self, pod: PodInfo, node_name: str) -> str:
        return f"take {pod.name} off {node_name}"


def assert_undone(scheduler: Scheduler, calls: list[str], *reservers: str) -> None:
    """Check that nothing is left of the decision."""
    assert calls[-len(reservers) :] == [f"{name} unreserve a n1" for name in reservers]
    statistics = scheduler.statistics()
    assert statistics.binding_count == statistics.assumed_pod_count == 0
    assert statistics.queue.in_flight_count == 0
    scheduler.validate()


def test_everybody_is_asked_in_order() -> None:
    calls: list[str] = []
    points: Points = {
        "reserve": [named(name, Reserving)(calls) for name in ("A", "B")],
        "permit": [named("C", Permitting)(calls)],
        "preBind": [named(name, PreBinding)(calls) for name in ("D", "E")],
        "bind": [named("F", Binding)(calls, SKIP), named("G", Binding)(calls)],
        "postBind": [named(name, PostBinding)(calls) for name in ("H", "I")],
    }
    scheduler = stage(points)
    assert bound_to(decide(scheduler, make_pod_info())) == "n1"
    decided = [
        "A reserve a n1",
        "B reserve a n1",
        "C permit a n1",
        "D pre-bind a n1",
        "E pre-bind a n1",
        "F bind a n1",
        "G bind a n1",
    ]
    assert calls == decided
    scheduler.handle(BindSucceeded("uid-a"), at(1))
    assert calls == [*decided, "H post-bind a n1", "I post-bind a n1"]


def test_a_pod_that_is_bound_is_reported() -> None:
    scheduler = stage()
    add(scheduler, make_pod_info(), 1)
    step(scheduler, 3)
    assert scheduler.statistics().binding_count == 1
    assert scheduler.handle(BindSucceeded("uid-a"), at(3.5)) == [
        ReportBound(
            pod=POD,
            scheduler_name="berthmaster",
            node_name="n1",
            attempt=1,
            sli_seconds=2.5,
            binding_seconds=0.5,
            after_flush=False,
            attempt_seconds=0.5,
        ),
        RecordEvent(
            POD,
            "berthmaster",
            EventType.NORMAL,
            "Scheduled",
            "Binding",
            "Successfully assigned default/a to n1",
        ),
    ]
    assert scheduler.statistics().binding_count == 0
    # It counts as assumed until the watch has seen it.
    assert scheduler.statistics().assumed_pod_count == 1
    assert scheduler.handle(BindSucceeded("uid-a"), at(4)) == []


def test_a_pod_that_nothing_but_time_brought_back_is_reported_as_such() -> None:
    scheduler = stage(nodes=())
    node = make_node_info("n1", cpu=1)
    scheduler.handle(NodeUpserted(node), at(0))
    decide(scheduler, make_pod_info(requests={"cpu": 2}))
    assert scheduler.queue.place_of("uid-a") is Place.UNSCHEDULABLE
    # As if the change had been missed.
    scheduler.cache.set_node(make_node_info("n1", cpu=2))
    assert scheduler.step(at(299)) is None
    scheduler.expire(at(330))
    assert bound_to(step(scheduler, 331)) == "n1"
    bound = the(ReportBound, scheduler.handle(BindSucceeded("uid-a"), at(332)))
    assert bound.after_flush
    assert bound.attempt == 2
    assert bound.sli_seconds == 332


def test_every_permit_that_holds_the_pod_must_let_it_go() -> None:
    calls: list[str] = []
    scheduler = stage(holding(calls, ("P", 20), ("Q", 10)))
    assert decide(scheduler, make_pod_info(), 5) == [PatchNomination(POD, "n1")]
    assert scheduler.next_deadline() == 15
    assert scheduler.statistics().queue.in_flight_count == 1
    assert scheduler.handle(PermitDecided("uid-a", "Q"), at(6)) == []
    assert scheduler.next_deadline() == 25
    assert bound_to(scheduler.handle(PermitDecided("uid-a", "P"), at(7))) == "n1"
    assert scheduler.next_deadline() is None
    assert scheduler.statistics().queue.in_flight_count == 0


def test_permits_that_nobody_waits_for_are_ignored() -> None:
    scheduler = stage(holding([], ("P", 20)))
    decide(scheduler, make_pod_info())
    for event in (
        PermitDecided("uid-unknown", "P"),
        PermitDecided("uid-a", "Q"),
        PermitDecided("uid-a", "Q", rejection="no"),
        PreBindFinished("uid-a", "P"),
    ):
        assert scheduler.handle(event, at(1)) == []
    assert bound_to(scheduler.handle(PermitDecided("uid-a", "P"), at(1))) == "n1"
    assert scheduler.handle(PermitDecided("uid-a", "P"), at(1)) == []


def test_a_permit_may_be_denied() -> None:
    calls: list[str] = []
    scheduler = stage(holding(calls, ("P", 20), ("Q", 20)))
    decide(scheduler, make_pod_info())
    effects = scheduler.handle(PermitDecided("uid-a", "Q", rejection="quota is used up"), at(3))
    condition = the(PatchPodCondition, effects)
    assert (condition.reason, condition.message) == ("Unschedulable", "quota is used up")
    assert the(ReportAttempt, effects).result is AttemptResult.UNSCHEDULABLE
    queued = scheduler.queue.get("uid-a")
    assert queued is not None
    assert queued.unschedulable_plugins == {"Q"}
    assert scheduler.queue.place_of("uid-a") is Place.UNSCHEDULABLE
    assert_undone(scheduler, calls, "R2", "R1")


def test_a_permit_that_takes_too_long_is_a_rejection() -> None:
    calls: list[str] = []
    scheduler = stage(holding(calls, ("P", 20), ("Q", 10.5)))
    decide(scheduler, make_pod_info(), 5)
    assert scheduler.expire(at(15.4)) == []
    effects = scheduler.expire(at(15.503127))
    condition = the(PatchPodCondition, effects)
    assert condition.reason == "Unschedulable"
    # What it may wait, as upstream: what it has waited would be another text each time.
    assert condition.message == "rejected due to timeout after waiting 10.5s at plugin Q"
    assert_undone(scheduler, calls, "R2", "R1")
    assert scheduler.expire(at(100)) == []


def test_how_long_a_pod_has_waited_on_permit_is_told() -> None:
    scheduler = stage(holding([], ("P", 20), ("Q", 20)))
    for name, answers in (
        ("let", [PermitDecided("uid-let", "P"), PermitDecided("uid-let", "Q")]),
        ("denied", [PermitDecided("uid-denied", "Q", rejection="no")]),
    ):
        decide(scheduler, make_pod_info(name), 5)
        *first, last = [scheduler.handle(answer, at(8)) for answer in answers]
        assert [acts(effects) for effects in first] == first
        wait = the(ReportWait, last)
        assert (wait.extension_point, wait.plugin, wait.seconds) == ("Permit", "", 3)
        is_let = name == "let"
        assert wait.status == ("Success" if is_let else "Unschedulable")
        assert wait.message == ("" if is_let else "no")
    decide(scheduler, make_pod_info("late"), 10)
    wait = the(ReportWait, scheduler.expire(at(30)))
    assert (wait.status, wait.seconds) == ("Unschedulable", 20)


def test_what_happens_while_the_pod_waits_is_not_missed() -> None:
    scheduler = stage(holding([], ("P", 20)))
    decide(scheduler, make_pod_info())
    scheduler.handle(NodeUpserted(make_node_info("n1", labels={"new": ""})), at(1))
    scheduler.handle(PermitDecided("uid-a", "P", rejection="no"), at(2))
    assert scheduler.queue.place_of("uid-a") is Place.BACKOFF


def test_work_before_the_binding_is_done_outside_plugin_by_plugin() -> None:
    calls: list[str] = []
    claim, device = PreBindWork("claim", 30), PreBindWork("device", 40)
    scheduler = stage(working(calls, SKIP, claim, Status(Code.SUCCESS), device))
    assert decide(scheduler, make_pod_info(), 5) == [
        PatchNomination(POD, "n1"),
        RunPreBind(POD, "W2", "n1", "claim"),
    ]
    assert scheduler.next_deadline() == 35
    assert scheduler.statistics().queue.in_flight_count == 0
    assert scheduler.handle(PreBindFinished("uid-a", "W2"), at(10)) == [
        ReportWait(POD, "berthmaster", "PreBind", "W2", "Success", 5),
        RunPreBind(POD, "W4", "n1", "device"),
    ]
    assert scheduler.next_deadline() == 50
    assert bound_to(scheduler.handle(PreBindFinished("uid-a", "W4"), at(11))) == "n1"
    assert scheduler.next_deadline() is None
    assert [call.split()[0] for call in calls] == ["R", "W1", "W2", "W3", "W4"]


def test_work_that_nobody_waits_for_is_ignored() -> None:
    scheduler = stage(working([], PreBindWork("claim", 30)))
    decide(scheduler, make_pod_info())
    assert scheduler.handle(PreBindFinished("uid-unknown", "W1"), at(1)) == []
    assert scheduler.handle(PreBindFinished("uid-a", "W9"), at(1)) == []
    assert bound_to(scheduler.handle(PreBindFinished("uid-a", "W1"), at(1))) == "n1"
    assert scheduler.handle(PreBindFinished("uid-a", "W1"), at(1)) == []


def assert_error(effects: Sequence[Effect], message: str) -> None:
    """Check that users are told of an error, and where the Pod was to go."""
    condition, report = the(PatchPodCondition, effects), the(ReportAttempt, effects)
    assert (condition.reason, condition.message) == ("SchedulerError", message)
    assert (report.result, report.node_name) == (AttemptResult.ERROR, "n1")


def test_work_may_fail() -> None:
    calls: list[str] = []
    scheduler = stage(working(calls, PreBindWork("claim", 30)))
    decide(scheduler, make_pod_info())
    effects = scheduler.handle(PreBindFinished("uid-a", "W1", error="no such volume"), at(1))
    assert_error(effects, 'running PreBind plugin "W1": no such volume')
    assert scheduler.queue.place_of("uid-a") is Place.BACKOFF
    assert_undone(scheduler, calls, "R")


def test_how_long_work_took_that_failed_is_told_of_the_plugin() -> None:
    scheduler = stage(working([], PreBindWork("a", 30), PreBindWork("b", 30)))
    decide(scheduler, make_pod_info(), 5)
    scheduler.handle(PreBindFinished("uid-a", "W1"), at(7))
    wait = the(ReportWait, scheduler.handle(PreBindFinished("uid-a", "W2", error="broken"), at(17)))
    assert (wait.extension_point, wait.plugin, wait.status) == ("PreBind", "W2", "Error")
    assert wait.seconds == 10
    assert wait.message == 'running PreBind plugin "W2": broken'


def test_work_may_take_too_long() -> None:
    calls: list[str] = []
    scheduler = stage(working(calls, PreBindWork("claim", 30)))
    decide(scheduler, make_pod_info(), 5)
    assert scheduler.expire(at(34)) == []
    assert scheduler.expire(at(35)) == [WithdrawPreBind(POD, "W1")]
    # What it writes may still come to be, so everything is kept for the Pod until it is over.
    assert scheduler.statistics().binding_count == 1
    assert calls[-1] == "W1 pre-bind a n1"
    assert scheduler.next_deadline() is None
    effects = scheduler.handle(PreBindFinished("uid-a", "W1"), at(36))
    assert_error(effects, 'running PreBind plugin "W1": no outcome after 30s')
    assert_undone(scheduler, calls, "R")
    assert scheduler.handle(PreBindFinished("uid-a", "W1"), at(36)) == []


def test_works_that_end_in_the_same_instant_are_withdrawn_once() -> None:
    scheduler = stage(working([], PreBindWork("claim", 30), PreBindWork("device", 30)))
    decide(scheduler, make_pod_info(), 5)
    scheduler.handle(PreBindFinished("uid-a", "W1"), at(5))
    assert scheduler.expire(at(35)) == [WithdrawPreBind(POD, "W2")]


def test_the_plugin_may_say_what_took_too_long() -> None:
    scheduler = stage(working([], PreBindWork("claim", 30, "context deadline exceeded")))
    decide(scheduler, make_pod_info(), 5)
    scheduler.expire(at(35))
    effects = scheduler.handle(PreBindFinished("uid-a", "W1", "withdrawn"), at(35))
    assert_error(effects, 'running PreBind plugin "W1": context deadline exceeded')


def test_others_that_wait_for_objects_have_their_time_as_well() -> None:
    plugin, scheduler = awaiting()
    scheduler.handle(PreBindFinished("uid-a", "W"), at(1))
    assert scheduler.next_deadline() == 30
    assert_error(scheduler.expire(at(30)), 'running PreBind plugin "W": no outcome after 30s')
    assert plugin.progress.code is Code.WAIT


@pytest.mark.parametrize(
    "event",
    [
        PodDeleted("uid-a"),
        PodUpserted(make_pod_info(is_terminating=True, version="2")),
        PodUpserted(make_pod_info(node="n9", version="2")),
    ],
    ids=["gone", "terminating", "bound by another"],
)
def test_a_pod_that_is_no_longer_ours_keeps_its_place_until_the_work_is_over(event: Event) -> None:
    calls: list[str] = []
    scheduler = stage(working(calls, PreBindWork("claim", 30), SUCCESS))
    decide(scheduler, make_pod_info())
    assert scheduler.handle(event, at(1)) == [WithdrawPreBind(POD, "W1")]
    assert scheduler.handle(event, at(1)) == []
    assert calls[-1] == "W1 pre-bind a n1"
    effects = scheduler.handle(PreBindFinished("uid-a", "W1"), at(2))
    assert [type(effect) for effect in effects] == [ReportWait]
    assert_undone(scheduler, calls, "R")
    assert scheduler.queue.place_of("uid-a") is None


@pytest.mark.parametrize("permits", [True, False])
def test_no_pod_waits_for_a_node_that_is_gone(permits: bool) -> None:
    calls: list[str] = []
    points = holding(calls, ("P", 20)) if permits else working(calls, PreBindWork("claim", 30))
    scheduler = stage(points, nodes=("n1",))
    decide(scheduler, make_pod_info())
    assert scheduler.handle(NodeDeleted("n2"), at(1)) == []
    effects = scheduler.handle(NodeDeleted("n1"), at(1))
    if not permits:
        assert effects == [WithdrawPreBind(POD, "W1")]
        effects = scheduler.handle(PreBindFinished("uid-a", "W1"), at(2))
    assert_error(effects, 'node "n1" not found')
    assert scheduler.queue.place_of("uid-a") is Place.BACKOFF


def test_the_first_reason_to_turn_a_pod_back_counts() -> None:
    scheduler = stage(working([], PreBindWork("claim", 30)))
    decide(scheduler, make_pod_info())
    assert scheduler._bindings.preempt("uid-a", "P", at(1)) == [WithdrawPreBind(POD, "W1")]
    assert scheduler._bindings.preempt("uid-a", "Q", at(2)) == []
    effects = scheduler.handle(PreBindFinished("uid-a", "W1", "withdrawn"), at(3))
    assert_error(effects, 'running PreBind plugin "W1": preempted by P')


def test_what_nobody_has_begun_is_not_undone() -> None:
    calls: list[str] = []
    undoing = {"reserve": [named("W1", Undoing)(calls)]}
    scheduler = stage({**holding(calls, ("P", 20)), **working(calls, SUCCESS), **undoing})
    decide(scheduler, make_pod_info())
    undone = scheduler._bindings.preempt("uid-a", "Q", at(1))
    assert undone is not None
    assert not [effect for effect in undone if isinstance(effect, RunCleanup)]


@pytest.mark.parametrize("code", [Code.ERROR, Code.UNSCHEDULABLE])
def test_pre_bind_may_refuse_at_once(code: Code) -> None:
    calls: list[str] = []
    scheduler = stage(working(calls, Status(code, ("no", "way"))))
    effects = decide(scheduler, make_pod_info())
    assert_error(effects, 'running PreBind plugin "W1": no, way')
    # Even after a rejection the Pod is tried again after a backoff: events were not logged.
    assert scheduler.queue.place_of("uid-a") is Place.BACKOFF
    assert_undone(scheduler, calls, "R")


@pytest.mark.parametrize(
    ("statuses", "message"),
    [
        ([Status(Code.ERROR, ("broken",))], 'running Bind plugin "B0": broken'),
        ([SKIP, Status(Code.ERROR, ("broken",))], 'running Bind plugin "B1": broken'),
        ([SKIP], "no Bind plugin took the Pod"),
    ],
)
def test_bind_may_refuse(statuses: list[Status], message: str) -> None:
    calls: list[str] = []
    binds = [named(f"B{i}", Binding)(calls, status) for i, status in enumerate(statuses)]
    scheduler = stage({"reserve": [named("R", Reserving)(calls)], "bind": binds})
    assert_error(decide(scheduler, make_pod_info()), message)
    assert_undone(scheduler, calls, "R")


@pytest.mark.parametrize(
    "failure", [BindFailure.REFUSED, BindFailure.NODE_GONE, BindFailure.NOT_LEADER]
)
def test_a_binding_that_failed_is_tried_again(failure: BindFailure) -> None:
    calls: list[str] = []
    scheduler = stage({"reserve": [named("R", Reserving)(calls)]})
    decide(scheduler, make_pod_info())
    effects = scheduler.handle(BindFailed("uid-a", failure, "HTTP 500"), at(1))
    assert_error(effects, 'running Bind plugin "DefaultBinder": HTTP 500')
    assert scheduler.queue.place_of("uid-a") is Place.BACKOFF
    assert_undone(scheduler, calls, "R")
    # 1 s of backoff from second 1; within a whole second it is not over.
    assert bound_to(step(scheduler, 3)) == "n1"


@pytest.mark.parametrize("failure", [BindFailure.GONE, BindFailure.BOUND_ELSEWHERE])
def test_a_pod_that_is_gone_or_bound_is_not(failure: BindFailure) -> None:
    calls: list[str] = []
    scheduler = stage({"reserve": [named("R", Reserving)(calls)]})
    decide(scheduler, make_pod_info())
    assert scheduler.handle(BindFailed("uid-a", failure, "HTTP 404"), at(1)) == []
    assert scheduler.queue.place_of("uid-a") is None
    assert_undone(scheduler, calls, "R")


@pytest.mark.parametrize("failure", BindFailure)
def test_what_was_written_for_a_pod_that_is_not_bound_is_taken_back(failure: BindFailure) -> None:
    points: Points = {
        "reserve": [named("R", Undoing)([]), named("Q", Reserving)([])],
        "preBind": [named("R", PreBinding)([])],
    }
    scheduler = stage(points)
    decide(scheduler, make_pod_info())
    effects = scheduler.handle(BindFailed("uid-a", failure, "x"), at(1))
    cleanups = [effect for effect in effects if isinstance(effect, RunCleanup)]
    assert cleanups == [RunCleanup(POD, "R", "take a off n1")]


def test_a_failure_names_the_plugin_that_took_the_pod() -> None:
    binders = [named("No", Binding)([], SKIP), named("Mine", Binding)([])]
    scheduler = stage({"bind": binders})
    assert the(BindPod, decide(scheduler, make_pod_info())).plugin == "Mine"
    failed = BindFailed("uid-a", BindFailure.REFUSED, "no")
    assert_error(scheduler.handle(failed, at(1)), 'running Bind plugin "Mine": no')


def test_failures_of_bindings_that_nobody_waits_for_are_ignored() -> None:
    scheduler = stage()
    assert scheduler.handle(BindFailed("uid-a", BindFailure.REFUSED, "x"), at(1)) == []


def test_room_that_is_free_again_is_offered_to_others() -> None:
    scheduler = stage()
    decide(scheduler, make_pod_info("a", requests={"cpu": 3}))
    decide(scheduler, make_pod_info("b", requests={"cpu": 3}))
    assert scheduler.queue.place_of("uid-b") is Place.UNSCHEDULABLE
    scheduler.handle(BindFailed("uid-a", BindFailure.GONE, "HTTP 404"), at(1))
    assert scheduler.queue.place_of("uid-b") is Place.BACKOFF


def test_a_rejected_pod_is_not_called_by_its_own_room() -> None:
    class Waiting(Permitting, EnqueueExtensions):
        """Permit whose rejections a deleted Pod may undo."""

        def events_to_register(self) -> list[EventRegistration]:
            return [EventRegistration(ClusterEvent(EventResource.POD, ActionType.DELETE))]

    scheduler = stage({"permit": [named("P", Waiting)([], WAIT, 20)]})
    decide(scheduler, make_pod_info())
    scheduler.handle(PermitDecided("uid-a", "P", rejection="no"), at(1))
    assert scheduler.queue.place_of("uid-a") is Place.UNSCHEDULABLE


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_pod_that_waits_and_is_deleted_goes_no_further(is_gone: bool) -> None:
    calls: list[str] = []
    scheduler = stage(holding(calls, ("P", 20)))
    decide(scheduler, make_pod_info())
    event = PodDeleted("uid-a")
    terminating = PodUpserted(make_pod_info(is_terminating=True, version="2"))
    effects = scheduler.handle(event if is_gone else terminating, at(1))
    assert [type(effect) for effect in effects] == [ReportWait]
    assert_undone(scheduler, calls, "R2", "R1")
    assert scheduler.queue.place_of("uid-a") is None
    assert scheduler.handle(PermitDecided("uid-a", "P"), at(2)) == []


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_pod_that_is_deleted_while_it_is_bound_is_left_to_the_answer(is_gone: bool) -> None:
    calls: list[str] = []
    scheduler = stage({"reserve": [named("R", Reserving)(calls)]})
    decide(scheduler, make_pod_info())
    event = PodDeleted("uid-a")
    terminating = PodUpserted(make_pod_info(is_terminating=True, version="2"))
    scheduler.handle(event if is_gone else terminating, at(1))
    assert scheduler.statistics().binding_count == 1
    assert calls == ["R reserve a n1"]
    assert scheduler.handle(BindFailed("uid-a", BindFailure.REFUSED, "HTTP 500"), at(2)) == []
    assert scheduler.queue.place_of("uid-a") is None
    assert_undone(scheduler, calls, "R")


def test_the_next_deadline_is_the_earliest_of_all() -> None:
    calls: list[str] = []
    points = {**holding(calls, ("P", 20)), **working(calls, PreBindWork("claim", 5))}
    scheduler = stage(points)
    decide(scheduler, make_pod_info("a"), 0)
    decide(scheduler, make_pod_info("b"), 1)
    assert scheduler.next_deadline() == 20
    scheduler.handle(PermitDecided("uid-b", "P"), at(2))
    assert scheduler.next_deadline() == 7
    assert bound_to(scheduler.handle(PreBindFinished("uid-b", "W1"), at(3))) == "n1"
    assert scheduler.next_deadline() == 20


class Awaiting(PreBinding):
    """PreBind whose work is done once others have done theirs."""

    progress = WAIT

    def pre_bind_progress(self, pod: PodInfo, node_name: str, cluster: Cluster) -> Status:
        self.calls.append(f"{self.name} progress {pod.name} {node_name}")
        return self.progress


def awaiting() -> tuple[Awaiting, Scheduler]:
    plugin = named("W", Awaiting)([], PreBindWork("claim", 30))
    scheduler = stage({"preBind": [plugin]})
    decide(scheduler, make_pod_info())
    return plugin, scheduler


A_CHANGE = ObjectUpserted(ObjectKind.PERSISTENT_VOLUME_CLAIM, make_claim("x"))


def test_a_pod_waits_for_what_others_do_to_objects() -> None:
    plugin, scheduler = awaiting()
    assert scheduler.handle(A_CHANGE, at(1)) == []
    assert scheduler.handle(PreBindFinished("uid-a", "W"), at(2)) == []
    assert scheduler.handle(A_CHANGE, at(3)) == []
    plugin.progress = Status(Code.SUCCESS)
    assert bound_to(scheduler.handle(A_CHANGE, at(4))) == "n1"


@pytest.mark.parametrize("error", ["", "no such volume"])
def test_a_plugin_hears_what_became_of_its_work_though_the_pod_is_turned_back(error: str) -> None:
    """What has been written stays written: it must not be given to others meanwhile."""
    calls: list[str] = []
    reserving = {"reserve": [named("R", Reserving)(calls)]}
    plugin = named("W", Awaiting)(calls, PreBindWork("claim", 30))
    scheduler = stage({"preBind": [plugin], **reserving})
    decide(scheduler, make_pod_info())
    scheduler.handle(PodDeleted("uid-a"), at(1))
    scheduler.handle(PreBindFinished("uid-a", "W", error), at(2))
    told = [] if error else ["W progress a n1"]
    assert calls[2:] == [*told, "R unreserve a n1"]


class AwaitingOne(Awaiting):
    """PreBind that waits for one object."""

    def awaited_objects(
        self, pod: PodInfo, node_name: str, cluster: Cluster
    ) -> Collection[ObjectName]:
        return [(ObjectKind.PERSISTENT_VOLUME_CLAIM, "default/x")]


def test_only_objects_that_are_awaited_are_a_reason_to_ask_again() -> None:
    plugin = named("W", AwaitingOne)([], PreBindWork("claim", 30))
    scheduler = stage({"preBind": [plugin]})
    decide(scheduler, make_pod_info())
    scheduler.handle(PreBindFinished("uid-a", "W"), at(1))
    plugin.progress = Status(Code.SUCCESS)
    other = ObjectUpserted(ObjectKind.PERSISTENT_VOLUME, make_volume("x"))
    assert scheduler.handle(other, at(2)) == []
    assert bound_to(scheduler.handle(A_CHANGE, at(3))) == "n1"


def test_what_others_did_may_be_a_failure() -> None:
    plugin, scheduler = awaiting()
    plugin.progress = Status(Code.ERROR, ("claim is lost",))
    effects = scheduler.handle(PreBindFinished("uid-a", "W"), at(2))
    assert_error(effects, 'running PreBind plugin "W": claim is lost')


def test_others_have_as_long_as_the_work() -> None:
    _, scheduler = awaiting()
    scheduler.handle(PreBindFinished("uid-a", "W"), at(2))
    assert scheduler.next_deadline() == 30
    assert_error(scheduler.expire(at(30)), 'running PreBind plugin "W": no outcome after 30s')


def test_where_a_pod_is_going_is_told_once() -> None:
    calls: list[str] = []
    scheduler = stage(working(calls, PreBindWork("a", 30), PreBindWork("b", 30)))
    first = decide(scheduler, make_pod_info(), 5)
    second = scheduler.handle(PreBindFinished("uid-a", "W1"), at(6))
    assert [type(effect) for effect in (*first, *acts(second))] == [
        PatchNomination,
        RunPreBind,
        RunPreBind,
    ]
    known = decide(scheduler, make_pod_info("known", nominated="n1"), 7)
    assert [type(effect) for effect in known] == [RunPreBind]


def test_a_pod_that_waits_for_nobody_cannot_be_turned_away_in_memory() -> None:
    scheduler = stage()
    decide(scheduler, make_pod_info(), 5)
    assert scheduler._bindings.preempt("uid-a", "P", at(6)) is None
    assert scheduler._bindings.preempt("uid-unknown", "P", at(6)) is None
