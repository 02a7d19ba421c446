from typing import Generic, TypeVar

import pytest
from msgspec import structs

from scheduler_svc.core.devices.writes import BindClaims
from scheduler_svc.core.effects import (
    AskAboutVictims,
    AskExtenders,
    BindPod,
    EventType,
    EvictPods,
    PatchNomination,
    PatchPodCondition,
    RecordEvent,
    ReportPreemption,
    ReportRefusal,
    ReportWait,
    RunCleanup,
    RunPreBind,
    Victim,
    WithdrawPreBind,
)
from scheduler_svc.core.events import (
    BindFailed,
    BindFailure,
    EvictionFinished,
    ExtendersAnswered,
    NodeDeleted,
    PreBindFinished,
    ProfileRemoved,
    ProfileSet,
)
from scheduler_svc.shell.executor import EffectWriters, Executor
from scheduler_svc.shell.metrics.attempt_metrics import AttemptMetrics
from scheduler_svc.shell.metrics.plugin_metrics import SAMPLE, PluginMetrics
from tests.unit.scheduler_svc.shell.effects import POD, bind_pod, report_attempt, report_bound
from tests.unit.scheduler_svc.shell.registry import Samples

E = TypeVar("E")


class Recorder(Generic[E]):
    def __init__(self) -> None:
        self.effects: list[E] = []

    def submit(self, effect: E, /) -> None:
        self.effects.append(effect)


class Rig:
    """An executor whose writers only remember."""

    def __init__(self) -> None:
        self.binder = Recorder[BindPod]()
        self.patcher = Recorder[PatchPodCondition | PatchNomination]()
        self.recorder = Recorder[RecordEvent]()
        self.pre_bind = Recorder[RunPreBind | WithdrawPreBind | RunCleanup]()
        self.evictor = Recorder[EvictPods]()
        self.attempts = AttemptMetrics(("berthmaster",))
        self.plugins = PluginMetrics()
        self.extenders = Recorder[AskExtenders | AskAboutVictims | BindPod]()
        self.executor = Executor(
            EffectWriters(
                binder=self.binder,
                patcher=self.patcher,
                recorder=self.recorder,
                pre_bind=self.pre_bind,
                evictor=self.evictor,
                extenders=self.extenders,
            ),
            attempt_metrics=self.attempts,
            plugin_metrics=self.plugins,
        )


def record_event() -> RecordEvent:
    return RecordEvent(
        pod=POD,
        scheduler_name="berthmaster",
        type=EventType.WARNING,
        reason="FailedScheduling",
        action="Scheduling",
        note="0/1 nodes are available",
    )


async def test_each_effect_goes_to_who_carries_it_out() -> None:
    rig = Rig()
    bind, event = bind_pod(), record_event()
    patch = PatchPodCondition(POD, "Unschedulable", "0/1 nodes are available")
    work = RunPreBind(POD, "VolumeBinding", "n1", None)
    nomination = PatchNomination(POD, "n1")
    eviction = EvictPods(POD, 1, "preempting", (Victim(POD, event),))
    rig.executor.expired([bind, report_attempt("no"), event, patch, work, report_bound()])
    withdrawal = WithdrawPreBind(POD, "VolumeBinding")
    cleanup = RunCleanup(POD, "DynamicResources", None)
    withdrawal = WithdrawPreBind(POD, "VolumeBinding")
    rig.executor.expired([nomination, eviction, cleanup, ReportPreemption(POD, "berthmaster", 3)])
    rig.executor.expired([withdrawal])
    assert rig.binder.effects == [bind]
    assert rig.recorder.effects == [event]
    assert rig.patcher.effects == [patch, nomination]
    assert rig.evictor.effects == [eviction]
    assert rig.pre_bind.effects == [work, cleanup, withdrawal]
    sample = Samples(rig.attempts.collect)
    attempts = "scheduler_schedule_attempts_total"
    assert sample(attempts, result="scheduled", profile="berthmaster") == 1
    assert sample(attempts, result="unschedulable", profile="berthmaster") == 1
    assert sample("scheduler_preemption_attempts_total") == 1
    assert sample("scheduler_preemption_victims_sum") == 3


@pytest.mark.parametrize("is_leading", [True, False])
async def test_one_replica_tells_pods_of_a_profile_that_is_gone(*, is_leading: bool) -> None:
    rig, told = Rig(), list[ProfileSet | ProfileRemoved]()
    rig.executor.on_profile = told.append
    rig.executor.is_leading = lambda: is_leading
    gone, farewell = ProfileRemoved("batch", "it was deleted"), record_event()
    rig.executor.handled(gone, [farewell])
    assert told == [gone]
    assert rig.recorder.effects == ([farewell] if is_leading else [])


