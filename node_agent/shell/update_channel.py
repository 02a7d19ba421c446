"""Lists on their way from the sources to the sync loop: bounded, in order, and measured."""

import asyncio
from collections.abc import Callable
from typing import Final

from prometheus_client import Metric

from kubeio.instruments import Histogram, gauge
from node_agent.core.events import PodsListed
from node_agent.shell import metric_table as table
from node_agent.shell.clock import read_monotonic_seconds

CAPACITY: Final = 50
"""As many as the kubelet's own channel of updates takes before its sources wait."""


class UpdateChannel:
    """A queue with one reader; a source that is ahead of it waits.

    Attributes
    ----------
    max_depth
        The most lists that ever waited.
    """

    def __init__(
        self,
        capacity: int = CAPACITY,
        *,
        clock: Callable[[], float] = read_monotonic_seconds,
    ) -> None:
        self._queue: asyncio.Queue[tuple[float, PodsListed]] = asyncio.Queue(capacity)
        self._clock = clock
        self._waits = Histogram(table.CHANNEL_WAIT_SECONDS)
        self._wait_series = self._waits.series()
        self.max_depth = 0

    def __len__(self) -> int:
        return self._queue.qsize()

    async def put(self, event: PodsListed) -> None:
        """Send a list; wait while the channel is full."""
        await self._queue.put((self._clock(), event))
        self.max_depth = max(self.max_depth, len(self))

    def take(self) -> PodsListed | None:
        """Give the oldest list, None if there is none."""
        try:
            return self._measured(self._queue.get_nowait())
        except asyncio.QueueEmpty:
            return None

    async def wait_and_take(self, timeout_seconds: float | None) -> PodsListed | None:
        """Wait for a list; None at the time-out, which may be None for never."""
        try:
            async with asyncio.timeout(timeout_seconds):
                return self._measured(await self._queue.get())
        except TimeoutError:
            return None

    def collect(self) -> list[Metric]:
        """Give the metrics."""
        return [
            gauge(table.CHANNEL_DEPTH, [((), len(self))]),
            gauge(table.CHANNEL_MAX_DEPTH, [((), self.max_depth)]),
            self._waits.collect(),
        ]

    def _measured(self, sent: tuple[float, PodsListed]) -> PodsListed:
        sent_at, event = sent
        self._wait_series.observe(self._clock() - sent_at)
        return event
