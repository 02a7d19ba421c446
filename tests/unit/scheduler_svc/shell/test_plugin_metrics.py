from scheduler_svc.shell.plugin_metrics import SAMPLE, PluginMetrics
from tests.unit.scheduler_svc.shell.registry import Samples

POINT = "scheduler_framework_extension_point_duration_seconds"
PLUGIN = "scheduler_plugin_execution_duration_seconds"


def test_lends_its_stopwatch_to_one_attempt_in_ten() -> None:
    metrics = PluginMetrics()
    lent = [metrics.stopwatch() is not None for _ in range(3 * SAMPLE)]
    assert lent.count(True) == 3
    assert SAMPLE == 10


async def test_parts_of_one_attempt_are_one_observation() -> None:
    metrics = PluginMetrics()
    sample = Samples(metrics.collect)
    metrics.note("Filter", "NodeResourcesFit", 0.0001)
    metrics.note("Filter", "NodeResourcesFit", 0.0002)
    metrics.note("Filter", "NodeAffinity", 0.0004)
    metrics.note("Score", "NodeResourcesFit", 0.0008)
    metrics.attempted("berthmaster")
    fit = {"plugin": "NodeResourcesFit", "extension_point": "Filter", "status": "Success"}
    filters = {"extension_point": "Filter", "status": "Success", "profile": "berthmaster"}
    assert sample(f"{PLUGIN}_count", **fit) == 1
    assert round(sample(f"{PLUGIN}_sum", **fit) or 0, 9) == 0.0003
    assert sample(f"{POINT}_count", **filters) == 1
    assert round(sample(f"{POINT}_sum", **filters) or 0, 9) == 0.0007


async def test_attempt_without_notes_is_no_observation() -> None:
    metrics = PluginMetrics()
    sample = Samples(metrics.collect)
    metrics.note("Filter", "NodeName", 0.001)
    metrics.attempted("berthmaster")
    metrics.attempted("berthmaster")
    filters = {"extension_point": "Filter", "status": "Success", "profile": "berthmaster"}
    assert sample(f"{POINT}_count", **filters) == 1


def test_reads_a_clock_that_goes_on() -> None:
    metrics = PluginMetrics()
    first = metrics.read()
    assert metrics.read() >= first
