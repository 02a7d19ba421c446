"""The metrics of Pods that wait in their binding cycle: on Permit, for volumes and for devices.

Source: pkg/scheduler/framework/runtime/framework.go (`WaitOnPermit`), plugins/dynamicresources/
dynamicresources.go (`PreBind`) and plugins/volumebinding/binder.go, v1.36.3.
"""

from collections.abc import Callable
from typing import Final

import msgspec
from prometheus_client import Metric

from kubeio.instruments import Counter, Histogram
from scheduler_svc.core.devices.writes import BindClaims
from scheduler_svc.core.effects import ReportWait, RunPreBind
from scheduler_svc.core.events import PreBindFinished
from scheduler_svc.core.status import Code
from scheduler_svc.shell.clock import read_monotonic_seconds
from scheduler_svc.shell.metrics import plugin_metric_table as table

_DEVICES: Final = "DynamicResources"
_VOLUMES: Final = "VolumeBinding"
# Of Pods that are deleted meanwhile nothing more is told.
_REMEMBERED_COUNT: Final = 4096
_ENDS: Final = (
    ("device binding timeout", "timeout"),
    ("device binding failed", "failure"),
)


class _Awaited(msgspec.Struct):
    """The devices of a Pod, and since which second, when all was written, they are awaited."""

    work: BindClaims
    since_seconds: float | None = None


class BindingWaitMetrics:
    """Counts and times waits; most Pods have none."""

    def __init__(self, *, clock: Callable[[], float] = read_monotonic_seconds) -> None:
        self._clock = clock
        self._permit_seconds = Histogram(table.PERMIT_WAIT_SECONDS)
        self._device_seconds = Histogram(table.DEVICE_WAIT_SECONDS)
        self._device_allocations = Counter(table.DEVICE_ALLOCATIONS)
        self._volume_errors = Counter(table.VOLUME_ERRORS)
        self._awaited: dict[str, _Awaited] = {}

    def begun(self, effect: RunPreBind) -> None:
        """Note that a plugin's work begins."""
        work = effect.payload
        if isinstance(work, BindClaims) and work.awaited_drivers:
            self._awaited[effect.pod.uid] = _Awaited(work)
            if len(self._awaited) > _REMEMBERED_COUNT:
                del self._awaited[next(iter(self._awaited))]

    def written(self, event: PreBindFinished) -> None:
        """Note that the work is done: from now on others are waited for."""
        awaited = self._awaited.get(event.uid)
        if awaited is not None:
            awaited.since_seconds = self._clock()

    def waited(self, effect: ReportWait) -> None:
        """Note the end of a wait."""
        if effect.extension_point == "Permit":
            self._permit_seconds.series((effect.status,)).observe(effect.seconds)
        elif effect.plugin == _DEVICES:
            self._end_devices(effect)
        elif effect.plugin == _VOLUMES and effect.status != Code.SUCCESS.text:
            self._volume_errors.add(("bind",))

    def _end_devices(self, effect: ReportWait) -> None:
        awaited = self._awaited.pop(effect.pod.uid, None)
        if awaited is None or awaited.since_seconds is None:
            return
        seconds = self._clock() - awaited.since_seconds
        end = _device_end(effect)
        for driver in awaited.work.drivers:
            self._device_seconds.series((effect.scheduler_name, driver, end)).observe(seconds)
        for driver in awaited.work.awaited_drivers:
            self._device_allocations.add((effect.scheduler_name, driver, end))

    def collect(self) -> list[Metric]:
        """Give all families."""
        return [
            family.collect()
            for family in (
                self._permit_seconds,
                self._device_seconds,
                self._device_allocations,
                self._volume_errors,
            )
        ]


def _device_end(effect: ReportWait) -> str:
    """Give upstream's word for how the wait for devices has ended."""
    if effect.status == Code.SUCCESS.text:
        return "success"
    return next((end for text, end in _ENDS if text in effect.message), "error")
