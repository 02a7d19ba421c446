"""How long plugins take, of one attempt in ten, as kube-scheduler samples them.

A plugin is asked only about Nodes that have changed since it was last asked for the same
kind of Pod, so most attempts take a fraction of what the first of a kind takes.
"""

import time
from typing import Final

from prometheus_client import Metric

from kubeio.instruments import Histogram
from scheduler_svc.core.framework.stopwatch import Stopwatch
from scheduler_svc.shell import plugin_metric_table as table

SAMPLE: Final = 10
"""One attempt in so many is measured: 15 plugins and two clock readings each are 5 µs."""
_SUCCESS: Final = "Success"


class PluginMetrics:
    """Lends its stopwatch to some attempts, and keeps what it told."""

    def __init__(self) -> None:
        self._points = Histogram(table.EXTENSION_POINT_SECONDS)
        self._plugins = Histogram(table.PLUGIN_SECONDS)
        self._attempt_count = 0
        self._notes: dict[tuple[str, str], float] = {}

    def stopwatch(self) -> Stopwatch | None:
        """Give the stopwatch for the next attempt, if that is to be measured."""
        self._attempt_count += 1
        return None if self._attempt_count % SAMPLE else self

    def read(self) -> float:
        """Give seconds (`Stopwatch`)."""
        return time.perf_counter()

    def note(self, extension_point: str, plugin: str, seconds: float) -> None:
        """Take a measurement (`Stopwatch`)."""
        key = (extension_point, plugin)
        self._notes[key] = self._notes.get(key, 0.0) + seconds

    def attempted(self, profile: str) -> None:
        """Observe what the last attempt noted, if it was measured."""
        if not self._notes:
            return
        points: dict[str, float] = {}
        for (point, plugin), seconds in self._notes.items():
            self._plugins.series((plugin, point, _SUCCESS)).observe(seconds)
            points[point] = points.get(point, 0.0) + seconds
        for point, seconds in points.items():
            self._points.series((point, _SUCCESS, profile)).observe(seconds)
        self._notes = {}

    def collect(self) -> list[Metric]:
        """Give both families."""
        return [self._points.collect(), self._plugins.collect()]
