"""What is counted of a journey, under which labels."""

from prometheus_client import Metric

from node_agent.core.journey.journeys import Journeys
from node_agent.core.journey.marks import Mark, MarkKind
from node_agent.core.journey.phases import PHASES, Span
from node_agent.core.journey.startup import SkipReason, Startup
from node_agent.core.operations import Operation, Source
from node_agent.shell.journey.metrics import JourneyGauges, JourneyMetrics
from tests.unit.node_agent.core.journey import stages
from tests.unit.node_agent.core.pods import at

S = 1_000_000_000
BY_NAME = {phase.name: phase for phase in PHASES}


def value(families: list[Metric], name: str, **labels: str) -> float | None:
    """Give a sample's value; None where it is not shown."""
    for family in families:
        for sample in family.samples:
            if sample.name == name and sample.labels == labels:
                return float(sample.value)
    return None


def test_a_phase() -> None:
    metrics = JourneyMetrics()
    span = Span(Mark(MarkKind.DECIDED_SCHEDULER, 0), Mark(MarkKind.KUBELET_SEEN, 30_000_000))
    metrics.phase(BY_NAME["decided_to_kubelet_seen"], span, "Job")
    labels = {
        "phase": "decided_to_kubelet_seen",
        "source": "scheduler/kubelet",
        "workload_kind": "Job",
    }
    name = "berthmaster_pod_phase_duration_seconds"
    assert value(metrics.collect(), f"{name}_bucket", le="0.025", **labels) == 0
    assert value(metrics.collect(), f"{name}_bucket", le="0.05", **labels) == 1
    assert value(metrics.collect(), f"{name}_sum", **labels) == 0.03


def test_a_negative_duration_is_counted_as_such() -> None:
    metrics = JourneyMetrics()
    span = Span(Mark(MarkKind.DECIDED_SCHEDULER, 9 * S), Mark(MarkKind.BOUND_API, 5 * S))
    metrics.phase(BY_NAME["binding"], span, "none")
    labels = {"phase": "binding", "source": "scheduler/api"}
    families = metrics.collect()
    negative = "berthmaster_pod_phase_negative_total"
    assert value(families, negative, cause="clocks", **labels) == 1
    total = value(
        families, "berthmaster_pod_phase_duration_seconds_sum", workload_kind="none", **labels
    )
    assert total == 0


def test_the_agents_lead_is_no_negative_duration() -> None:
    metrics = JourneyMetrics()
    for kubelet, agent in ((0, 20_000_000), (20_000_000, 0)):
        span = Span(Mark(MarkKind.KUBELET_SEEN, kubelet), Mark(MarkKind.AGENT_SEEN, agent))
        metrics.phase(BY_NAME["agent_watch_lag"], span, "none")
    families = metrics.collect()
    for first in ("kubelet", "agent"):
        assert value(families, "berthmaster_agent_watch_lag_seconds_sum", first=first) == 0.02
    assert not any(s.name.endswith("negative_total") for f in families for s in f.samples)


def test_startup_figures() -> None:
    metrics = JourneyMetrics()
    metrics.startup(Startup(6 * S, 4 * S, 5 * S, None), "none")
    metrics.startup(Startup(-1 * S, None, None, SkipReason.PULLS_UNKNOWN), "none")
    metrics.skipped(SkipReason.AGENT_RESTART)
    families = metrics.collect()
    assert value(families, "berthmaster_pod_start_total_duration_seconds_count") == 2
    assert value(families, "berthmaster_pod_start_total_duration_seconds_sum") == 6
    assert value(families, "berthmaster_pod_start_sli_duration_seconds_sum") == 4
    assert value(families, "berthmaster_pod_start_sli_duration_seconds_count") == 1
    assert value(families, "berthmaster_pod_start_duration_seconds_sum") == 5
    skipped = "berthmaster_pod_journeys_skipped_total"
    assert value(families, skipped, reason="pulls_unknown") == 1
    assert value(families, skipped, reason="agent_restart") == 1
    assert value(families, skipped, reason="stateful") == 0
    negative = "berthmaster_pod_phase_negative_total"
    labels = {"phase": "start_total", "source": "api/watch", "cause": "clocks"}
    assert value(families, negative, **labels) == 1


def test_what_is_kept() -> None:
    journeys = Journeys(JourneyMetrics())
    journeys.source_listed(Source.API, at(0))
    gauges = JourneyGauges(journeys, lambda: {"read": 3})
    assert value(gauges.collect(), "berthmaster_clock_skew_seconds") is None
    journeys.pod_operation(Operation.ADD, Source.API, stages.bound(), at(2))
    journeys.skew.add_answer(10 * S, 10 * S, 10)
    families = gauges.collect()
    assert value(families, "berthmaster_pod_journeys", state="live") == 1
    assert value(families, "berthmaster_pod_journeys", state="finished") == 0
    assert value(families, "berthmaster_clock_jumps_total") == 0
    assert value(families, "berthmaster_pod_event_reads_total", result="read") == 3
    assert value(families, "berthmaster_clock_skew_seconds") == -0.5
    assert value(families, "berthmaster_clock_skew_error_seconds") == 0.5
