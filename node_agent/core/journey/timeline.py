"""A journey as others read it: JSON at the agent's endpoints, and what the terminal draws.

Times are RFC 3339 with nine digits, durations are seconds. A step, and a figure, that is not
known is absent.
"""

import msgspec

from node_agent.core.clock import NANOSECONDS
from node_agent.core.journey.clock_skew import SkewEstimate
from node_agent.core.journey.journey import Journey
from node_agent.core.journey.marks import (
    KINDS_BY_STEP,
    Mark,
    MarkKind,
    Step,
    best_mark,
    best_marks,
)
from node_agent.core.journey.phases import Span, segments
from node_agent.core.journey.startup import startup_of
from node_agent.core.timestamps import format_nanoseconds


class View(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base: camelCase on the wire; what has no value is left out."""


class EvidenceView(View, frozen=True):
    """One source's word on a step: it happened within `resolution_seconds` from `at`."""

    at: str
    source: str
    clock: str
    resolution_seconds: float


class StepView(View, frozen=True):
    """A step, by its best evidence; what else is known of it is in `others`."""

    step: str
    at: str
    source: str
    clock: str
    resolution_seconds: float
    others: tuple[EvidenceView, ...] = ()


class SegmentView(View, frozen=True):
    """From one known step to the next.

    `seconds` is the estimate, off by at most `error_seconds` where the clocks agree;
    `negative` says why it is below 0: resolution, clocks or evidence.
    """

    begin: str = msgspec.field(name="from")
    end: str = msgspec.field(name="to")
    seconds: float
    error_seconds: float
    negative: str | None = None


class StartupView(View, frozen=True):
    """The startup figures; `sli_skipped` says why there is no SLI."""

    total_seconds: float
    sli_seconds: float | None = None
    sli_skipped: str | None = None
    kubelet_seen_seconds: float | None = None
    image_pull_seconds: float | None = None
    init_seconds: float | None = None


class SkewView(View, frozen=True):
    """The node's clock less the API server's: the estimate is off by at most the error."""

    node_minus_api_server_seconds: float
    error_seconds: float


class Timeline(View, frozen=True):
    """The whole way of a Pod.

    `measured` is False for a Pod that the metrics leave out, since it had started before the
    agent did, or a clock was set on its way; `notes` say so in words. `cause` is why the Pod
    does not run, where that is known.
    """

    namespace: str
    name: str
    uid: str
    node: str
    source: str
    measured: bool
    steps: tuple[StepView, ...]
    segments: tuple[SegmentView, ...]
    qos_class: str = ""
    workload_kind: str = ""
    scheduler_name: str = ""
    scheduling_attempt: int | None = None
    startup: StartupView | None = None
    clock_skew: SkewView | None = None
    cause: str | None = None
    cause_detail: str | None = None
    notes: tuple[str, ...] = ()


def timeline_of(
    journey: Journey,
    *,
    node_name: str,
    skew: SkewEstimate | None = None,
    cause: str | None = None,
    cause_detail: str | None = None,
) -> Timeline:
    """Give a journey as it is shown. Cost: about 0.1 ms."""
    identity = journey.identity
    return Timeline(
        namespace=identity.namespace,
        name=identity.name,
        uid=identity.uid,
        node=node_name,
        source=identity.source,
        measured=journey.is_measured and not journey.clock_was_set,
        qos_class=identity.qos_class,
        workload_kind=identity.workload_kind,
        scheduler_name=identity.scheduler_name,
        scheduling_attempt=journey.attempt,
        steps=tuple(_step(journey, step, mark) for step, mark in best_marks(journey.marks).items()),
        segments=tuple(_segment(span) for span in segments(journey.marks)),
        startup=_startup(journey),
        clock_skew=_skew(skew),
        cause=cause,
        cause_detail=cause_detail,
        notes=tuple(_notes(journey)),
    )


def _step(journey: Journey, step: Step, best: Mark) -> StepView:
    others = [
        Mark(kind, journey.marks[kind])
        for kind in KINDS_BY_STEP[step]
        if kind is not best.kind and kind in journey.marks
    ]
    view = _evidence(best)
    return StepView(
        step=step.value,
        at=view.at,
        source=view.source,
        clock=view.clock,
        resolution_seconds=view.resolution_seconds,
        others=tuple(map(_evidence, others)),
    )


def _evidence(mark: Mark) -> EvidenceView:
    definition = mark.kind.value
    return EvidenceView(
        at=format_nanoseconds(mark.at_nanoseconds),
        source=definition.source.value,
        clock=definition.clock.value,
        resolution_seconds=definition.resolution_nanoseconds / NANOSECONDS,
    )


def _segment(span: Span) -> SegmentView:
    cause = span.negative_cause
    return SegmentView(
        begin=span.begin.step.value,
        end=span.end.step.value,
        seconds=span.nanoseconds / NANOSECONDS,
        error_seconds=span.error_nanoseconds / NANOSECONDS,
        negative=None if cause is None else cause.value,
    )


def _startup(journey: Journey) -> StartupView | None:
    startup = startup_of(journey)
    if startup is None:
        return None
    return StartupView(
        total_seconds=startup.total_nanoseconds / NANOSECONDS,
        sli_seconds=_seconds(startup.sli_nanoseconds),
        sli_skipped=None if startup.sli_skipped is None else startup.sli_skipped.value,
        kubelet_seen_seconds=_seconds(startup.seen_nanoseconds),
        image_pull_seconds=_seconds(journey.pull_nanoseconds),
        init_seconds=_seconds(journey.init_nanoseconds),
    )


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / NANOSECONDS


def _skew(skew: SkewEstimate | None) -> SkewView | None:
    if skew is None or skew.estimate_nanoseconds is None or skew.error_nanoseconds is None:
        return None
    return SkewView(skew.estimate_nanoseconds / NANOSECONDS, skew.error_nanoseconds / NANOSECONDS)


def _notes(journey: Journey) -> list[str]:
    notes = []
    if journey.was_there_before:
        notes.append("It was there before the agent: the agent did not see its first steps.")
    if journey.clock_was_set:
        notes.append("The node's clock was set on its way: its durations are not to be trusted.")
    ready = best_mark(Step.READY, journey.marks)
    if journey.was_restarted and ready is not None and ready.kind is MarkKind.READY_KUBELET:
        notes.append("A container was started again: it may have been ready before that time, too.")
    return notes