async def test_refusal_is_counted() -> None:
    rig = Rig()
    rig.executor.expired([ReportRefusal(POD, "berthmaster", "n1", "OutOfcpu", "no room", "")])
    assert Samples(rig.attempts.collect)("berthmaster_pods_refused_total", reason="OutOfcpu") == 1


async def test_extenders_are_asked_and_bind_instead_of_us() -> None:
    rig = Rig()
    nodes = AskExtenders(POD, "berthmaster", 1, ("n1",), (0,), ())
    victims = AskAboutVictims(POD, "berthmaster", 2, 0, {})
    bind = structs.replace(bind_pod(), extender=0)
    rig.executor.expired([nodes, victims, bind])
    assert rig.extenders.effects == [nodes, victims, bind]
    assert rig.binder.effects == []


def set_clock(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> None:
    times = iter(seconds)
    monkeypatch.setattr("scheduler_svc.shell.journal.read_monotonic_seconds", lambda: next(times))


async def test_attempt_that_asks_extenders_counts_once_and_lasts_until_they_have_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_clock(monkeypatch, 100.25)
    rig = Rig()
    nodes = AskExtenders(POD, "berthmaster", 1, ("n1",), (0,), ())
    rig.executor.attempted([nodes], 0.001)
    rig.executor.handled(ExtendersAnswered("uid-1", 1, waited_seconds=9.0), [nodes])
    answer = ExtendersAnswered("uid-1", 1, waited_seconds=0.25)
    rig.executor.handled(answer, [report_attempt("no", begun=100.0)])
    sample = Samples(rig.attempts.collect)
    assert sample("scheduler_scheduling_algorithm_duration_seconds_count") == 1
    seconds = "scheduler_scheduling_attempt_duration_seconds_sum"
    assert sample(seconds, result="unschedulable", profile="berthmaster") == 0.25


async def test_attempt_is_timed_unless_the_pod_needed_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_clock(monkeypatch, 100.5)
    rig = Rig()
    rig.executor.attempted([], 0.5)
    rig.executor.attempted([report_attempt("no", begun=100.0)], 0.001)
    sample = Samples(rig.attempts.collect)
    assert sample("scheduler_scheduling_algorithm_duration_seconds_count") == 1
    seconds = "scheduler_scheduling_attempt_duration_seconds_sum"
    assert sample(seconds, result="unschedulable", profile="berthmaster") == 0.5


async def test_attempt_whose_binding_failed_lasts_from_its_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_clock(monkeypatch, 100.0, 102.5, 102.5)
    rig = Rig()
    rig.executor.attempted([bind_pod()], 0.001)
    failed = BindFailed("uid-1", BindFailure.REFUSED, "HTTP 403")
    rig.executor.handled(failed, [report_attempt("HTTP 403", node="n1", begun=99.5)])
    sample = Samples(rig.attempts.collect)
    seconds = "scheduler_scheduling_attempt_duration_seconds_sum"
    assert sample(seconds, result="unschedulable", profile="berthmaster") == 3
    assert sample("berthmaster_binding_cycle_seconds_sum", result="refused") == 2.5


async def test_sampled_attempts_are_told_with_their_profile() -> None:
    rig = Rig()
    stopwatches = [rig.executor.stopwatch() for _ in range(SAMPLE)]
    assert stopwatches[-1] is not None
    stopwatches[-1].note("Score", "ImageLocality", 0.001)
    rig.executor.attempted([bind_pod()], 0.002)
    sample = Samples(rig.plugins.collect)
    name = "scheduler_framework_extension_point_duration_seconds_sum"
    labels = {"extension_point": "Score", "status": "Success", "profile": "berthmaster"}
    assert sample(name, **labels) == 0.001


async def test_waits_and_evictions_are_noted_from_begin_to_end() -> None:
    rig = Rig()
    claims = BindClaims((), "berthmaster", "waiting", ("d.example",), ("d.example",))
    work = RunPreBind(POD, "DynamicResources", "n1", claims)
    rig.executor.expired([work, EvictPods(POD, 1, "preempting", ())])
    rig.executor.handled(PreBindFinished("uid-1", "DynamicResources"), [])
    rig.executor.handled(EvictionFinished(1), [])
    end = ReportWait(POD, "berthmaster", "PreBind", "DynamicResources", "Success", 3)
    rig.executor.expired([end])
    plugins, attempts = Samples(rig.plugins.collect), Samples(rig.attempts.collect)
    labels = {"profile": "berthmaster", "driver": "d.example", "status": "success"}
    assert plugins("scheduler_dra_bindingconditions_allocations_total", **labels) == 1
    assert attempts("scheduler_preemption_goroutines_execution_total", result="success") == 1


def test_events_without_effects_do_nothing() -> None:
    rig = Rig()
    rig.executor.handled(NodeDeleted("n1"), [])
    assert rig.binder.effects == []
