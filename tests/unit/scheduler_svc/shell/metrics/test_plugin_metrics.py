"""How long plugins take, as kube-scheduler's metrics tell it."""

import pytest

from scheduler_svc.core.effects import ReportWait
from scheduler_svc.core.framework.stopwatch import Stopwatch
from scheduler_svc.shell.metrics.plugin_metrics import SAMPLE, PluginMetrics
from tests.unit.scheduler_svc.shell.effects import POD, bind_pod
from tests.unit.scheduler_svc.shell.registry import Samples

POINT = "scheduler_framework_extension_point_duration_seconds"
PLUGIN = "scheduler_plugin_execution_duration_seconds"
PROFILE = "berthmaster"


def measured(metrics: PluginMetrics) -> Stopwatch:
    """Go on to an attempt that is measured."""
    lent = [metrics.stopwatch() for _ in range(SAMPLE)]
    [stopwatch] = [each for each in lent if each is not None]
    return stopwatch


def test_lends_its_stopwatch_to_one_attempt_in_ten() -> None:
    metrics = PluginMetrics()
    lent = [metrics.stopwatch() is not None for _ in range(3 * SAMPLE)]
    assert lent.count(True) == 3
    assert SAMPLE == 10


async def test_parts_of_one_attempt_are_one_observation() -> None:
    metrics = PluginMetrics()
    sample = Samples(metrics.collect)
    stopwatch = measured(metrics)
    stopwatch.note("Filter", "NodeResourcesFit", 0.0001)
    stopwatch.note("Filter", "NodeResourcesFit", 0.0002)
    stopwatch.note("Filter", "NodeAffinity", 0.0004)
    stopwatch.note("Score", "NodeResourcesFit", 0.0008)
    metrics.attempted(PROFILE)
    fit = {"plugin": "NodeResourcesFit", "extension_point": "Filter", "status": "Success"}
    filters = {"extension_point": "Filter", "status": "Success", "profile": PROFILE}
    assert sample(f"{PLUGIN}_count", **fit) == 1
    assert round(sample(f"{PLUGIN}_sum", **fit) or 0, 9) == 0.0003
    assert sample(f"{POINT}_count", **filters) == 1
    assert round(sample(f"{POINT}_sum", **filters) or 0, 9) == 0.0007


async def test_an_attempt_is_observed_once() -> None:
    metrics = PluginMetrics()
    sample = Samples(metrics.collect)
    measured(metrics).note("Filter", "NodeName", 0.001)
    metrics.attempted(PROFILE)
    metrics.attempted(PROFILE)
    filters = {"extension_point": "Filter", "status": "Success", "profile": PROFILE}
    assert sample(f"{POINT}_count", **filters) == 1


@pytest.mark.parametrize(
    ("point", "statuses", "status"),
    [
        ("PreFilter", ["Skip", "Success"], "Success"),
        ("PreFilter", ["Skip", "Skip"], "Success"),
        ("PreFilter", ["Success", "UnschedulableAndUnresolvable"], "UnschedulableAndUnresolvable"),
        ("PreBindPreFlight", ["Skip", "Skip"], "Skip"),
        ("PreBindPreFlight", ["Skip", "Success"], "Success"),
        ("PreBindPreFlight", ["Skip", "Error"], "Error"),
    ],
)
async def test_a_point_has_the_status_of_who_stopped_there(
    point: str, statuses: list[str], status: str
) -> None:
    metrics = PluginMetrics()
    sample = Samples(metrics.collect)
    stopwatch = measured(metrics)
    for number, given in enumerate(statuses):
        stopwatch.note(point, f"P{number}", 0.001, given)
    metrics.attempted(PROFILE)
    labels = {"extension_point": point, "status": status, "profile": PROFILE}
    assert sample(f"{POINT}_count", **labels) == 1
    for number, given in enumerate(statuses):
        plugin = {"plugin": f"P{number}", "extension_point": point, "status": given}
        assert sample(f"{PLUGIN}_count", **plugin) == 1


async def test_what_is_done_between_attempts_is_measured_when_it_is_finished() -> None:
    metrics = PluginMetrics()
    sample = Samples(metrics.collect)
    for _ in range(2):
        stopwatch = metrics.begin(PROFILE)
        stopwatch.note("PreEnqueue", "SchedulingGates", 0.5)
        stopwatch.finish()
    labels = {"extension_point": "PreEnqueue", "status": "Success", "profile": PROFILE}
    assert sample(f"{POINT}_count", **labels) == 2
    assert sample(f"{POINT}_sum", **labels) == 1


async def test_hints_are_timed_by_plugin_event_and_answer() -> None:
    metrics = PluginMetrics()
    sample = Samples(metrics.collect)
    for seconds in (0.25, 0.5):
        metrics.note_hint("NodeAffinity", "NodeAdd", "QueueSkip", seconds)
    name = "scheduler_queueing_hint_execution_duration_seconds"
    labels = {"plugin": "NodeAffinity", "event": "NodeAdd", "hint": "QueueSkip"}
    assert sample(f"{name}_count", **labels) == 2
    assert sample(f"{name}_sum", **labels) == 0.75


async def test_bindings_are_timed_by_plugin_and_end() -> None:
    metrics = PluginMetrics()
    sample = Samples(metrics.collect)
    metrics.bound(bind_pod(), 0.25)
    metrics.bound(bind_pod(), 0.5, "Error")
    labels = {"extension_point": "Bind", "profile": PROFILE}
    assert sample(f"{POINT}_count", status="Success", **labels) == 1
    assert sample(f"{POINT}_sum", status="Error", **labels) == 0.5
    plugin = {"plugin": "DefaultBinder", "extension_point": "Bind", "status": "Success"}
    assert sample(f"{PLUGIN}_count", **plugin) == 1


async def test_a_wait_before_the_binding_is_its_plugins() -> None:
    metrics = PluginMetrics()
    sample = Samples(metrics.collect)
    metrics.waited(ReportWait(POD, PROFILE, "PreBind", "VolumeBinding", "Success", 0.25))
    metrics.waited(ReportWait(POD, PROFILE, "Permit", "", "Success", 4))
    point = {"extension_point": "PreBind", "status": "Success", "profile": PROFILE}
    assert sample(f"{POINT}_sum", **point) == 0.25
    plugin = {"plugin": "VolumeBinding", "extension_point": "PreBind", "status": "Success"}
    assert sample(f"{PLUGIN}_sum", **plugin) == 0.25
    assert sample(f"{POINT}_count", extension_point="Permit", status="Success") is None
    assert sample("scheduler_permit_wait_duration_seconds_sum", result="Success") == 4


def test_reads_a_clock_that_goes_on() -> None:
    metrics = PluginMetrics()
    first, stopwatch = metrics.read(), measured(metrics)
    assert stopwatch.read() >= first
