"""Binding conditions: ready, failed, or too late."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_svc.core.devices.readiness import (
    binding_failure,
    has_timed_out,
    is_ready,
    unix_seconds,
)
from tests.device_builders import allocation, make_claim, result

STAMP = "2026-01-01T00:00:00Z"
STAMPED = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


def conditional(name: str) -> dict[str, Any]:
    return result(name, bindingConditions=["attached"], bindingFailureConditions=["broken"])


def told(name: str, **conditions: str) -> dict[str, Any]:
    return {
        "driver": "gpu.example",
        "pool": "n1",
        "device": name,
        "conditions": [
            {"type": key, "status": value, "reason": "Why", "message": "so"}
            for key, value in conditions.items()
        ],
    }


@pytest.mark.parametrize(
    ("statuses", "ready", "failed"),
    [
        ([], False, False),
        ([told("d0")], False, False),
        ([told("d0", attached="False", broken="False")], False, False),
        ([told("d0", attached="True")], False, False),
        ([told("d0", attached="True"), told("d1", attached="True")], True, False),
        ([told("d0", broken="True")], False, True),
        ([told("d0", attached="True"), told("d1", broken="True")], False, True),
        # What comes after a device that is not ready is not looked at.
        ([told("d0"), told("d1", broken="True")], False, False),
    ],
)
def test_all_devices_must_be_ready(
    statuses: list[dict[str, Any]], ready: bool, failed: bool
) -> None:
    given_devices = allocation(conditional("d0"), result("plain"), conditional("d1"))
    claim = make_claim("c", status={"allocation": given_devices, "devices": statuses})
    assert is_ready(claim) is ready
    text = 'device binding failed: claim=c, reason=Why, message="so"' if failed else ""
    assert binding_failure(claim) == text


def test_without_conditions_or_devices() -> None:
    plain = make_claim("c", status={"allocation": allocation(result("d0"))})
    assert is_ready(plain)
    assert not has_timed_out(plain, 600, STAMPED + 601)
    assert not is_ready(make_claim("c"))
    assert binding_failure(make_claim("c")) == ""
    assert not has_timed_out(make_claim("c"), 600, STAMPED + 601)


def test_a_claim_may_wait_for_so_long() -> None:
    waiting = allocation(conditional("d0"), allocationTimestamp=STAMP)
    claim = make_claim("c", status={"allocation": waiting})
    assert not has_timed_out(claim, 600, STAMPED + 600)
    assert has_timed_out(claim, 600, STAMPED + 601)
    plain = allocation(result("d0"), allocationTimestamp=STAMP)
    assert not has_timed_out(make_claim("c", status={"allocation": plain}), 600, STAMPED + 601)
    unstamped = make_claim("c", status={"allocation": allocation(conditional("d0"))})
    assert not has_timed_out(unstamped, 600, STAMPED + 601)


@given(st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1)))
def test_times_are_read_as_python_reads_them(time: datetime) -> None:
    stamp = time.replace(microsecond=0, tzinfo=UTC)
    assert unix_seconds(stamp.isoformat()[:-6] + "Z") == stamp.timestamp()


def test_what_is_no_time_is_long_ago() -> None:
    assert unix_seconds("yesterday") == 0
    assert unix_seconds("1970-01-01T00:00:01.5Z") == 1
