"""One reading of both clocks."""

from node_agent.core.clock import Now


def test_wall_time_is_given_in_seconds_too() -> None:
    assert Now(5.0, 1_780_315_200_250_000_000).wall_seconds == 1_780_315_200.25
