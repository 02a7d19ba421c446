"""The one task that owns the core: events go in, attempts are made, effects go out.

A round takes events, then makes attempts, each for one slice of a few milliseconds, and
lets the event loop run: renewals of the Lease, bindings and probes never wait longer.
With nothing to do the task sleeps until an event, or until the core's next deadline.

A standby takes events too, so that its view is warm when it leads.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import Effect
from scheduler_svc.core.events import Event
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.shell.clock import read_now

SLICE_SECONDS: Final = 0.005
_SHORTEST_WAIT_SECONDS: Final = 0.001
_STORY_LENGTH: Final = 30
_SHOWN_EVENT_CHARACTERS: Final = 300


class EffectSink(Protocol):
    """What the loop hands its results to: `scheduler_svc.shell.executor.Executor`."""

    def handled(self, event: Event, effects: list[Effect], /) -> None:
        """Begin to carry out what follows from an event; must not block."""

    def attempted(self, effects: list[Effect], seconds: float, /) -> None:
        """Do so after an attempt, which took `seconds`."""

    def expired(self, effects: list[Effect], /) -> None:
        """Do so after a deadline."""


class Inbox:
    """Events on their way to the core, in order, and the bell that wakes its task."""

    def __init__(self) -> None:
        self.events: deque[Event] = deque()
        self.bell = asyncio.Event()

    def put(self, event: Event) -> None:
        """Take an event in; it is handled soon, after those before it."""
        self.events.append(event)
        self.bell.set()

    def wake(self) -> None:
        """Have the loop look again at what it may do."""
        self.bell.set()


class SchedulingLoop:
    """Drives a `Scheduler`.

    `may_attempt` says whether Pods may be scheduled now: this replica leads, knows the
    cluster and is not about to end. Call `Inbox.wake` when its answer may have changed.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        inbox: Inbox,
        sink: EffectSink,
        *,
        may_attempt: Callable[[], bool],
        read_now: Callable[[], Now] = read_now,
    ) -> None:
        self._scheduler = scheduler
        self._inbox = inbox
        self._sink = sink
        self._may_attempt = may_attempt
        self._read_now = read_now
        self._recent: deque[Event] = deque(maxlen=_STORY_LENGTH)

    @property
    def story(self) -> str:
        """The last events, the newest last, for the log of a failure."""
        return "; ".join(repr(event)[:_SHOWN_EVENT_CHARACTERS] for event in self._recent)

    async def run(self) -> None:
        """Work until cancelled; raises what the core raises."""
        while True:
            self._inbox.bell.clear()
            if self.work():
                await asyncio.sleep(0)
            else:
                await self._sleep()

    def work(self) -> bool:
        """Do one round; tell whether something is left to do at once."""
        events, now = self._inbox.events, self._read_now()
        slice_end = now.monotonic_seconds + SLICE_SECONDS
        while events and now.monotonic_seconds < slice_end:
            event = events.popleft()
            self._recent.append(event)
            self._sink.handled(event, self._scheduler.handle(event, now))
            now = self._read_now()
        deadline = self._scheduler.next_deadline()
        if deadline is not None and deadline <= now.monotonic_seconds:
            self._sink.expired(self._scheduler.expire(now))
        has_attempts_left = self._may_attempt() and self._attempt(now)
        return has_attempts_left or bool(events)

    def _attempt(self, now: Now) -> bool:
        slice_end = now.monotonic_seconds + SLICE_SECONDS
        while now.monotonic_seconds < slice_end:
            effects = self._scheduler.step(now)
            if effects is None:
                return False
            after = self._read_now()
            self._sink.attempted(effects, after.monotonic_seconds - now.monotonic_seconds)
            now = after
        return True

    async def _sleep(self) -> None:
        deadline = self._scheduler.next_deadline()
        if deadline is None:
            await self._inbox.bell.wait()
            return
        left = max(deadline - self._read_now().monotonic_seconds, _SHORTEST_WAIT_SECONDS)
        timer = asyncio.get_running_loop().call_later(left, self._inbox.bell.set)
        try:
            await self._inbox.bell.wait()
        finally:
            timer.cancel()
