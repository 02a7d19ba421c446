import msgspec
import pytest

from scheduler_svc.core.effects import AttemptResult
from scheduler_svc.core.events import BindFailure
from scheduler_svc.shell.metrics.attempt_metrics import AttemptMetrics
from tests.unit.scheduler_svc.shell.effects import bind_pod, report_attempt, report_bound
from tests.unit.scheduler_svc.shell.registry import Samples

PROFILE = "berthmaster"


async def test_scheduled_attempt_counts_once_it_is_bound_and_lasts_until_then() -> None:
    metrics = AttemptMetrics((PROFILE,))
    sample = Samples(metrics.collect)
    attempts = "scheduler_schedule_attempts_total"
    seconds = "scheduler_scheduling_attempt_duration_seconds"
    metrics.attempted(0.00005)
    metrics.decided(bind_pod())
    assert sample(attempts, result="scheduled", profile=PROFILE) == 0
    assert sample("berthmaster_queue_wait_seconds_sum", profile=PROFILE) == 0.25
    metrics.bound(report_bound())
    assert sample(attempts, result="scheduled", profile=PROFILE) == 1
    assert sample(f"{seconds}_sum", result="scheduled", profile=PROFILE) == 0.00175
    assert sample(f"{seconds}_bucket", result="scheduled", profile=PROFILE, le="0.001") == 0
    assert sample(f"{seconds}_bucket", result="scheduled", profile=PROFILE, le="0.002") == 1
    assert sample("berthmaster_binding_cycle_seconds_count", result="bound") == 1


async def test_decisions_of_any_outcome_are_timed() -> None:
    metrics = AttemptMetrics((PROFILE,))
    sample = Samples(metrics.collect)
    metrics.attempted(0.00005)
    metrics.attempted(0.0004)
    assert sample("scheduler_scheduling_algorithm_duration_seconds_count") == 2
    assert sample("berthmaster_scheduling_cycle_seconds_bucket", le="8e-05") == 1
    assert sample("berthmaster_scheduling_cycle_seconds_sum") == pytest.approx(0.00045)


@pytest.mark.parametrize(
    ("attempt", "label"), [(1, "1"), (2, "2"), (14, "14"), (15, "15+"), (400, "15+")]
)
async def test_latency_is_told_by_the_number_of_attempts(attempt: int, label: str) -> None:
    metrics = AttemptMetrics((PROFILE,))
    sample = Samples(metrics.collect)
    metrics.bound(report_bound(attempt=attempt))
    metrics.bound(report_bound(attempt=attempt))
    name = "scheduler_pod_scheduling_sli_duration_seconds"
    assert sample(f"{name}_sum", attempts=label) == 6.0
    assert sample(f"{name}_bucket", attempts=label, le="2.56") == 0
    assert sample(f"{name}_bucket", attempts=label, le="5.12") == 2
    assert sample("scheduler_pod_scheduling_attempts_sum") == 2 * attempt


async def test_pods_that_only_the_flush_brought_back_are_counted() -> None:
    metrics = AttemptMetrics((PROFILE,))
    sample = Samples(metrics.collect)
    name = "scheduler_pod_scheduled_after_flush_total"
    metrics.bound(report_bound())
    assert sample(name) == 0
    metrics.bound(report_bound(after_flush=True))
    assert sample(name) == 1


async def test_failed_attempts_count_by_result() -> None:
    metrics = AttemptMetrics((PROFILE,))
    sample = Samples(metrics.collect)
    metrics.attempt_failed(report_attempt("0/1 nodes are available"), 0.0001)
    metrics.attempt_failed(report_attempt("broken", AttemptResult.ERROR, node="n1"), 0.5)
    name = "scheduler_schedule_attempts_total"
    assert sample(name, result="unschedulable", profile=PROFILE) == 1
    assert sample(name, result="error", profile=PROFILE) == 1
    seconds = "scheduler_scheduling_attempt_duration_seconds_sum"
    assert sample(seconds, result="unschedulable", profile=PROFILE) == 0.0001
    assert sample(seconds, result="error", profile=PROFILE) == 0.5


async def test_bindings_that_failed_are_timed_by_why() -> None:
    metrics = AttemptMetrics((PROFILE,))
    sample = Samples(metrics.collect)
    metrics.bind_failed(BindFailure.BOUND_ELSEWHERE, 0.02)
    name = "berthmaster_binding_cycle_seconds_sum"
    assert sample(name, result="bound elsewhere") == 0.02


@pytest.mark.parametrize(
    ("reason", "label"),
    [
        ("OutOfmemory", "OutOfmemory"),
        ("OutOfexample.com/gpu", "OutOfExtendedResources"),
        ("TopologyAffinityError", "TopologyAffinityError"),
        ("SomethingNew", "Other"),
    ],
)
async def test_refusals_are_counted_by_few_reasons(reason: str, label: str) -> None:
    metrics = AttemptMetrics(("berthmaster",))
    metrics.refused(reason)
    assert Samples(metrics.collect)("berthmaster_pods_refused_total", reason=label) == 1


async def test_a_profile_that_comes_later_is_shown_from_then_and_stays() -> None:
    metrics = AttemptMetrics((PROFILE,))
    sample = Samples(metrics.collect)
    attempts = "scheduler_schedule_attempts_total"
    assert sample(attempts, result="scheduled", profile="batch") is None
    metrics.add_profile("batch")
    assert sample(attempts, result="scheduled", profile="batch") == 0
    metrics.bound(msgspec.structs.replace(report_bound(), scheduler_name="batch"))
    metrics.add_profile("batch")
    assert sample(attempts, result="scheduled", profile="batch") == 1
