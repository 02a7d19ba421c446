"""Events on their way to the core."""

import asyncio
from collections import deque
from typing import Final

from scheduler_svc.core.events import Event

_STORY_LENGTH: Final = 30
_SHOWN_CHARACTERS: Final = 300


class Inbox:
    """A queue with one reader, and the bell that wakes it. Order is kept."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._recent: deque[Event] = deque(maxlen=_STORY_LENGTH)
        self._bell = asyncio.Event()

    def __len__(self) -> int:
        return len(self._events)

    def put(self, event: Event) -> None:
        """Take an event in; it is handled soon, after those before it."""
        self._events.append(event)
        self._bell.set()

    def take(self) -> Event:
        """Give the oldest event; there must be one."""
        event = self._events.popleft()
        self._recent.append(event)
        return event

    def ring(self) -> None:
        """Have the reader look again at what it may do."""
        self._bell.set()

    async def wait_ring(self, seconds: float | None) -> None:
        """Wait for an event or a ring since the last wait, at most `seconds`; None: no limit."""
        timer = None
        if seconds is not None:
            timer = asyncio.get_running_loop().call_later(seconds, self._bell.set)
        try:
            await self._bell.wait()
        finally:
            if timer is not None:
                timer.cancel()
        self._bell.clear()

    @property
    def story(self) -> str:
        """The last events that were taken, the newest last: for the log of a failure."""
        return "; ".join(repr(event)[:_SHOWN_CHARACTERS] for event in self._recent)
