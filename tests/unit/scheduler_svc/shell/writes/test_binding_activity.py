"""When it counts as quiet."""

from scheduler_svc.shell.writes.binding_activity import QUIET_SECONDS, BindingActivity


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_quiet_from_the_start() -> None:
    assert BindingActivity(Clock()).quiet_in_seconds() == 0


def test_not_quiet_while_a_binding_is_under_way_and_shortly_after() -> None:
    clock = Clock()
    activity = BindingActivity(clock)
    activity.begin()
    activity.begin()
    clock.seconds += 60
    activity.end()
    assert activity.count == 1
    assert activity.quiet_in_seconds() == QUIET_SECONDS
    activity.end()
    assert activity.quiet_in_seconds() == QUIET_SECONDS
    clock.seconds += QUIET_SECONDS / 2
    assert activity.quiet_in_seconds() == QUIET_SECONDS / 2
    clock.seconds += QUIET_SECONDS
    assert activity.quiet_in_seconds() == 0
