"""Counts journeys as they settle, and shows what is kept of them."""

from collections.abc import Callable

from prometheus_client import Metric

from kubeio.instruments import Counter, Histogram, counter, gauge
from node_agent.core.clock import NANOSECONDS
from node_agent.core.journey.journeys import Journeys
from node_agent.core.journey.phases import WATCH_LAG, Phase, Span
from node_agent.core.journey.startup import SkipReason, Startup
from node_agent.shell.journey import metric_table as table

_CLOCKS = "clocks"


class JourneyMetrics:
    """A `JourneyReport`: what it is told goes into histograms and counters."""

    def __init__(self) -> None:
        self._phases = Histogram(table.PHASE_SECONDS)
        self._negative = Counter(table.NEGATIVE_PHASES)
        self._sli = Histogram(table.START_SLI_SECONDS)
        self._total = Histogram(table.START_TOTAL_SECONDS)
        self._start = Histogram(table.START_SECONDS)
        self._lag = Histogram(table.WATCH_LAG_SECONDS)
        self._skipped = Counter(table.SKIPPED)
        for reason in SkipReason:
            self._skipped.add((reason.value,), 0)
        for histogram in (self._sli, self._total, self._start):
            histogram.series()

    def phase(self, phase: Phase, span: Span, workload_kind: str) -> None:
        """Count a phase; the agent's lag behind the kubelet by its size, for it may be a lead."""
        seconds = span.nanoseconds / NANOSECONDS
        if phase.name == WATCH_LAG:
            first = "kubelet" if seconds >= 0 else "agent"
            self._lag.series((first,)).observe(abs(seconds))
            return
        cause = span.negative_cause
        if cause is not None:
            self._negative.add((phase.name, span.source, cause.value))
        labels = (phase.name, span.source, workload_kind)
        self._phases.series(labels).observe(max(seconds, 0.0))

    def startup(self, startup: Startup, workload_kind: str) -> None:
        """Count a Pod that has started."""
        del workload_kind  # the kubelet's metrics of these definitions have no labels
        if startup.sli_skipped is not None:
            self._skipped.add((startup.sli_skipped.value,))
        for name, source, histogram, nanoseconds in (
            ("start_total", "api/watch", self._total, startup.total_nanoseconds),
            ("start_sli", "api/watch", self._sli, startup.sli_nanoseconds),
            ("start", "kubelet/watch", self._start, startup.seen_nanoseconds),
        ):
            if nanoseconds is None:
                continue
            if nanoseconds < 0:
                self._negative.add((name, source, _CLOCKS))
            histogram.series().observe(max(nanoseconds / NANOSECONDS, 0.0))

    def skipped(self, reason: SkipReason) -> None:
        """Count a Pod that is missing from all figures."""
        self._skipped.add((reason.value,))

    def collect(self) -> list[Metric]:
        """Give all families."""
        return [
            family.collect()
            for family in (
                self._phases,
                self._negative,
                self._sli,
                self._total,
                self._start,
                self._lag,
                self._skipped,
            )
        ]


class JourneyGauges:
    """What a scrape shows of the journeys that are kept, and of the clocks.

    Parameters
    ----------
    journeys
        Looked at when asked.
    event_reads
        Gives how often Events were read, by result.
    """

    def __init__(
        self, journeys: Journeys, event_reads: Callable[[], dict[str, int]] = dict
    ) -> None:
        self._journeys = journeys
        self._event_reads = event_reads

    def collect(self) -> list[Metric]:
        """Give all families; a skew that is not known is not shown."""
        live, finished = self._journeys.counts()
        jumps = self._journeys.clock_jump_count
        families = [
            gauge(table.JOURNEYS, [(("live",), live), (("finished",), finished)]),
            counter(table.CLOCK_JUMPS, [((), jumps)]),
            counter(table.EVENT_READS, [((k,), n) for k, n in self._event_reads().items()]),
        ]
        skew = self._journeys.skew.estimate()
        estimate = None if skew is None else skew.estimate_nanoseconds
        error = None if skew is None else skew.error_nanoseconds
        if estimate is not None and error is not None:
            families += [
                gauge(table.CLOCK_SKEW_SECONDS, [((), estimate / NANOSECONDS)]),
                gauge(table.CLOCK_SKEW_ERROR_SECONDS, [((), error / NANOSECONDS)]),
            ]
        return families
