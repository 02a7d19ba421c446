"""All journeys on a node: those under way, the last that ended, and what is to be counted.

A phase is counted once, some seconds after both its ends are known: by then slower evidence
(the kubelet's copy, Events) has come in. A Pod that was there before the agent was counts
only if it had not started yet; one during whose way the node's clock was set does not.
"""

from collections.abc import Iterator
from typing import Final, Protocol

from node_agent.core.clock import NANOSECONDS, Now
from node_agent.core.journey.clock_skew import ClockSkew
from node_agent.core.journey.journey import FileTimes, Journey, identify
from node_agent.core.journey.marks import Mark, MarkKind, Step, best_marks
from node_agent.core.journey.phases import PHASES, Phase, Span, phase_span
from node_agent.core.journey.pulls import KubeletEvent
from node_agent.core.journey.startup import SkipReason, Startup, startup_of
from node_agent.core.objects import Pod, without_status
from node_agent.core.operations import (
    SEEN_ANNOTATION,
    Operation,
    Source,
    annotation,
    is_mirror,
    is_static,
)

SETTLE_SECONDS: Final = 10.0
FINISHED_LIMIT: Final = 1000
CLOCK_JUMP_NANOSECONDS: Final = 100_000_000
"""Wall and monotonic clock may drift apart by this, and a thousandth, before it counts as set."""

_STARTUP: Final = len(PHASES)
"""Stands for the startup figures where phases have their index."""


_Copy = tuple[str, str | None]
"""The uid of a static Pod in the kubelet, and when the kubelet first saw it, as it writes that."""


class JourneyReport(Protocol):
    """Is told of what is to be counted; must not block or raise."""

    def phase(self, phase: Phase, span: Span, workload_kind: str) -> None:
        """Count a phase of a Pod."""

    def startup(self, startup: Startup, workload_kind: str) -> None:
        """Count a Pod that has started."""

    def skipped(self, reason: SkipReason) -> None:
        """Count a Pod that no figure is made of."""


