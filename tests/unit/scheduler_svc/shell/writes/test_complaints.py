"""Warnings of what was given up: never a flood."""

import logging
from typing import Any

import pytest

from scheduler_svc.shell.writes.complaints import Complaints
from tests.faultproxy import wait_until

logger = logging.getLogger("test")


def said(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [record.__dict__["fields"] for record in caplog.records]


async def test_the_first_at_once_the_others_later(caplog: pytest.LogCaptureFixture) -> None:
    complaints = Complaints(logger, "Dropped events", interval_seconds=0.02)
    for number in range(5):
        complaints.add("queue full", f"text {number}")
    assert said(caplog) == [{"count": 1, "reasons": "queue full", "last": "text 0"}]
    complaints.add("rejected")
    await wait_until(lambda: len(caplog.records) == 2, what="the others are told of")
    assert said(caplog)[1] == {"count": 5, "reasons": "queue full,rejected"}
    assert complaints.counts == {"queue full": 5, "rejected": 1}
    complaints.close()
    assert len(caplog.records) == 2


async def test_after_a_quiet_interval_the_next_is_the_first_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    complaints = Complaints(logger, "Dropped events", interval_seconds=0.01)
    complaints.add("a")
    await wait_until(lambda: not complaints.is_waiting, what="the interval is over")
    complaints.add("b")
    assert [values["reasons"] for values in said(caplog)] == ["a", "b"]
    complaints.close()


async def test_closing_says_what_is_unsaid(caplog: pytest.LogCaptureFixture) -> None:
    complaints = Complaints(logger, "Dropped events")
    complaints.add("a")
    complaints.add("a")
    complaints.close()
    assert [values["count"] for values in said(caplog)] == [1, 1]


async def test_expected_reasons_are_only_counted(caplog: pytest.LogCaptureFixture) -> None:
    complaints = Complaints(logger, "Dropped events", expected=frozenset({"gone"}))
    complaints.add("gone")
    complaints.close()
    assert caplog.records == []
    assert complaints.counts == {"gone": 1}
