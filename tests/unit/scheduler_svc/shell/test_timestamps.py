"""Times as Kubernetes writes them."""

import pytest

from scheduler_svc.shell.timestamps import format_micro_time, format_time, to_nanoseconds


@pytest.mark.parametrize(
    ("seconds", "nanoseconds"),
    [
        (0.0, 0),
        (0.5, 500_000_000),
        (1_796_000_000.25, 1_796_000_000_250_000_000),
        (1e-9, 1),
    ],
)
def test_nanoseconds(seconds: float, nanoseconds: int) -> None:
    assert to_nanoseconds(seconds) == nanoseconds


def test_time() -> None:
    assert format_time(1_795_953_600.999) == "2026-11-29T12:00:00Z"


def test_micro_time_has_six_digits_always() -> None:
    assert format_micro_time(1_795_953_600.0) == "2026-11-29T12:00:00.000000Z"
    assert format_micro_time(1_795_953_600.25) == "2026-11-29T12:00:00.250000Z"


def test_a_time_that_is_rounded_up_carries_over() -> None:
    assert format_micro_time(1_795_953_599.999_999_9) == "2026-11-29T12:00:00.000000Z"
