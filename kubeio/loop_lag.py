"""How long the longest piece of work holds the event loop."""

import asyncio
import time
from typing import Final

from prometheus_client import Metric

from kubeio.instruments import Histogram
from kubeio.metric_table import LOOP_LAG_SECONDS

LAG_PROBE_SECONDS: Final = 0.1


class LoopLag:
    """Measures how late timers fire: how long the longest piece of work held the loop."""

    def __init__(self) -> None:
        self._histogram = Histogram(LOOP_LAG_SECONDS)
        self._series = self._histogram.series()

    async def run(self) -> None:
        """Probe until cancelled."""
        while True:
            due = time.monotonic() + LAG_PROBE_SECONDS
            await asyncio.sleep(LAG_PROBE_SECONDS)
            self._series.observe(max(time.monotonic() - due, 0.0))

    def collect(self) -> list[Metric]:
        """Give the histogram."""
        return [self._histogram.collect()]
