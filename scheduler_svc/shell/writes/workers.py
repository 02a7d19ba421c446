"""Tasks that exist only while there is work, never more than a limit allows.

A writer's items come in bursts. A task for each would cost more than most of what it
does, a fixed number would have to be woken one by one; so a task that has finished an
item goes on with the next, ends when there is none, and starts another while there is
more to do than tasks doing it.

A task takes its item only once it runs: what was never begun stays in the queue, whose
owner can say what became of it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class WorkSource(Protocol[T_co]):
    """Where workers get their items from."""

    def has_work(self) -> bool:
        """Tell whether `take` would give an item now."""

    def take(self) -> T_co:
        """Give the next item."""


class Workers(Generic[T]):
    """Does `work` on what `source` gives; owns its tasks as a context manager.

    An exception from `work` ends all tasks, cancels the task that entered the context,
    and comes out of it in an `ExceptionGroup`.

    Parameters
    ----------
    limit
        How many tasks there may be now, at least 1; asked before each item.
    """

    def __init__(
        self,
        source: WorkSource[T],
        work: Callable[[T], Awaitable[None]],
        *,
        limit: Callable[[], int],
    ) -> None:
        self._source = source
        self._work = work
        self._limit = limit
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_open = False
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        return len(self._tasks)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._is_open = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_open = False
        self.cancel()
        if kind is None or issubclass(kind, asyncio.CancelledError):
            await self._group.__aexit__(kind, error, trace)
        else:  # the owner's own error, which is not to come out in a group
            await self._group.__aexit__(None, None, None)

    def wake(self) -> None:
        """Start one more task if there is work for it and room."""
        if self._is_open and len(self._tasks) < self._limit() and self._source.has_work():
            self._idle.clear()
            task = self._group.create_task(self._run())
            self._tasks.add(task)
            task.add_done_callback(self._forget)

    def cancel(self) -> None:
        """Cancel all tasks."""
        for task in self._tasks:
            task.cancel()

    async def wait_idle(self) -> None:
        """Wait until no task runs."""
        await self._idle.wait()

    async def _run(self) -> None:
        while len(self._tasks) <= self._limit() and self._source.has_work():
            item = self._source.take()
            self.wake()
            await self._work(item)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not self._tasks:
            self._idle.set()
        if task.cancelled():
            return
        if task.exception() is not None:
            self._is_open = False  # the group is ending, and takes no more tasks
            return
        self.wake()  # for what came, or what the limit allows, since the task last looked
