"""What Pods that have a Node wait for, as kube-scheduler's metrics tell it."""

import pytest

from scheduler_svc.core.devices.writes import BindClaims
from scheduler_svc.core.effects import PodReference, ReportWait, RunPreBind
from scheduler_svc.core.events import PreBindFinished
from scheduler_svc.shell.metrics import binding_wait_metrics
from scheduler_svc.shell.metrics.binding_wait_metrics import BindingWaitMetrics
from tests.unit.scheduler_svc.shell.effects import POD
from tests.unit.scheduler_svc.shell.registry import Samples

PROFILE = "berthmaster"
WAITED = "scheduler_dra_bindingconditions_wait_duration_seconds"
ALLOCATED = "scheduler_dra_bindingconditions_allocations_total"


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def work(pod: PodReference = POD, *awaited: str) -> RunPreBind:
    claims = BindClaims((), PROFILE, "waiting", drivers=("a", *awaited), awaited_drivers=awaited)
    return RunPreBind(pod, "DynamicResources", "n1", claims)


def wait(plugin: str, status: str = "Success", message: str = "") -> ReportWait:
    return ReportWait(POD, PROFILE, "PreBind", plugin, status, 9, message)


@pytest.mark.parametrize("result", ["Success", "Unschedulable"])
async def test_waits_on_permit_count_by_their_end(result: str) -> None:
    metrics = BindingWaitMetrics()
    sample = Samples(metrics.collect)
    for seconds in (1, 2):
        metrics.waited(ReportWait(POD, PROFILE, "Permit", "", result, seconds))
    name = "scheduler_permit_wait_duration_seconds"
    assert sample(f"{name}_sum", result=result) == 3
    assert sample(f"{name}_count", result=result) == 2


@pytest.mark.parametrize(
    ("status", "message", "end"),
    [
        ("Success", "", "success"),
        ("Error", 'running PreBind plugin "X": device binding failed: claim=c', "failure"),
        ("Error", 'running PreBind plugin "X": device binding timeout: claim=c', "timeout"),
        ("Error", "preempted", "error"),
    ],
)
async def test_devices_are_awaited_from_when_all_is_written(
    status: str, message: str, end: str
) -> None:
    clock = Clock()
    metrics = BindingWaitMetrics(clock=clock)
    sample = Samples(metrics.collect)
    metrics.begun(work(POD, "b", "b"))
    clock.seconds = 101
    metrics.written(PreBindFinished("uid-1", "DynamicResources"))
    clock.seconds = 104
    metrics.waited(wait("DynamicResources", status, message))
    labels = {"profile": PROFILE, "status": end}
    # As upstream: the time for each device, the count for those that take time.
    assert sample(f"{WAITED}_sum", driver="a", **labels) == 3
    assert sample(f"{WAITED}_count", driver="b", **labels) == 2
    assert sample(ALLOCATED, driver="b", **labels) == 2
    assert sample(ALLOCATED, driver="a", **labels) is None


async def test_devices_that_are_ready_at_once_or_never_written_are_not_awaited() -> None:
    metrics = BindingWaitMetrics()
    sample = Samples(metrics.collect)
    metrics.begun(work())
    metrics.written(PreBindFinished("uid-1", "DynamicResources"))
    metrics.waited(wait("DynamicResources"))
    metrics.begun(work(POD, "b"))
    metrics.waited(wait("DynamicResources", "Error", "refused"))
    assert sample(f"{WAITED}_count", profile=PROFILE, driver="b", status="error") is None
    assert sample(f"{WAITED}_count", profile=PROFILE, driver="a", status="success") is None


async def test_pods_of_which_nothing_more_is_told_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(binding_wait_metrics, "_REMEMBERED_COUNT", 1)
    metrics = BindingWaitMetrics()
    sample = Samples(metrics.collect)
    metrics.begun(work(POD, "b"))
    metrics.begun(work(PodReference("default", "other", "uid-2"), "b"))
    metrics.written(PreBindFinished("uid-1", "DynamicResources"))
    metrics.waited(wait("DynamicResources"))
    assert sample(ALLOCATED, profile=PROFILE, driver="b", status="success") is None


async def test_volumes_that_could_not_be_bound_are_counted() -> None:
    metrics = BindingWaitMetrics()
    sample = Samples(metrics.collect)
    name = "scheduler_volume_scheduling_stage_error_total"
    metrics.waited(wait("VolumeBinding"))
    metrics.waited(wait("Mine", "Error", "no"))
    assert sample(name, operation="bind") is None
    metrics.waited(wait("VolumeBinding", "Error", "no"))
    assert sample(name, operation="bind") == 1
