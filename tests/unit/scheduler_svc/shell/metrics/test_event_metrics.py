from scheduler_svc.shell.metrics.event_metrics import EventMetrics
from tests.unit.scheduler_svc.shell.registry import Samples

NAME = "scheduler_event_handling_duration_seconds"


async def test_events_are_timed_by_what_they_were() -> None:
    metrics = EventMetrics()
    sample = Samples(metrics.collect)
    metrics.handled(["NodeUpdateNodeLabel", "NodeUpdateNodeTaint"], 0.25)
    metrics.handled(["NodeUpdateNodeLabel"], 0.5)
    assert sample(f"{NAME}_sum", event="NodeUpdateNodeLabel") == 0.75
    assert sample(f"{NAME}_count", event="NodeUpdateNodeTaint") == 1
