"""Whether Bindings are in progress: what is less urgent keeps out of their way.

The API server's CPU is what bounds a burst of Bindings. Events and conditions cost it as
much as Bindings do, so their writers slow down until no Binding has been under way for
`QUIET_SECONDS`.
"""

from collections.abc import Callable
from typing import Final

from scheduler_svc.shell.clock import read_monotonic_seconds

QUIET_SECONDS: Final = 0.25
"""Longer than the gaps within a burst, shorter than what a user notices."""


class BindingActivity:
    """Counts Pods between the decision and the answer; one writer, many readers."""

    def __init__(self, clock: Callable[[], float] = read_monotonic_seconds) -> None:
        self._clock = clock
        self._count = 0
        self._ended_seconds = clock() - QUIET_SECONDS

    def begin(self) -> None:
        """Note that a Pod is to be bound."""
        self._count += 1

    def end(self) -> None:
        """Note that it has been, or never will be."""
        self._count -= 1
        if not self._count:
            self._ended_seconds = self._clock()

    @property
    def count(self) -> int:
        """Pods under way."""
        return self._count

    def quiet_in_seconds(self) -> float:
        """Give the seconds until it is quiet if no Binding begins; 0 if it is.

        While Bindings are under way, `QUIET_SECONDS`: the soonest it can be.
        """
        if self._count:
            return QUIET_SECONDS
        return max(0.0, self._ended_seconds + QUIET_SECONDS - self._clock())
