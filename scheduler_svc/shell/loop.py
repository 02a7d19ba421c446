"""The one task that owns the core: events go in, attempts are made, effects go out.

A round takes events, then makes attempts, each for one slice of a few milliseconds, and
lets the event loop run: renewals of the Lease, bindings and probes never wait longer.
With nothing to do the task sleeps until an event, or until the core's next deadline.

A standby takes events too, so that its view is warm when it leads.
"""

import asyncio
from collections.abc import Callable
from math import inf
from typing import Final

from scheduler_svc.core.clock import Now
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.shell.clock import read_now
from scheduler_svc.shell.executor import Executor
from scheduler_svc.shell.inbox import Inbox
from scheduler_svc.shell.metrics.event_metrics import EventMetrics

SLICE_SECONDS: Final = 0.005
_SHORTEST_WAIT_SECONDS: Final = 0.001


class SchedulingLoop:
    """Drives a `Scheduler`.

    `may_attempt` says whether Pods may be scheduled now: this replica leads, knows the
    cluster and is not about to end. Call `Inbox.ring` when its answer may have changed.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        inbox: Inbox,
        executor: Executor,
        *,
        may_attempt: Callable[[], bool],
        events: EventMetrics | None = None,
        read_now: Callable[[], Now] = read_now,
    ) -> None:
        self._scheduler = scheduler
        self._inbox = inbox
        self._executor = executor
        self._may_attempt = may_attempt
        self._events = events or EventMetrics()
        self._heard = scheduler.heard
        self._read_now = read_now

    async def run(self) -> None:
        """Work until cancelled; raises what the core raises."""
        while True:
            if self.work():
                await asyncio.sleep(0)
            else:
                await self._inbox.wait_ring(self._seconds_to_deadline())

    def work(self) -> bool:
        """Do one round; tell whether something is left to do at once."""
        now = self._take_events(SLICE_SECONDS)
        deadline = self._scheduler.next_deadline()
        if deadline is not None and deadline <= now.monotonic_seconds:
            self._executor.expired(self._scheduler.expire(now))
        # Pods are placed only by a view that has taken in everything that is known.
        are_attempts_left = not self._inbox and self._may_attempt() and self._attempt(now)
        return are_attempts_left or bool(self._inbox)

    def take_all_events(self) -> None:
        """Handle every event that has come: before the end, for their effects."""
        self._take_events(inf)

    def _take_events(self, slice_seconds: float) -> Now:
        now = self._read_now()
        slice_end = now.monotonic_seconds + slice_seconds
        while self._inbox and now.monotonic_seconds < slice_end:
            event = self._inbox.take()
            self._executor.handled(event, self._scheduler.handle(event, now))
            after = self._read_now()
            if self._heard:
                seconds = after.monotonic_seconds - now.monotonic_seconds
                self._events.handled(self._heard, seconds)
            now = after
        return now

    def _attempt(self, now: Now) -> bool:
        slice_end = now.monotonic_seconds + SLICE_SECONDS
        while now.monotonic_seconds < slice_end:
            effects = self._scheduler.step(now, self._executor.stopwatch())
            if effects is None:
                return False
            after = self._read_now()
            self._executor.attempted(effects, after.monotonic_seconds - now.monotonic_seconds)
            now = after
        return True

    def _seconds_to_deadline(self) -> float | None:
        deadline = self._scheduler.next_deadline()
        if deadline is None:
            return None
        return max(deadline - self._read_now().monotonic_seconds, _SHORTEST_WAIT_SECONDS)
