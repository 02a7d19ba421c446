"""How fast Events may be written while Bindings are in progress, in simulated time."""

from collections import deque

from scheduler_svc.shell.writes.event_pacing import HOLD_SECONDS, HURRY_COUNT, EventPace

STEP_SECONDS = 0.001


class Simulation:
    """Events that arrive at a steady rate, written as soon as the pace allows."""

    def __init__(self) -> None:
        self.pace = EventPace()
        self.arrived: deque[float] = deque()
        self.waits: list[float] = []
        self.seconds = 0.0
        self._debt = 0.0

    def run(self, seconds: float, *, per_second: float) -> int:
        """Go on for so long; give how many were written."""
        written_before = len(self.waits)
        for _ in range(round(seconds / STEP_SECONDS)):
            self.seconds += STEP_SECONDS
            self._debt += per_second * STEP_SECONDS
            while self._debt >= 1:
                self._debt -= 1
                self.arrived.append(self.seconds)
            while self.arrived and self._delay() == 0:
                self._write()
        return len(self.waits) - written_before

    def _age(self) -> float:
        return self.seconds - self.arrived[0]

    def _delay(self) -> float:
        return self.pace.delay_seconds(
            self.seconds, backlog_count=len(self.arrived), oldest_age_seconds=self._age()
        )

    def _write(self) -> None:
        self.pace.sent(
            self.seconds, backlog_count=len(self.arrived), oldest_age_seconds=self._age()
        )
        self.waits.append(self.seconds - self.arrived.popleft())


def test_a_light_load_is_not_held_up() -> None:
    simulation = Simulation()
    simulation.run(5, per_second=10)
    assert max(simulation.waits) < 0.1


def test_a_burst_is_held_to_a_trickle() -> None:
    simulation = Simulation()
    written = simulation.run(HOLD_SECONDS, per_second=200)
    assert written <= HOLD_SECONDS * 20 + 2


def test_none_waits_longer_than_27_seconds_and_the_rate_becomes_the_arrivals() -> None:
    simulation = Simulation()
    simulation.run(40, per_second=100)
    written = simulation.run(10, per_second=100)
    assert 900 <= written <= 1100
    assert max(simulation.waits) <= 27


def test_what_is_late_goes_at_once() -> None:
    pace = EventPace()
    assert pace.delay_seconds(0.0, backlog_count=1, oldest_age_seconds=27) == 0
    pace.sent(0.0, backlog_count=100, oldest_age_seconds=27)
    assert pace.delay_seconds(0.0, backlog_count=99, oldest_age_seconds=27) == 0


def test_a_queue_that_is_half_full_goes_at_once() -> None:
    pace = EventPace()
    pace.sent(0.0, backlog_count=HURRY_COUNT + 1, oldest_age_seconds=0)
    assert pace.delay_seconds(0.0, backlog_count=HURRY_COUNT, oldest_age_seconds=0) == 0
    pace.sent(0.0, backlog_count=HURRY_COUNT - 1, oldest_age_seconds=0)
    assert pace.delay_seconds(0.0, backlog_count=HURRY_COUNT - 2, oldest_age_seconds=0) == 0.05


def test_pausing_earns_no_burst() -> None:
    pace = EventPace()
    pace.sent(0.0, backlog_count=10, oldest_age_seconds=0)
    pace.sent(100.0, backlog_count=9, oldest_age_seconds=0)
    pace.sent(100.0, backlog_count=8, oldest_age_seconds=0)
    assert pace.delay_seconds(100.0, backlog_count=7, oldest_age_seconds=0) > 0
