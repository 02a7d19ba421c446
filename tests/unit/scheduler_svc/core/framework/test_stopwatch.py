"""Plugins are timed where somebody asks for it, and answer the same."""

import pytest

from scheduler_svc.core.framework.interface import PreFilterResult
from scheduler_svc.core.framework.stopwatch import timed
from scheduler_svc.core.status import SKIP, SUCCESS, Code, Status


class FakeStopwatch:
    """A clock that is half a second later whenever it is read."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.notes: list[tuple[str, str, float, str]] = []

    def read(self) -> float:
        self.seconds += 0.5
        return self.seconds

    def note(
        self, extension_point: str, plugin: str, seconds: float, status: str = "Success"
    ) -> None:
        self.notes.append((extension_point, plugin, seconds, status))


def divide(dividend: int, *, divisor: int) -> int:
    return dividend // divisor


def test_without_a_stopwatch_the_method_is_called() -> None:
    assert timed(None, "Filter", "NodeName", divide, 7, divisor=2) == 3


def test_with_a_stopwatch_the_time_is_noted() -> None:
    stopwatch = FakeStopwatch()
    assert timed(stopwatch, "Filter", "NodeName", divide, 7, divisor=2) == 3
    assert timed(stopwatch, "Score", "ImageLocality", divide, 9, divisor=2) == 4
    assert stopwatch.notes == [
        ("Filter", "NodeName", 0.5, "Success"),
        ("Score", "ImageLocality", 0.5, "Success"),
    ]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (SKIP, "Skip"),
        ((SUCCESS, None), "Success"),
        ((Status(Code.WAIT), 3.0), "Wait"),
        (PreFilterResult(Status(Code.UNSCHEDULABLE)), "Unschedulable"),
        ((1, 2), "Success"),
        (None, "Success"),
    ],
)
def test_the_status_of_any_answer_is_noted(answer: object, status: str) -> None:
    stopwatch = FakeStopwatch()
    assert timed(stopwatch, "Any", "Plugin", lambda: answer) is answer
    assert stopwatch.notes == [("Any", "Plugin", 0.5, status)]
