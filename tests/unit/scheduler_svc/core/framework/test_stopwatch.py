"""Plugins are timed where somebody asks for it, and answer the same."""

from scheduler_svc.core.framework.stopwatch import timed


class FakeStopwatch:
    """A clock that is half a second later whenever it is read."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.notes: list[tuple[str, str, float]] = []

    def read(self) -> float:
        self.seconds += 0.5
        return self.seconds

    def note(self, extension_point: str, plugin: str, seconds: float) -> None:
        self.notes.append((extension_point, plugin, seconds))


def divide(dividend: int, *, divisor: int) -> int:
    return dividend // divisor


def test_without_a_stopwatch_the_method_is_called() -> None:
    assert timed(None, "Filter", "NodeName", divide, 7, divisor=2) == 3


def test_with_a_stopwatch_the_time_is_noted() -> None:
    stopwatch = FakeStopwatch()
    assert timed(stopwatch, "Filter", "NodeName", divide, 7, divisor=2) == 3
    assert timed(stopwatch, "Score", "ImageLocality", divide, 9, divisor=2) == 4
    assert stopwatch.notes == [("Filter", "NodeName", 0.5), ("Score", "ImageLocality", 0.5)]
