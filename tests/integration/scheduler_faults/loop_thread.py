"""An event loop in a thread of its own: what must go on while a test waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")

ANSWER_SECONDS = 60.0


class LoopThread:
    """Runs coroutines for tests that are written without any."""

    def __init__(self) -> None:
        self._started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=self._run, name="event loop of a test")

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.result(ANSWER_SECONDS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        loop, stop = self._started.result()
        loop.call_soon_threadsafe(stop.set)
        self._thread.join(ANSWER_SECONDS)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end; give what it gives."""
        loop, _ = self._started.result()
        return asyncio.run_coroutine_threadsafe(work, loop).result(ANSWER_SECONDS)

    def call(self, function: Callable[[], T]) -> T:
        """Call a function where the loop's objects may be touched."""

        async def call() -> T:
            return function()

        return self.run(call())

    def _run(self) -> None:
        async def wait_for_end() -> None:
            stop = asyncio.Event()
            self._started.set_result((asyncio.get_running_loop(), stop))
            await stop.wait()

        asyncio.run(wait_for_end())