class Journeys:
    """A `PodObserver` that times every Pod. Memory: about 2 KB for each Pod kept.

    Parameters
    ----------
    report
        Told of what is to be counted.
    settle_seconds
        From both ends of a phase being known until it is counted.
    finished_limit
        Journeys kept of Pods that are gone.
    """

    def __init__(
        self,
        report: JourneyReport,
        *,
        settle_seconds: float = SETTLE_SECONDS,
        finished_limit: int = FINISHED_LIMIT,
    ) -> None:
        self._report = report
        self._settle_seconds = settle_seconds
        self._finished_limit = finished_limit
        self._live: dict[str, Journey] = {}
        self._finished: dict[str, Journey] = {}
        self._static_uids: dict[str, str] = {}
        self._kubelet_copies: dict[str, _Copy] = {}
        self._former_copies: dict[str, _Copy] = {}
        self._due: dict[tuple[str, int], float] = {}
        self._reported: dict[str, set[int]] = {}
        self._listed: set[Source] = set()
        self._last_now: Now | None = None
        self.skew = ClockSkew()
        self.clock_jump_count = 0

    def pod_operation(self, operation: Operation, source: Source, pod: Pod, now: Now) -> None:
        """Take in what has become of a Pod; mirror Pods have no way of their own."""
        self._notice_clock(now)
        if is_mirror(pod):
            return
        if source is not Source.API:
            pod = without_status(pod)
        uid = pod.metadata.uid
        journey = self._live.get(uid)
        if operation is Operation.REMOVE:
            if journey is not None:
                self._finish(journey, now)
            return
        if journey is None:
            journey = self._begin(source, pod, now)
            if journey.was_there_before:
                self._schedule(journey, now)
                return
        if journey.observe(pod, now.wall_nanoseconds):
            self._schedule(journey, now)

    def pod_observed(self, pod: Pod, now: Now) -> None:
        """Do nothing: `pod_operation` has told."""

    def pod_gone(self, uid: str, now: Now) -> None:
        """Do nothing: the journey ends when the Pod leaves its source."""

    def source_listed(self, source: Source, now: Now) -> None:
        """Take Pods of this source as new from now on."""
        self._notice_clock(now)
        self._listed.add(source)

    def kubelet_listed(self, pods: list[Pod], now: Now) -> None:
        """Take in the kubelet's copies of its Pods. Cost: 1 µs for one that was seen before.

        Of a Pod of the API the copy tells only when it was seen: its status is the API's.
        """
        self._notice_clock(now)
        for pod in pods:
            journey = self._journey_of_kubelet_pod(pod)
            if journey is None:
                continue
            is_told = MarkKind.KUBELET_SEEN in journey.marks
            if is_told and journey.identity.source == Source.API:
                continue
            if journey.observe_kubelet(pod):
                self._schedule(journey, now)
        if self._former_copies:
            shown = {_copy(pod) for pod in pods if is_static(pod)}
            kept = {name: copy for name, copy in self._former_copies.items() if copy in shown}
            self._former_copies = kept

    def files_read(self, uid: str, times: FileTimes, now: Now) -> None:
        """Take in the times of a Pod's directories."""
        journey = self._live.get(uid)
        if journey is not None:
            journey.are_files_read = journey.has_started
            if journey.observe_files(times):
                self._schedule(journey, now)

    def events_read(self, uid: str, events: list[KubeletEvent], now: Now) -> None:
        """Take in the Events about a Pod."""
        journey = self.journey(uid)
        if journey is not None:
            has_changed = journey.observe_events(events)
            is_told = journey.pull_nanoseconds is not None
            journey.are_events_read = journey.has_started and is_told
            if has_changed:
                self._schedule(journey, now)

    def next_deadline(self) -> float | None:
        """Give the monotonic second at which something is to be counted, None for never."""
        return next(iter(self._due.values()), None)

    def expire(self, now: Now) -> None:
        """Count what has settled."""
        self._notice_clock(now)
        while (due := self.next_deadline()) is not None and due <= now.monotonic_seconds:
            uid, index = next(iter(self._due))
            self._count(uid, index)

    def live(self) -> Iterator[Journey]:
        """Give the journeys under way."""
        return iter(self._live.values())

    def all(self) -> Iterator[Journey]:
        """Give all journeys, those under way first, then the ended ones from old to new."""
        yield from self._live.values()
        yield from self._finished.values()

    def journey(self, uid: str) -> Journey | None:
        """Give a Pod's journey by its uid."""
        return self._live.get(uid) or self._finished.get(uid)

    def named(self, namespace: str, name: str) -> Journey | None:
        """Give the journey of the Pod of that name: the live one, else the last that ended."""
        found = [
            journey
            for journey in self.all()
            if (journey.identity.namespace, journey.identity.name) == (namespace, name)
        ]
        live = [journey for journey in found if journey.identity.uid in self._live]
        candidates = live or found
        return candidates[-1] if candidates else None

    def kubelet_uid(self, journey: Journey) -> str | None:
        """Give a live Pod's uid in the kubelet; None for a static Pod that it has not shown."""
        identity = journey.identity
        if identity.source == Source.API:
            return identity.uid
        copy = self._kubelet_copies.get(identity.full_name)
        return None if copy is None else copy[0]

    def counts(self) -> tuple[int, int]:
        """Give how many journeys are under way, and how many of those that ended are kept."""
        return len(self._live), len(self._finished)

    def _begin(self, source: Source, pod: Pod, now: Now) -> Journey:
        if pod.metadata.uid in self._finished:
            self._evict(pod.metadata.uid)  # a manifest that names its uid, put back
        journey = self._live[pod.metadata.uid] = Journey(identify(pod, source.value))
        if is_static(pod):
            self._static_uids[pod.full_name] = pod.metadata.uid
        if source not in self._listed:
            journey.observe_before(pod)
            if not journey.is_measured:
                self._report.skipped(SkipReason.AGENT_RESTART)
            return journey
        journey.observe(pod, now.wall_nanoseconds)
        bound = journey.marks.get(MarkKind.BOUND_API)
        if bound is not None:
            self.skew.add_receipt(now.wall_nanoseconds, bound)
        self._schedule(journey, now)
        return journey

    def _finish(self, journey: Journey, now: Now) -> None:
        uid = journey.identity.uid
        journey.observe_gone(now.wall_nanoseconds)
        self._finished[uid] = self._live.pop(uid)
        name = journey.identity.full_name  # under the same uid the Pod may have been renamed
        if self._static_uids.get(name) == uid:
            del self._static_uids[name]
            former = self._kubelet_copies.pop(name, None)
            if former is not None:
                self._former_copies[name] = former
        self._schedule(journey, now)
        while len(self._finished) > self._finished_limit:
            self._evict(next(iter(self._finished)))

    def _evict(self, uid: str) -> None:
        for index in range(_STARTUP + 1):
            if (uid, index) in self._due:
                self._count(uid, index)
        del self._finished[uid]
        self._reported.pop(uid, None)

    def _journey_of_kubelet_pod(self, pod: Pod) -> Journey | None:
        """Find a Pod by uid, a static one by name: nobody else can compute its uid.

        What the kubelet still shows of a manifest's former state is passed over. A manifest that
        was taken away and put back has its uid again, and was seen anew.
        """
        if not is_static(pod):
            return self._live.get(pod.metadata.uid)
        name, copy = pod.full_name, _copy(pod)
        uid = self._static_uids.get(name)
        if uid is None or self._former_copies.get(name) == copy:
            return None
        self._former_copies.pop(name, None)
        self._kubelet_copies[name] = copy
        return self._live[uid]

    def _schedule(self, journey: Journey, now: Now) -> None:
        """Have everything counted that is known and was not counted yet."""
        if not journey.is_measured:
            return
        uid = journey.identity.uid
        reported = self._reported.setdefault(uid, set())
        due = now.monotonic_seconds + self._settle_seconds
        best = best_marks(journey.marks)
        for index in range(_STARTUP + 1):
            if index in reported or (uid, index) in self._due:
                continue
            if _figure(journey, index, best) is not None:
                self._due[uid, index] = due

    def _count(self, uid: str, index: int) -> None:
        del self._due[uid, index]
        journey = self.journey(uid)
        if journey is None or journey.clock_was_set:
            return
        figure = _figure(journey, index, best_marks(journey.marks))
        if figure is None:
            return
        self._reported[uid].add(index)
        if isinstance(figure, Startup):
            self._report.startup(figure, journey.identity.workload_kind)
        else:
            self._report.phase(PHASES[index], figure, journey.identity.workload_kind)

    def _notice_clock(self, now: Now) -> None:
        """See whether the node's clock was set since the last call."""
        last, self._last_now = self._last_now, now
        if last is None:
            return
        passed = round((now.monotonic_seconds - last.monotonic_seconds) * NANOSECONDS)
        shift = now.wall_nanoseconds - last.wall_nanoseconds - passed
        if abs(shift) > CLOCK_JUMP_NANOSECONDS + abs(passed) // 1000:
            self.clock_jump_count += 1
            self.skew.reset()
            for journey in self._live.values():
                if journey.is_measured and not journey.clock_was_set:
                    self._report.skipped(SkipReason.CLOCK_SET)
                journey.clock_was_set = True


def _copy(pod: Pod) -> _Copy:
    return pod.metadata.uid, annotation(pod, SEEN_ANNOTATION)


def _figure(journey: Journey, index: int, best: dict[Step, Mark]) -> Span | Startup | None:
    if index == _STARTUP:
        return startup_of(journey)
    return phase_span(PHASES[index], best)
