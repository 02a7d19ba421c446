"""The metrics of attempts and bindings: written for every Pod, so every series is kept at hand.

Source: pkg/scheduler/metrics/profile_metrics.go and schedule_one.go, v1.36.3: a scheduled
attempt is counted once it is bound, and lasts until then.
"""

from typing import Final

from prometheus_client import Metric

from kubeio.instruments import Counter, Histogram, HistogramSeries
from scheduler_svc.core.effects import AttemptResult, BindPod, ReportAttempt, ReportBound
from scheduler_svc.core.events import BindFailure
from scheduler_svc.shell.metrics import metric_table as table
from scheduler_svc.shell.metrics.preemption_metrics import PreemptionMetrics

_MOST_ATTEMPTS: Final = 15
# Of a kubelet's reasons, those that are common; extended resources are any number of others.
_REFUSALS: Final = frozenset(
    {
        *("OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods", "Evicted"),
        *("NodeAffinity", "NodePorts", "NodeShutdown", "TaintToleration"),
        *("TopologyAffinityError", "UnexpectedAdmissionError"),
    }
)


class AttemptMetrics:
    """Counts and times attempts. Cost for a scheduled Pod: about 3 µs.

    Parameters
    ----------
    profiles
        Scheduler names, whose series are shown from the start.
    """

    def __init__(self, profiles: tuple[str, ...]) -> None:
        self._attempts = Counter(table.ATTEMPTS)
        self._attempt_seconds = Histogram(table.ATTEMPT_SECONDS)
        self._algorithm_seconds = Histogram(table.ALGORITHM_SECONDS)
        self._sli_seconds = Histogram(table.SLI_SECONDS)
        self._attempts_of_pod = Histogram(table.ATTEMPTS_OF_POD)
        self._after_flush = Counter(table.AFTER_FLUSH)
        self._queue_wait_seconds = Histogram(table.QUEUE_WAIT_SECONDS)
        self._cycle_seconds = Histogram(table.CYCLE_SECONDS)
        self._binding_seconds = Histogram(table.BINDING_SECONDS)
        self._refused = Counter(table.PODS_REFUSED)

        self.preemption = PreemptionMetrics()

        self._after_flush.add(amount=0)
        self._algorithm = self._algorithm_seconds.series()
        self._attempts_series = self._attempts_of_pod.series()
        self._cycle = self._cycle_seconds.series()
        self._bound = self._binding_seconds.series(("bound",))
        self._scheduled_labels: dict[str, tuple[str, str]] = {}
        self._scheduled: dict[str, HistogramSeries] = {}
        self._queue_wait: dict[str, HistogramSeries] = {}
        self._sli: dict[int, HistogramSeries] = {}
        for profile in profiles:
            self.add_profile(profile)

    def add_profile(self, profile: str) -> None:
        """Show the series of one more scheduler name; those of one that goes stay, as counts do."""
        if profile in self._scheduled:
            return
        for result in AttemptResult:
            self._attempts.add((result.value, profile), 0)
        labels = self._scheduled_labels[profile] = (AttemptResult.SCHEDULED.value, profile)
        self._scheduled[profile] = self._attempt_seconds.series(labels)
        self._queue_wait[profile] = self._queue_wait_seconds.series((profile,))

    def attempted(self, seconds: float) -> None:
        """Note how long a decision took, whatever it was."""
        self._algorithm.observe(seconds)
        self._cycle.observe(seconds)

    def decided(self, effect: BindPod) -> None:
        """Note an attempt that gave a Pod a Node."""
        self._queue_wait[effect.scheduler_name].observe(effect.queue_wait_seconds)

    def bound(self, effect: ReportBound) -> None:
        """Note a Pod that is bound."""
        profile = effect.scheduler_name
        self._attempts.add(self._scheduled_labels[profile])
        self._scheduled[profile].observe(effect.attempt_seconds)
        self._bound.observe(effect.binding_seconds)
        self._sli_of(effect.attempt).observe(effect.sli_seconds)
        self._attempts_series.observe(effect.attempt)
        if effect.after_flush:
            self._after_flush.add()

    def bind_failed(self, failure: BindFailure, seconds: float) -> None:
        """Note a Binding that did not come about."""
        self._binding_seconds.series((failure.value,)).observe(seconds)

    def attempt_failed(self, effect: ReportAttempt, seconds: float) -> None:
        """Note an attempt that failed after `seconds`."""
        labels = (effect.result.value, effect.scheduler_name)
        self._attempts.add(labels)
        self._attempt_seconds.series(labels).observe(seconds)

    def refused(self, reason: str) -> None:
        """Note a Pod that a kubelet did not admit."""
        is_extended = reason.startswith("OutOf")
        other = "OutOfExtendedResources" if is_extended else "Other"
        self._refused.add((reason if reason in _REFUSALS else other,))

    def collect(self) -> list[Metric]:
        """Give all families."""
        return [
            family.collect()
            for family in (
                self._attempts,
                self._attempt_seconds,
                self._algorithm_seconds,
                self._sli_seconds,
                self._attempts_of_pod,
                self._after_flush,
                self._queue_wait_seconds,
                self._cycle_seconds,
                self._binding_seconds,
                self._refused,
            )
        ] + self.preemption.collect()

    def _sli_of(self, attempt: int) -> HistogramSeries:
        """Give the series of a number of attempts; from 15 on they share one, "15+"."""
        number = min(attempt, _MOST_ATTEMPTS)
        series = self._sli.get(number)
        if series is None:
            label = f"{number}+" if number == _MOST_ATTEMPTS else str(number)
            series = self._sli[number] = self._sli_seconds.series((label,))
        return series
