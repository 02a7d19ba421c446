"""The metrics of preemption.

Source: pkg/scheduler/metrics/metrics.go and framework/preemption/executor.go, v1.36.3: every
attempt is counted, also one that finds nobody to evict. What upstream does in a goroutine is
an `EvictPods` here. Difference: upstream takes time and result before the work is done, so that
all are instantaneous and succeed.
"""

from collections.abc import Callable

from prometheus_client import Metric

from kubeio.instruments import Counter, Histogram
from scheduler_svc.core.effects import EvictPods, ReportPreemption
from scheduler_svc.core.events import EvictionFinished
from scheduler_svc.shell.clock import read_monotonic_seconds
from scheduler_svc.shell.metrics import metric_table, plugin_metric_table


class PreemptionMetrics:
    """Counts preemptions and their victims, and times the evictions."""

    def __init__(self, *, clock: Callable[[], float] = read_monotonic_seconds) -> None:
        self._clock = clock
        self._attempts = Counter(metric_table.PREEMPTION_ATTEMPTS)
        self._attempts.add(amount=0)
        self._victims = Histogram(metric_table.PREEMPTION_VICTIMS)
        self._series = self._victims.series()
        self._carried_out = Counter(plugin_metric_table.PREEMPTIONS_CARRIED_OUT)
        self._seconds = Histogram(plugin_metric_table.PREEMPTION_SECONDS)
        self._begun: dict[int, float] = {}

    def attempted(self, effect: ReportPreemption) -> None:
        """Note that victims were looked for, and how many are to go."""
        self._attempts.add()
        if effect.victim_count:
            self._series.observe(effect.victim_count)

    def begun(self, effect: EvictPods) -> None:
        """Note that victims are about to be evicted."""
        self._begun[effect.eviction_id] = self._clock()

    def finished(self, event: EvictionFinished) -> None:
        """Note that they have been, or that one could not be."""
        began_seconds = self._begun.pop(event.eviction_id, None)
        if began_seconds is None:
            return
        labels = ("error" if event.error else "success",)
        self._carried_out.add(labels)
        self._seconds.series(labels).observe(self._clock() - began_seconds)

    def collect(self) -> list[Metric]:
        """Give all families."""
        return [
            family.collect()
            for family in (self._attempts, self._victims, self._carried_out, self._seconds)
        ]
