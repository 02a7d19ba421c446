"""Effects as the core gives them, about a Pod whose particulars do not matter."""

from scheduler_svc.core.effects import (
    AttemptResult,
    BindPod,
    PodReference,
    ReportAttempt,
    ReportBound,
)

POD = PodReference("default", "web-1", "uid-1")


def bind_pod(*, pod: PodReference = POD, node: str = "n1", attempt: int = 1) -> BindPod:
    """Build the effect of a decision."""
    return BindPod(
        pod=pod,
        scheduler_name="berthmaster",
        node_name=node,
        decision_id="d-1",
        attempt=attempt,
        decided_at_seconds=1_800_000_000.0,
        queue_wait_seconds=0.25,
        plugin="DefaultBinder",
    )


def report_bound(*, attempt: int = 1, after_flush: bool = False) -> ReportBound:
    """Build the effect of a Binding that came about."""
    return ReportBound(
        pod=POD,
        scheduler_name="berthmaster",
        node_name="n1",
        attempt=attempt,
        sli_seconds=3.0,
        binding_seconds=0.0015,
        after_flush=after_flush,
        attempt_seconds=0.00175,
    )


def report_attempt(
    message: str,
    result: AttemptResult = AttemptResult.UNSCHEDULABLE,
    *,
    node: str = "",
    begun: float = 0.0,
) -> ReportAttempt:
    """Build the effect of an attempt that failed, after a decision if a Node is named."""
    return ReportAttempt(
        pod=POD,
        scheduler_name="berthmaster",
        result=result,
        attempt=2,
        message=message,
        node_name=node,
        begun_at_seconds=begun,
    )
