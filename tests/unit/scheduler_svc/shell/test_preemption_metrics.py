"""Preemptions as kube-scheduler counts them."""

from scheduler_svc.core.effects import ReportPreemption
from scheduler_svc.shell.preemption_metrics import PreemptionMetrics
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
