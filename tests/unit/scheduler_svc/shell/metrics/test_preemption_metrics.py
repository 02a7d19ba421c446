"""Preemptions as kube-scheduler counts them."""

from scheduler_svc.core.effects import EvictPods, ReportPreemption
from scheduler_svc.core.events import EvictionFinished
from scheduler_svc.shell.metrics.preemption_metrics import PreemptionMetrics
from tests.unit.scheduler_svc.shell.effects import POD
from tests.unit.scheduler_svc.shell.registry import Samples


async def test_every_attempt_counts_and_victims_where_there_are_any() -> None:
    metrics = PreemptionMetrics()
    sample = Samples(metrics.collect)
    assert sample("scheduler_preemption_attempts_total") == 0
    for victim_count in (0, 3, 5):
        metrics.attempted(ReportPreemption(POD, "berthmaster", victim_count))
    sample = Samples(metrics.collect)
    assert sample("scheduler_preemption_attempts_total") == 3
    assert sample("scheduler_preemption_victims_count") == 2
    assert sample("scheduler_preemption_victims_sum") == 8


async def test_evictions_are_timed_and_counted_by_their_end() -> None:
    seconds = iter([1.0, 2.0, 4.0, 8.0])
    metrics = PreemptionMetrics(clock=lambda: next(seconds))
    sample = Samples(metrics.collect)
    metrics.begun(EvictPods(POD, 1, "m", ()))
    metrics.begun(EvictPods(POD, 2, "m", ()))
    metrics.finished(EvictionFinished(1))
    metrics.finished(EvictionFinished(2, "refused"))
    metrics.finished(EvictionFinished(3))
    name = "scheduler_preemption_goroutines"
    assert sample(f"{name}_execution_total", result="success") == 1
    assert sample(f"{name}_execution_total", result="error") == 1
    assert sample(f"{name}_duration_seconds_sum", result="success") == 3
    assert sample(f"{name}_duration_seconds_sum", result="error") == 6
