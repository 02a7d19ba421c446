import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from kubeio.logs import verbosity_level
from scheduler_svc.core.effects import AttemptResult, ReportRefusal
from scheduler_svc.core.events import BindFailed, BindFailure
from scheduler_svc.core.queue.hints import HintError, QueueingHints
from scheduler_svc.shell.journal import Journal, log_hint_errors
from scheduler_svc.shell.metrics.attempt_metrics import AttemptMetrics
from scheduler_svc.shell.metrics.plugin_metrics import PluginMetrics
from tests.unit.scheduler_svc.shell.effects import POD, bind_pod, report_attempt, report_bound
from tests.unit.scheduler_svc.shell.registry import Samples

HINT_ERROR = HintError("Mine", "NodeAdd", "default/web-1", "KeyError('zone')")
NO_FIT = "0/1 nodes are available: 1 Insufficient cpu."


@pytest.fixture
def journal() -> Journal:
    return Journal(AttemptMetrics(("berthmaster",)))


@pytest.fixture(autouse=True)
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(verbosity_level(3)):
        yield


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str, dict[str, Any]]]:
    """Verbosity (or level, for what is no information), message and fields of each line."""
    return [
        (
            logging.INFO - record.levelno if record.levelno <= logging.INFO else record.levelno,
            record.getMessage(),
            vars(record).get("fields", {}),
        )
        for record in caplog.records
    ]


