"""How the log tells of lists and watches that end: what befalls all of them, once."""

import logging

import pytest

from kubeio.endings import EndingLog
from kubeio.outage import TOLD_AGAIN_SECONDS, Outage


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shared(clock: Clock) -> list[EndingLog]:
    """Give the logs of two resources of one API server."""
    outage = Outage()
    return [EndingLog(name, clock, outage) for name in ("nodes", "pods")]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> "Told":
    caplog.set_level(logging.INFO, "kubeio.endings")
    return Told(caplog)


class Told:
    """What has been logged at the usual level since it was asked last."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog

    def __call__(self) -> list[tuple[str, str]]:
        values = [(r.getMessage(), vars(r)["fields"]) for r in self._caplog.records]
        self._caplog.clear()
        return [(text, str(f.get("resource", f.get("after_seconds")))) for text, f in values]


FAILED = "List or watch failed"


def fail(log: EndingLog, reason: str) -> None:
    log.tell_failure(reason, "no", retry_in_seconds=1)


@pytest.mark.parametrize("reason", ["connect", "lost", "unauthorized"])
def test_what_befalls_all_is_told_of_one_and_after_a_while_again(
    clock: Clock, shared: list[EndingLog], told: Told, reason: str
) -> None:
    for log in (*shared, *shared):
        fail(log, reason)
    assert told() == [(FAILED, "nodes")]
    clock.seconds += TOLD_AGAIN_SECONDS
    for log in reversed(shared):
        fail(log, reason)
    assert told() == [(FAILED, "pods")]


@pytest.mark.parametrize("reason", ["forbidden", "silent", "server_error", "malformed"])
def test_what_may_befall_one_is_told_of_each(
    shared: list[EndingLog], told: Told, reason: str
) -> None:
    for log in shared:
        fail(log, reason)
    assert told() == [(FAILED, "nodes"), (FAILED, "pods")]


def test_another_reason_is_news(shared: list[EndingLog], told: Told) -> None:
    first, second = shared
    fail(first, "lost")
    fail(second, "lost")
    fail(second, "connect")
    fail(first, "connect")
    assert told() == [(FAILED, "nodes"), (FAILED, "pods")]


def test_the_first_answer_after_an_outage_is_told_and_the_next_outage_is_news(
    clock: Clock, shared: list[EndingLog], told: Told
) -> None:
    first, second = shared
    fail(first, "connect")
    clock.seconds += 7
    fail(second, "connect")
    told()
    clock.seconds += 5
    second.tell_answer()
    first.tell_answer()
    assert told() == [("The API server answers again", "12")]
    first.forget()
    second.forget()
    fail(second, "connect")
    assert told() == [(FAILED, "pods")]


def test_a_connection_that_broke_is_no_outage(shared: list[EndingLog], told: Told) -> None:
    fail(shared[0], "lost")
    told()
    shared[0].tell_answer()
    assert told() == []
