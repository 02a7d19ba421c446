"""Users' code is called under a watch: it is timed, its failures counted, its hangs ended."""

import logging
import sys
import time
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from berthmaster.plugin import Node, NodePlugin, Pod
from berthmaster.testing import node, pod
from scheduler_svc.core.custom_plugins.adapt import adapt
from scheduler_svc.core.custom_plugins.guard import PluginFailedError
from scheduler_svc.core.framework.cluster_evaluation import evaluation_of
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.shell.custom_plugins import watching
from scheduler_svc.shell.custom_plugins.watching import PluginWatch
from tests.builders import make_cache, make_profile


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


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.fields["failure"] for r in caplog.records if r.levelno == logging.ERROR]  # type: ignore[attr-defined]


def test_each_kind_of_failure_is_logged(
    watch: PluginWatch, caplog: pytest.LogCaptureFixture
) -> None:
    def by_key(key: str) -> Any:
        return dict[str, int]()[key]

    def by_value(text: str) -> Any:
        raise ValueError(text)

    for number in range(3):
        for fail in (by_key, by_value):
            with pytest.raises(PluginFailedError):
                watch.call("P", "filter", partial(fail, str(number)))
    # By type and place: texts differ from Pod to Pod.
    assert errors(caplog) == [
        "plugin \"P\" failed in filter: KeyError: '0'",
        'plugin "P" failed in filter: ValueError: 0',
    ]
    assert [r.exc_info is not None for r in caplog.records] == [True, True]


def test_nonsense_is_told_apart_by_its_text_and_so_much_of_it_is_logged(
    watch: PluginWatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(number: int) -> None:
        raise PluginFailedError(f"gave {number}")

    for number in (1, 1, *range(2, 30)):
        with pytest.raises(PluginFailedError):
            watch.call("P", "score", partial(fail, number))
    assert errors(caplog) == [f"gave {number}" for number in range(1, 9)]
    assert [r.exc_info for r in caplog.records] == [None] * 8


def test_after_a_while_it_is_said_again(
    watch: PluginWatch, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise PluginFailedError("gave 7")

    monkeypatch.setattr(watching, "_LOG_INTERVAL_SECONDS", 0.0)
    for _ in range(20):
        with pytest.raises(PluginFailedError):
            watch.call("P", "score", fail)
    assert errors(caplog) == ["gave 7"] * 20


def test_what_would_end_the_process_is_a_failure(
    watch: PluginWatch, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(PluginFailedError, match=r'^plugin "P" failed in filter: SystemExit: 3$'):
        watch.call("P", "filter", partial(sys.exit, 3))
    assert errors(caplog) == ['plugin "P" failed in filter: SystemExit: 3']
    assert values(watch)["berthmaster_custom_plugin_failures_total P filter"] == 1


def test_the_operator_may_end_the_process(watch: PluginWatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watch.call("P", "filter", interrupt)


def test_a_hang_at_a_node_says_how_long_was_waited(watch: PluginWatch) -> None:
    class Hanging(NodePlugin[Any]):
        def filter(self, pod: Pod, node: Node) -> str | None:
            spin()
            return None

    cache = make_cache([node("large")])
    adapter = adapt(Hanging(), watch)
    prepared = prepare(
        make_profile({"preFilter": [adapter], "filter": [adapter]}), pod(), cache.cluster
    )
    evaluation_of(prepared).refresh(cache.columns)
    failure = prepared.failure()
    assert failure is not None
    assert failure.message == (
        'plugin "Hanging" failed in filter of Node large: no answer within 0.1 s'
    )


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


def test_a_call_that_is_slower_still_is_logged_as_well(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = iter([0, 0.03, 10, 10.05, 20, 20.5, 30, 30.9, 40, 41.5])
    clock = SimpleNamespace(perf_counter=lambda: next(readings), monotonic=lambda: 7.0)
    with PluginWatch() as watch:
        monkeypatch.setattr(watching, "time", clock)
        for _ in range(5):
            watch.call("P", "filter", lambda: None)
    told = [record.fields["seconds"] for record in caplog.records]  # type: ignore[attr-defined]
    assert told == [0.03, 0.5, 1.5]
