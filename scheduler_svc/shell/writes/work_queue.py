"""A writer's work in order: so many at once, and nothing left without an outcome at the end."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

from scheduler_svc.shell.writes.workers import Workers

T = TypeVar("T")


class WorkQueue(Generic[T]):
    """First in, first out, until it stops; an async context manager that owns its tasks.

    `len` counts what is queued or being carried out.

    Parameters
    ----------
    carry_out
        Does one item.
    give_up
        Gets each item that was never begun, and what comes once the queue is stopping.
    limit
        How many may be under way now, at least 1; asked before each item.
    """

    def __init__(
        self,
        carry_out: Callable[[T], Awaitable[None]],
        *,
        give_up: Callable[[T], None],
        limit: Callable[[], int],
    ) -> None:
        self._items: deque[T] = deque()
        self._give_up = give_up
        self._workers = Workers(self, carry_out, limit=limit)
        self.stopping = asyncio.Event()
        """Set once nothing more is begun."""

    def __len__(self) -> int:
        return len(self._items) + len(self._workers)

    @property
    def queued_count(self) -> int:
        """How many wait for their turn."""
        return len(self._items)

    async def __aenter__(self) -> Self:
        await self._workers.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stopping.set()
        try:
            await self._workers.__aexit__(kind, error, trace)
        finally:
            self._give_up_all()

    def submit(self, item: T) -> None:
        """Begin, or queue if as many as the limit allows are under way."""
        if self.stopping.is_set():
            self._give_up(item)
        else:
            self._items.append(item)
            self._workers.wake()

    def stop(self) -> None:
        """Begin nothing more."""
        self.stopping.set()
        self._give_up_all()

    async def drain(self, timeout_seconds: float) -> None:
        """Begin nothing more; wait for what is under way, for so long, then cancel it."""
        self.stop()
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._workers.wait_idle()
        except TimeoutError:
            await self.cancel()

    async def cancel(self) -> None:
        """Cut short what is under way, and wait until it has ended."""
        self._workers.cancel()
        await self._workers.wait_idle()

    def has_work(self) -> bool:
        """Tell whether an item waits for its turn (for `Workers`)."""
        return bool(self._items)

    def take(self) -> T:
        """Give the item that has waited longest (for `Workers`)."""
        return self._items.popleft()

    def _give_up_all(self) -> None:
        while self._items:
            self._give_up(self._items.popleft())
