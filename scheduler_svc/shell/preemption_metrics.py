"""The metrics of preemption.

Source: pkg/scheduler/metrics/metrics.go and framework/preemption/executor.go, v1.36.3: every
attempt is counted, also one that finds nobody to evict.
"""

from prometheus_client import Metric

from kubeio.instruments import Counter, Histogram
from scheduler_svc.core.effects import ReportPreemption
from scheduler_svc.shell import metric_table as table


class PreemptionMetrics:
    """Counts preemptions and their victims."""

    def __init__(self) -> None:
        self._attempts = Counter(table.PREEMPTION_ATTEMPTS)
        self._attempts.add(amount=0)
        self._victims = Histogram(table.PREEMPTION_VICTIMS)
        self._series = self._victims.series()

    def attempted(self, effect: ReportPreemption) -> None:
        """Note that victims were looked for, and how many are to go."""
        self._attempts.add()
        if effect.victim_count:
            self._series.observe(effect.victim_count)

    def collect(self) -> list[Metric]:
        """Give both families."""
        return [self._attempts.collect(), self._victims.collect()]
