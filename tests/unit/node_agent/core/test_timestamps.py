"""Times to Unix nanoseconds and back, checked against the standard library."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node_agent.core.timestamps import format_nanoseconds, unix_nanoseconds

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.datetimes(
    min_value=datetime(1, 1, 2),
    max_value=datetime(9999, 12, 30),
    timezones=st.timezones() | st.just(UTC),
)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("2026-06-01T12:00:00Z", 1_780_315_200_000_000_000),
        ("2026-06-01T12:00:00.123456Z", 1_780_315_200_123_456_000),
        ("2026-06-01T14:00:00+02:00", 1_780_315_200_000_000_000),
        ("2026-06-01T06:30:00.5-05:30", 1_780_315_200_500_000_000),
        ("2024-02-29T00:00:00z", 1_709_164_800_000_000_000),
        ("2000-02-29t00:00:00Z", 951_782_400_000_000_000),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("2016-12-31T23:59:60Z", 1_483_228_800_000_000_000),
    ],
)
def test_times_are_read(text: str, nanoseconds: int) -> None:
    assert unix_nanoseconds(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "2026-06-01",
        "2026-06-01T12:00:00",
        "2026-06-01T12:00:00.Z",
        "2026-06-01T12:00:00.1234567890Z",
        "2026-13-01T12:00:00Z",
        "2026-00-01T12:00:00Z",
        "2026-02-29T12:00:00Z",
        "1900-02-29T12:00:00Z",
        "2026-06-00T12:00:00Z",
        "2026-06-01T24:00:00Z",
        "2026-06-01T12:60:00Z",
        "2026-06-01T12:00:61Z",
        " 2026-06-01T12:00:00Z",
        "2026-06-01T12:00:00Z\n",
        "٢٠٢٦-06-01T12:00:00Z",
    ],
)
def test_what_is_no_time_is_none(text: str | None) -> None:
    assert unix_nanoseconds(text) is None


@given(MOMENTS)
def test_times_are_read_as_the_standard_library_writes_them(moment: datetime) -> None:
    offset = moment.utcoffset() or timedelta()
    if offset.seconds % 60:
        moment = moment.astimezone(UTC)  # RFC 3339 has no seconds in offsets
    expected = (moment.astimezone(UTC) - EPOCH) // timedelta(microseconds=1) * 1000
    assert unix_nanoseconds(moment.isoformat()) == expected


@given(st.integers(-62_135_596_800 * 10**9, 253_402_300_799 * 10**9))
def test_nothing_is_lost_by_writing(nanoseconds: int) -> None:
    text = format_nanoseconds(nanoseconds)
    assert len(text) == len("2026-06-01T12:00:00.000000000Z")
    assert unix_nanoseconds(text) == nanoseconds
    seconds = nanoseconds // 10**9
    assert text[:19] == (EPOCH + timedelta(seconds=seconds)).isoformat()[:19]
