"""Whether a Pod may enter the queue: the PreEnqueue plugins of its profile, asked.

Source: pkg/scheduler/backend/queue/scheduling_queue.go (`runPreEnqueuePlugins`), v1.36.3.
Difference: the plugin that gates a Pod already is not asked before the others.
"""

from collections.abc import Mapping
from typing import Final

from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.stopwatch import Measuring, timed
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import Gate
from scheduler_svc.core.status import Code

MEASURED_ENTRIES: Final = 10
"""One Pod in so many is measured."""


class PreEnqueueCheck:
    """Asks the plugins of `profiles`, by scheduler name; `measuring` is told how long it takes."""

    def __init__(self, profiles: Mapping[str, Profile], measuring: Measuring | None = None) -> None:
        self._profiles = profiles
        self._measuring = measuring
        self._entry_count = 0

    def __call__(self, pod: PodInfo) -> Gate | None:
        """Give the first refusal; None if the Pod may enter."""
        stopwatch, gate = None, None
        self._entry_count += 1
        if self._entry_count % MEASURED_ENTRIES == 0 and self._measuring is not None:
            stopwatch = self._measuring.begin(pod.scheduler_name)
        for plugin in self._profiles[pod.scheduler_name].pre_enqueue:
            if stopwatch is None:
                status = plugin.pre_enqueue(pod)
            else:
                status = timed(stopwatch, "PreEnqueue", plugin.name, plugin.pre_enqueue, pod)
            if status.code is not Code.SUCCESS:
                gate = Gate(plugin.name, status.message)
                break
        if stopwatch is not None:
            stopwatch.finish()
        return gate
