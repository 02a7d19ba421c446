"""Work for a value that changes: ended, and begun anew for the next."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

V = TypeVar("V")


class Following(Generic[V]):
    """Does `work` for the newest value; it never ends by itself, unless it fails.

    With no value, nothing is done.
    """

    def __init__(self, work: Callable[[V], Awaitable[None]]) -> None:
        self._work = work
        self._value: V | None = None
        self._has_changed = asyncio.Event()

    def set(self, value: V | None) -> None:
        """Say for what to work from now on; the same value again changes nothing."""
        if value != self._value:
            self._value = value
            self._has_changed.set()

    def begin_anew(self) -> None:
        """End the work for the same value, and begin it again."""
        self._has_changed.set()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            self._has_changed.clear()
            changed = asyncio.create_task(self._has_changed.wait())
            tasks: list[asyncio.Task[object]] = [changed]
            if self._value is not None:
                tasks.append(asyncio.create_task(_do(self._work, self._value)))
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done - {changed}:
                    task.result()
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)


async def _do(work: Callable[[V], Awaitable[None]], value: V) -> None:
    await work(value)
