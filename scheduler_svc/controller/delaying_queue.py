"""What is to be looked at: each key once, after a moment of quiet, a few at the same time.

What client-go calls a delaying, rate limiting work queue.

A group of fifty Pods that start gives hundreds of changes in a second. A key waits until
nothing new has come for `quiet_seconds`, but never longer than `longest_seconds`; while it is
worked on it is not worked on again, and what came meanwhile counts for the next time.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, NamedTuple, TypeVar
from zlib import crc32

from kubeio.backoff import Backoff, Jitter
from kubeio.errors import KubeError

K = TypeVar("K", bound=Hashable)

QUIET_SECONDS: Final = 0.25
LONGEST_SECONDS: Final = 1.0
CONCURRENCY: Final = 8
FIRST_RETRY_SECONDS: Final = 0.5
LONGEST_RETRY_SECONDS: Final = 60.0

_logger = logging.getLogger(__name__)

Work = Callable[[K, float], Awaitable[float | None]]
"""Looks at a key, which changed first at a time (monotonic seconds); gives in how many seconds
to look again, None if only after a change. A `KubeError` means: again, after a while."""


class _Waiting(NamedTuple):
    """When the key changed first, and what will make it ready."""

    since: float
    timer: asyncio.TimerHandle


class DelayingQueue(Generic[K]):
    """Keys on their way to `work`.

    Parameters
    ----------
    on_error
        Is told of each failure.
    seed
        Of the jitter of retries.
    """

    def __init__(
        self,
        work: Work[K],
        *,
        on_error: Callable[[K, KubeError], None],
        seed: int,
        quiet_seconds: float = QUIET_SECONDS,
        longest_seconds: float = LONGEST_SECONDS,
        concurrency: int = CONCURRENCY,
    ) -> None:
        self._work = work
        self._on_error = on_error
        self._seed = seed
        self._quiet_seconds = quiet_seconds
        self._longest_seconds = longest_seconds
        self._concurrency = concurrency
        self._waiting: dict[K, _Waiting] = {}
        self._ready: deque[K] = deque()
        self._ready_since: dict[K, float] = {}
        self._busy: set[K] = set()
        self._backoffs: dict[K, Backoff] = {}
        self._bell = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_open = False

    def __len__(self) -> int:
        return len(self._waiting) + len(self._ready_since) + len(self._busy)

    async def wait_idle(self) -> None:
        """Wait until nothing is being looked at; after `close` it stays so."""
        await self._idle.wait()

    def put(self, key: K) -> None:
        """Note that a key has changed."""
        if key in self._ready_since:
            return
        now = time.monotonic()
        known = self._waiting.get(key)
        since = now if known is None else known.since
        due_seconds = min(self._quiet_seconds, max(since + self._longest_seconds - now, 0.0))
        self._wait(key, since, due_seconds)

    def open(self) -> None:
        """Begin to work; until then keys are only noted."""
        self._is_open = True
        self._bell.set()

    def close(self) -> None:
        """Begin with nothing more, until it is opened again."""
        self._is_open = False

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._concurrency):
                    group.create_task(self._worker())
        finally:
            for waiting in self._waiting.values():
                waiting.timer.cancel()

    def _wait(self, key: K, since: float, seconds: float) -> None:
        known = self._waiting.get(key)
        if known is not None:
            known.timer.cancel()
        timer = asyncio.get_running_loop().call_later(seconds, self._make_ready, key)
        self._waiting[key] = _Waiting(since, timer)

    def _make_ready(self, key: K) -> None:
        since = self._waiting.pop(key).since
        if key in self._busy:  # it is looked at again when that is done
            self._wait(key, since, self._quiet_seconds)
            return
        self._ready_since[key] = since
        self._ready.append(key)
        self._bell.set()

    async def _worker(self) -> None:
        while True:
            while not (self._is_open and self._ready):
                self._bell.clear()
                await self._bell.wait()
            key = self._ready.popleft()
            since = self._ready_since.pop(key)
            self._busy.add(key)
            self._idle.clear()
            try:
                await self._do(key, since)
            finally:
                self._busy.discard(key)
                if not self._busy:
                    self._idle.set()

    async def _do(self, key: K, since: float) -> None:
        try:
            again_seconds = await self._work(key, since)
        except KubeError as error:
            self._on_error(key, error)
            self._retry(key, since, error.retry_after_seconds)
            return
        self._backoffs.pop(key, None)
        if again_seconds is not None and key not in self._waiting:
            self._wait(key, time.monotonic(), again_seconds)

    def _retry(self, key: K, since: float, retry_after_seconds: float | None) -> None:
        backoff = self._backoffs.get(key)
        if backoff is None:
            seed = self._seed ^ crc32(repr(key).encode())
            backoff = self._backoffs[key] = Backoff(
                Jitter(seed),
                first_seconds=FIRST_RETRY_SECONDS,
                limit_seconds=LONGEST_RETRY_SECONDS,
            )
        delay_seconds = backoff.next_delay(retry_after_seconds)
        _logger.debug("Looking again: key=%s in_seconds=%.1f", key, delay_seconds)
        self._wait(key, since, delay_seconds)
