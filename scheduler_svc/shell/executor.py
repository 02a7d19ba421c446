"""Hands each effect of the core to who carries it out, and notes it on the way."""

from typing import Protocol, TypeVar, assert_never

from scheduler_svc.core.effects import (
    BindPod,
    Effect,
    EvictPods,
    PatchNomination,
    PatchPodCondition,
    RecordEvent,
    ReportAttempt,
    ReportBound,
    ReportPreemption,
    RunCleanup,
    RunPreBind,
)
from scheduler_svc.core.events import BindFailed, Event
from scheduler_svc.core.framework.stopwatch import Stopwatch
from scheduler_svc.shell.attempt_metrics import AttemptMetrics
from scheduler_svc.shell.journal import Journal
from scheduler_svc.shell.plugin_metrics import PluginMetrics

E_contra = TypeVar("E_contra", contravariant=True)


class Writer(Protocol[E_contra]):
    """Carries out one kind of effect; `submit` never blocks."""

    def submit(self, effect: E_contra, /) -> None:
        """Begin, or queue."""


class Executor:
    """Carries out what the core asks for."""

    def __init__(
        self,
        *,
        binder: Writer[BindPod],
        patcher: Writer[PatchPodCondition | PatchNomination],
        recorder: Writer[RecordEvent],
        pre_bind: Writer[RunPreBind | RunCleanup],
        evictor: Writer[EvictPods],
        attempt_metrics: AttemptMetrics,
        plugin_metrics: PluginMetrics,
        journal: Journal | None = None,
    ) -> None:
        self._binder = binder
        self._patcher = patcher
        self._recorder = recorder
        self._pre_bind = pre_bind
        self._evictor = evictor
        self._attempt_metrics = attempt_metrics
        self._plugin_metrics = plugin_metrics
        self._journal = journal or Journal(attempt_metrics)

    def stopwatch(self) -> Stopwatch | None:
        """Give what is to measure the plugins in the next attempt; None for most."""
        return self._plugin_metrics.stopwatch()

    def handled(self, event: Event, effects: list[Effect]) -> None:
        """Carry out what follows from an event."""
        seconds = self._journal.bind_failed(event) if isinstance(event, BindFailed) else 0.0
        if effects:
            self._carry_out(effects, seconds)

    def attempted(self, effects: list[Effect], seconds: float) -> None:
        """Carry out what follows from an attempt; no effects: the Pod needed none."""
        if effects:
            self._attempt_metrics.attempted(seconds)
            self._plugin_metrics.attempted(_profile_of(effects))
            self._carry_out(effects, seconds)

    def expired(self, effects: list[Effect]) -> None:
        """Carry out what follows from time passing."""
        self._carry_out(effects, 0.0)

    def _carry_out(self, effects: list[Effect], seconds: float) -> None:
        for effect in effects:
            match effect:
                case BindPod():
                    self._journal.decided(effect)
                    self._binder.submit(effect)
                case ReportBound():
                    self._journal.bound(effect)
                case RecordEvent():
                    self._recorder.submit(effect)
                case PatchPodCondition() | PatchNomination():
                    self._patcher.submit(effect)
                case ReportAttempt():
                    self._journal.attempt_failed(effect, seconds)
                case RunPreBind() | RunCleanup():
                    self._pre_bind.submit(effect)
                case EvictPods():
                    self._evictor.submit(effect)
                case ReportPreemption():
                    self._attempt_metrics.preemption.attempted(effect)
                case _:
                    assert_never(effect)


def _profile_of(effects: list[Effect]) -> str:
    """Give the profile of an attempt: all its effects that name one name the same."""
    for effect in effects:
        if isinstance(effect, BindPod | RecordEvent | ReportAttempt | ReportPreemption):
            return effect.scheduler_name
    return ""
