"""How long plugins take, of one attempt in ten, as kube-scheduler samples them.

A plugin is asked only about Nodes that have changed since it was last asked for the same
kind of Pod, so most attempts take a fraction of what the first of a kind takes. Waits and
queueing hints are measured always. Difference: upstream measures whole extension points of
every attempt; here their counts, too, are a tenth of the attempts.
"""

import time
from collections.abc import Sequence
from typing import Final

from prometheus_client import Metric

from kubeio.instruments import Histogram, HistogramSeries
from scheduler_svc.core.effects import BindPod, ReportWait
from scheduler_svc.core.framework.stopwatch import SUCCEEDED, PointStopwatch, Stopwatch
from scheduler_svc.core.status import Code
from scheduler_svc.shell.metrics import plugin_metric_table as table
from scheduler_svc.shell.metrics.binding_wait_metrics import BindingWaitMetrics

SAMPLE: Final = 10
"""One attempt in so many is measured: 15 plugins and two clock readings each are 5 µs."""
_SKIPPED: Final = Code.SKIP.text
_PRE_FLIGHT: Final = "PreBindPreFlight"


class _Notes:
    """A stopwatch, and what was noted: parts of one plugin and point add up."""

    def __init__(self, metrics: "PluginMetrics", profile: str = "") -> None:
        self._metrics = metrics
        self._profile = profile
        self._seconds: dict[tuple[str, str], float] = {}
        self._statuses: dict[tuple[str, str], str] = {}

    def read(self) -> float:
        """Give seconds (`Stopwatch`)."""
        return time.perf_counter()

    def note(
        self, extension_point: str, plugin: str, seconds: float, status: str = SUCCEEDED
    ) -> None:
        """Take a measurement (`Stopwatch`)."""
        key = (extension_point, plugin)
        self._seconds[key] = self._seconds.get(key, 0.0) + seconds
        self._statuses[key] = status

    def finish(self) -> None:
        """Observe what was noted, under the profile (`PointStopwatch`)."""
        self.observe(self._profile)

    def observe(self, profile: str) -> None:
        """Observe what was noted."""
        points: dict[str, float] = {}
        statuses: dict[str, list[str]] = {}
        for (point, plugin), seconds in self._seconds.items():
            status = self._statuses[point, plugin]
            self._metrics.observe_plugin(plugin, point, status, seconds)
            points[point] = points.get(point, 0.0) + seconds
            statuses.setdefault(point, []).append(status)
        for point, seconds in points.items():
            status = _status_of(point, statuses[point])
            self._metrics.observe_point(point, status, profile, seconds)


class PluginMetrics:
    """Lends its stopwatch to some attempts, and keeps what it told (`Measuring`)."""

    def __init__(self) -> None:
        self.waits = BindingWaitMetrics()
        self._points = Histogram(table.EXTENSION_POINT_SECONDS)
        self._plugins = Histogram(table.PLUGIN_SECONDS)
        self._hints = Histogram(table.HINT_SECONDS)
        self._hint_series: dict[tuple[str, str, str], HistogramSeries] = {}
        self._attempt_count = 0
        self._attempt: _Notes | None = None

    def stopwatch(self) -> Stopwatch | None:
        """Give the stopwatch for the next attempt, if that is to be measured."""
        self._attempt_count += 1
        self._attempt = None if self._attempt_count % SAMPLE else _Notes(self)
        return self._attempt

    def attempted(self, profile: str) -> None:
        """Observe what the last attempt noted, if it was measured."""
        if self._attempt is not None:
            self._attempt.observe(profile)
            self._attempt = None

    def begin(self, profile: str) -> PointStopwatch:
        """Give a stopwatch for a point outside of attempts (`Measuring`)."""
        return _Notes(self, profile)

    def read(self) -> float:
        """Give seconds (`Measuring`)."""
        return time.perf_counter()

    def note_hint(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        """Take how long a queueing hint took (`Measuring`). Cost: 0.3 µs."""
        labels = (plugin, event, hint)
        series = self._hint_series.get(labels)
        if series is None:
            series = self._hint_series[labels] = self._hints.series(labels)
        series.observe(seconds)

    def bound(self, effect: BindPod, seconds: float, status: str = SUCCEEDED) -> None:
        """Note how long a Bind plugin took, up to the API server's answer."""
        self.observe_plugin(effect.plugin, "Bind", status, seconds)
        self.observe_point("Bind", status, effect.scheduler_name, seconds)

    def waited(self, effect: ReportWait) -> None:
        """Note a wait in the binding cycle."""
        self.waits.waited(effect)
        if effect.plugin:
            point, status = effect.extension_point, effect.status
            self.observe_plugin(effect.plugin, point, status, effect.seconds)
            self.observe_point(point, status, effect.scheduler_name, effect.seconds)

    def observe_plugin(self, plugin: str, point: str, status: str, seconds: float) -> None:
        """Note how long a plugin took."""
        self._plugins.series((plugin, point, status)).observe(seconds)

    def observe_point(self, point: str, status: str, profile: str, seconds: float) -> None:
        """Note how long all plugins of a point took."""
        self._points.series((point, status, profile)).observe(seconds)

    def collect(self) -> list[Metric]:
        """Give all families."""
        own = [family.collect() for family in (self._points, self._plugins, self._hints)]
        return own + self.waits.collect()


def _status_of(point: str, statuses: Sequence[str]) -> str:
    """Give a point's status: what was not Success, for kube-scheduler stops there."""
    for status in statuses:
        if status not in (SUCCEEDED, _SKIPPED):
            return status
    is_skipped = point == _PRE_FLIGHT and SUCCEEDED not in statuses
    return _SKIPPED if is_skipped else SUCCEEDED