def test_each_step_of_a_pod_has_its_line(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    journal.decided(bind_pod())
    journal.bound(report_bound())
    found = lines(caplog)
    assert [(level, message) for level, message, _ in found] == [
        (3, "Attempting to schedule pod"),
        (3, "Assumed pod"),
        (3, "Attempting to bind pod to node"),
        (2, "Successfully bound pod to node"),
    ]
    for _, _, values in found:
        assert (values["pod"], values["uid"]) == ("default/web-1", "uid-1")
    assert [values.get("node") for _, _, values in found] == [None, "n1", "n1", "n1"]


def test_dry_run_does_not_claim_to_have_bound(caplog: pytest.LogCaptureFixture) -> None:
    journal = Journal(AttemptMetrics(("berthmaster",)), dry_run=True)
    journal.bound(report_bound())
    assert [message for _, message, _ in lines(caplog)] == ["Would have bound pod to node"]


@pytest.mark.parametrize(
    ("failure", "what_next"),
    [
        (BindFailure.GONE, "nothing: the Pod is gone"),
        (BindFailure.BOUND_ELSEWHERE, "nothing: somebody else has bound it"),
        (BindFailure.NODE_GONE, "retry after its backoff"),
        (BindFailure.NOT_LEADER, "left to the leader"),
        (BindFailure.REFUSED, "retry after its backoff"),
    ],
)
def test_failed_binding_says_why_and_what_follows(
    journal: Journal,
    caplog: pytest.LogCaptureFixture,
    failure: BindFailure,
    what_next: str,
) -> None:
    journal.decided(bind_pod())
    caplog.clear()
    journal.bind_failed(BindFailed("uid-1", failure, "HTTP 403: no"))
    [(level, message, values)] = lines(caplog)
    # Nobody is to be woken since a Pod was deleted at the wrong moment.
    wanted = 2 if failure is BindFailure.GONE else logging.ERROR
    assert (level, message) == (wanted, "Failed to bind pod")
    assert values == {
        "pod": "default/web-1",
        "uid": "uid-1",
        "node": "n1",
        "failure": failure.value,
        "err": "HTTP 403: no",
        "next": what_next,
    }


def test_refused_pod_has_its_line(journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    journal.refused(ReportRefusal(POD, "berthmaster", "n1", "OutOfcpu", "no room", "500m cpu"))
    [(level, message, values)] = lines(caplog)
    assert (level, message) == (logging.WARNING, "A kubelet refused a pod that was bound to it")
    assert values == {
        "pod": "default/web-1",
        "uid": "uid-1",
        "node": "n1",
        "reason": "OutOfcpu",
        "err": "no room",
        "withheld": "500m cpu",
    }


def test_outcome_of_a_pod_that_nobody_decided_on_is_not_told(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    journal.bind_failed(BindFailed("uid-9", BindFailure.GONE, "gone"))
    assert lines(caplog) == []


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (NO_FIT, "Unable to schedule pod; no fit; waiting"),
        (
            "no nodes available to schedule pods",
            "Unable to schedule pod; no nodes are registered to the cluster; waiting",
        ),
    ],
)
def test_pod_that_fits_nowhere_waits(
    journal: Journal, caplog: pytest.LogCaptureFixture, message: str, text: str
) -> None:
    journal.attempt_failed(report_attempt(message))
    found = lines(caplog)
    assert [(level, line) for level, line, _ in found] == [
        (3, "Attempting to schedule pod"),
        (2, text),
    ]
    assert found[1][2]["err"] == message


def test_attempt_that_went_wrong_is_an_error_and_is_begun_once(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    journal.decided(bind_pod())
    caplog.clear()
    journal.attempt_failed(report_attempt("refused", AttemptResult.ERROR, node="n1"))
    assert [(level, line) for level, line, _ in lines(caplog)] == [
        (logging.ERROR, "Error scheduling pod; retrying")
    ]


async def test_what_is_not_to_be_logged_is_counted_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metrics = AttemptMetrics(("berthmaster",))
    journal = Journal(metrics)
    with caplog.at_level(logging.INFO):
        journal.decided(bind_pod())
        journal.bound(report_bound())
        journal.attempt_failed(report_attempt(NO_FIT))
    assert lines(caplog) == []
    sample = Samples(metrics.collect)
    name = "scheduler_schedule_attempts_total"
    assert sample(name, result="scheduled", profile="berthmaster") == 1
    assert sample(name, result="unschedulable", profile="berthmaster") == 1


async def test_hints_that_failed_are_told(caplog: pytest.LogCaptureFixture) -> None:
    hints = QueueingHints({})
    errors = [[HINT_ERROR], []]
    hints.drain_errors = lambda: errors.pop(0)  # type: ignore[method-assign]
    telling = asyncio.create_task(log_hint_errors(hints))
    await asyncio.sleep(0)
    telling.cancel()
    [(level, message, values)] = lines(caplog)
    assert level == logging.ERROR
    assert message.startswith("A queueing hint failed")
    assert values == {
        "plugin": "Mine",
        "event": "NodeAdd",
        "pod": "default/web-1",
        "err": "KeyError('zone')",
    }


async def test_one_binding_in_ten_is_timed() -> None:
    plugins = PluginMetrics()
    journal = Journal(AttemptMetrics(("berthmaster",)), plugins=plugins)
    for _ in range(25):
        journal.decided(bind_pod())
        journal.bound(report_bound())
    name = "scheduler_framework_extension_point_duration_seconds_count"
    labels = {"extension_point": "Bind", "profile": "berthmaster", "status": "Success"}
    assert Samples(plugins.collect)(name, **labels) == 2


async def test_a_bind_plugin_is_timed_to_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler_svc.shell.journal.SAMPLE", 1)
    times = iter([100.0, 100.5, 200.0, 202.0, 300.0, 300.5])
    monkeypatch.setattr("scheduler_svc.shell.journal.read_monotonic_seconds", lambda: next(times))
    plugins = PluginMetrics()
    journal = Journal(AttemptMetrics(("berthmaster",)), plugins=plugins)
    sample = Samples(plugins.collect)
    journal.decided(bind_pod())
    journal.bound(report_bound())
    journal.decided(bind_pod())
    journal.bind_failed(BindFailed("uid-1", BindFailure.REFUSED, "no"))
    name = "scheduler_framework_extension_point_duration_seconds_sum"
    labels = {"extension_point": "Bind", "profile": "berthmaster"}
    assert sample(name, status="Success", **labels) == 0.5
    assert sample(name, status="Error", **labels) == 2
    # Extenders are no plugins.
    journal.decided(msgspec.structs.replace(bind_pod(), plugin="", extender=1))
    journal.bind_failed(BindFailed("uid-1", BindFailure.REFUSED, "no", by_extender=True))
    assert sample(name, status="Error", **labels) == 2
