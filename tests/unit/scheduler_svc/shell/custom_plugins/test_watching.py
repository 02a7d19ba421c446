"""Users' code is called under a watch: it is timed, its failures counted, its hangs ended."""

import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_svc.core.custom_plugins.guard import PluginFailedError
from scheduler_svc.shell.custom_plugins.watching import PluginWatch


@pytest.fixture
def watch() -> Iterator[PluginWatch]:
    with PluginWatch(limit_seconds=0.1) as running:
        yield running


def values(watch: PluginWatch) -> dict[str, float]:
    """Give the samples that are counts, by name and labels."""
    return {
        f"{sample.name} {sample.labels['plugin']} {sample.labels['point']}": sample.value
        for family in watch.collect()
        for sample in family.samples
        if sample.name.endswith(("_total", "_count"))
    }


def test_calls_are_timed(watch: PluginWatch) -> None:
    assert watch.call("P", "filter", lambda: 7) == 7
    assert values(watch) == {"berthmaster_custom_plugin_call_duration_seconds_count P filter": 1}


def test_failures_are_counted_and_logged_once_in_a_while(
    watch: PluginWatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise ValueError("broken")

    for _ in range(3):
        with pytest.raises(PluginFailedError, match=r'plugin "P" failed in filter: ValueError'):
            watch.call("P", "filter", fail)
    assert values(watch)["berthmaster_custom_plugin_failures_total P filter"] == 3
    records = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.message for record in records] == ["Plugin failed"]
    assert records[0].exc_info is not None
    assert "fail" in str(records[0].exc_info[2].tb_next.tb_next.tb_frame)  # type: ignore[union-attr]


def test_a_failure_that_is_explained_already_keeps_its_text(watch: PluginWatch) -> None:
    def fail() -> None:
        raise PluginFailedError("gave 7") from ValueError("7")

    with pytest.raises(PluginFailedError, match=r"^gave 7$"):
        watch.call("P", "score", fail)
    assert values(watch)["berthmaster_custom_plugin_failures_total P score"] == 1


def spin() -> None:
    """Compute for ever."""
    while True:
        sum(range(100))


def test_a_plugin_that_does_not_end_is_ended(watch: PluginWatch) -> None:
    with pytest.raises(
        PluginFailedError, match=r'^plugin "P" failed in score: no answer within 0.1 s$'
    ):
        watch.call("P", "score", spin)
    assert watch.call("P", "score", lambda: 3) == 3
    counted = values(watch)
    assert counted["berthmaster_custom_plugin_failures_total P score"] == 1
    assert counted["berthmaster_custom_plugin_slow_calls_total P score"] == 1


def test_a_plugin_cannot_swallow_its_end_for_ever(watch: PluginWatch) -> None:
    def stubborn() -> int:
        try:
            spin()
        except Exception:  # noqa: BLE001 - what a careless plugin does
            return 5
        return 0

    # It has come to an end, and that was what mattered.
    assert watch.call("P", "score", stubborn) == 5
    assert watch.call("P", "score", lambda: 1) == 1


def test_an_end_that_comes_too_late_meets_nobody(watch: PluginWatch) -> None:
    """A call into C is not interrupted; what was raised meanwhile ends with it."""
    late: list[Any] = []
    for _ in range(3):
        try:
            late.append(watch.call("P", "filter", lambda: time.sleep(0.15)))
        except PluginFailedError as error:
            late.append(str(error))
        assert [number for number in range(1000) if number < 0] == []
    assert len(late) == 3


def test_slow_calls_are_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    with PluginWatch(budget_seconds=0.0) as strict:
        strict.call("P", "filter", lambda: None)
        strict.call("P", "filter", lambda: None)
        assert values(strict)["berthmaster_custom_plugin_slow_calls_total P filter"] == 2
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert [record.message for record in warnings] == [
        "Plugin is slow: nothing else is decided meanwhile"
    ]
