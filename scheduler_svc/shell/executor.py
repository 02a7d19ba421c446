"""Hands each effect of the core to who carries it out, and notes it on the way."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar, assert_never

from scheduler_svc.core.effects import (
    AskAboutVictims,
    AskExtenders,
    BindPod,
    Effect,
    EvictPods,
    PatchNomination,
    PatchPodCondition,
    RecordEvent,
    ReportAttempt,
    ReportBound,
    ReportPreemption,
    ReportRefusal,
    ReportWait,
    RunCleanup,
    RunPreBind,
    WithdrawPreBind,
)
from scheduler_svc.core.events import (
    BindFailed,
    Event,
    EvictionFinished,
    ExtendersAnswered,
    PreBindFinished,
    ProfileRemoved,
    ProfileSet,
    VictimsAnswered,
)
from scheduler_svc.core.framework.stopwatch import Stopwatch
from scheduler_svc.shell.journal import Journal
from scheduler_svc.shell.metrics.attempt_metrics import AttemptMetrics
from scheduler_svc.shell.metrics.plugin_metrics import PluginMetrics

_NOTED: Final = frozenset(
    {
        *(BindFailed, PreBindFinished, EvictionFinished, ExtendersAnswered, VictimsAnswered),
        *(ProfileSet, ProfileRemoved),
    }
)

E_contra = TypeVar("E_contra", contravariant=True)


class Writer(Protocol[E_contra]):
    """Carries out one kind of effect; `submit` never blocks."""

    def submit(self, effect: E_contra, /) -> None:
        """Begin, or queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectWriters:
    """Who carries out which effects; a Binding goes to `extenders` if one is to bind the Pod."""

    binder: Writer[BindPod]
    patcher: Writer[PatchPodCondition | PatchNomination]
    recorder: Writer[RecordEvent]
    pre_bind: Writer[RunPreBind | WithdrawPreBind | RunCleanup]
    evictor: Writer[EvictPods]
    extenders: Writer[AskExtenders | AskAboutVictims | BindPod]


class Executor:
    """Carries out what the core asks for.

    Attributes
    ----------
    on_profile
        Is told when the core serves other profiles.
    is_leading
        Whether it is this replica that tells Pods of a profile that is gone: all of them let go
        of them.
    """

    def __init__(
        self,
        writers: EffectWriters,
        *,
        attempt_metrics: AttemptMetrics,
        plugin_metrics: PluginMetrics,
        journal: Journal | None = None,
    ) -> None:
        self._binder = writers.binder
        self._patcher = writers.patcher
        self._recorder = writers.recorder
        self._pre_bind = writers.pre_bind
        self._evictor = writers.evictor
        self._extenders = writers.extenders
        self._attempt_metrics = attempt_metrics
        self._plugin_metrics = plugin_metrics
        self._journal = journal or Journal(attempt_metrics, plugins=plugin_metrics)
        self.on_profile: Callable[[ProfileSet | ProfileRemoved], None] = lambda _: None
        self.is_leading: Callable[[], bool] = lambda: True

    def stopwatch(self) -> Stopwatch | None:
        """Give what is to measure the plugins in the next attempt; None for most."""
        return self._plugin_metrics.stopwatch()

    def handled(self, event: Event, effects: list[Effect]) -> None:
        """Carry out what follows from an event."""
        if type(event) in _NOTED:
            self._note(event, effects)
        if effects and (type(event) is not ProfileRemoved or self.is_leading()):
            self._carry_out(effects)

    def _note(self, event: Event, effects: list[Effect]) -> None:
        match event:
            case BindFailed():
                self._journal.bind_failed(event)
            case PreBindFinished():
                self._plugin_metrics.waits.written(event)
            case EvictionFinished():
                self._attempt_metrics.preemption.finished(event)
            case ExtendersAnswered() | VictimsAnswered():
                if effects and not _is_question(effects[-1]):
                    self._attempt_metrics.attempted(event.waited_seconds)
            case ProfileSet() | ProfileRemoved():
                self.on_profile(event)
            case _:
                pass

    def attempted(self, effects: list[Effect], seconds: float) -> None:
        """Carry out what follows from an attempt; no effects: the Pod needed none.

        One that ends in a question for extenders counts when that is answered.
        """
        if effects and _is_question(effects[-1]):
            self._carry_out(effects)
        elif effects:
            self._attempt_metrics.attempted(seconds)
            self._plugin_metrics.attempted(_profile_of(effects))
            self._carry_out(effects)

    def expired(self, effects: list[Effect]) -> None:
        """Carry out what follows from time passing."""
        self._carry_out(effects)

    def _carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case BindPod():
                    self._journal.decided(effect)
                    binds = self._binder if effect.extender is None else self._extenders
                    binds.submit(effect)
                case AskExtenders() | AskAboutVictims():
                    self._extenders.submit(effect)
                case RecordEvent():
                    self._recorder.submit(effect)
                case PatchPodCondition() | PatchNomination():
                    self._patcher.submit(effect)
                case RunPreBind():
                    self._plugin_metrics.waits.begun(effect)
                    self._pre_bind.submit(effect)
                case RunCleanup() | WithdrawPreBind():
                    self._pre_bind.submit(effect)
                case EvictPods():
                    self._attempt_metrics.preemption.begun(effect)
                    self._evictor.submit(effect)
                case _:
                    self._report(effect)

    def _report(
        self, effect: ReportBound | ReportAttempt | ReportWait | ReportPreemption | ReportRefusal
    ) -> None:
        match effect:
            case ReportBound():
                self._journal.bound(effect)
            case ReportAttempt():
                self._journal.attempt_failed(effect)
            case ReportWait():
                self._plugin_metrics.waited(effect)
            case ReportPreemption():
                self._attempt_metrics.preemption.attempted(effect)
            case ReportRefusal():
                self._journal.refused(effect)
            case _:
                assert_never(effect)


def _is_question(effect: Effect) -> bool:
    return isinstance(effect, AskExtenders | AskAboutVictims)


def _profile_of(effects: list[Effect]) -> str:
    """Give the profile of an attempt: all its effects that name one name the same."""
    for effect in effects:
        if isinstance(effect, BindPod | RecordEvent | ReportAttempt | ReportPreemption):
            return effect.scheduler_name
    return ""
