"""What happens to a Pod after a failed attempt: back to the queue, an event, a condition.

Source: pkg/scheduler/schedule_one.go (`handleSchedulingFailure`), v1.36.3.
"""

from collections.abc import Mapping
from typing import Final

from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import (
    AttemptResult,
    Effect,
    EventType,
    PatchPodCondition,
    PodReference,
    RecordEvent,
    ReportAttempt,
)
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import QueuedPodInfo, SchedulingQueue

UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULER_ERROR: Final = "SchedulerError"

_NOTE_LIMIT_BYTES: Final = 1024


def reference(pod: PodInfo) -> PodReference:
    """Name a Pod in an effect."""
    return PodReference(pod.namespace, pod.name, pod.uid)


def event_note(message: str) -> str:
    """Cut a message to what an event may hold: 1024 bytes, the last four " ...".

    Source: schedule_one.go (`truncateMessage`), v1.36.3; never cuts a character in two.
    """
    encoded = message.encode()
    if len(encoded) <= _NOTE_LIMIT_BYTES:
        return message
    return encoded[: _NOTE_LIMIT_BYTES - 4].decode(errors="ignore") + " ..."


class FailureHandler:
    """Puts Pods back and says why.

    `pending` has, by uid, the newest version of each Pod that is to be scheduled: one that is
    not there has been deleted or bound by somebody else, and there is nothing to retry.
    """

    def __init__(self, queue: SchedulingQueue, pending: Mapping[str, PodInfo]) -> None:
        self._queue = queue
        self._pending = pending

    def reject(
        self,
        queued: QueuedPodInfo,
        message: str,
        now: Now,
        *,
        unschedulable_plugins: frozenset[str],
        pending_plugins: frozenset[str] = frozenset(),
    ) -> list[Effect]:
        """Handle a Pod that plugins rejected; without a plugin it is retried after backoff."""
        newest = self._newest(queued)
        if newest is None:
            return []
        self._queue.put_back(
            queued,
            now,
            unschedulable_plugins=unschedulable_plugins,
            pending_plugins=pending_plugins,
            newest=newest,
        )
        return self._tell(queued, message, UNSCHEDULABLE, AttemptResult.UNSCHEDULABLE)

    def fail(
        self, queued: QueuedPodInfo, message: str, now: Now, *, node_name: str = ""
    ) -> list[Effect]:
        """Handle an attempt that went wrong: the Pod is retried after backoff."""
        newest = self._newest(queued)
        if newest is None:
            return []
        self._queue.put_back(queued, now, is_error=True, newest=newest)
        return self._tell(queued, message, SCHEDULER_ERROR, AttemptResult.ERROR, node_name)

    def _newest(self, queued: QueuedPodInfo) -> PodInfo | None:
        """Give the Pod as it is now; None, and the attempt is over, if it is on its way out."""
        newest = self._pending.get(queued.pod.uid)
        if newest is None or newest.is_terminating:
            self._queue.done(queued.pod.uid)
            return None
        return newest

    def _tell(
        self,
        queued: QueuedPodInfo,
        message: str,
        reason: str,
        result: AttemptResult,
        node_name: str = "",
    ) -> list[Effect]:
        pod = queued.pod
        effects: list[Effect] = [
            ReportAttempt(
                pod=reference(pod),
                scheduler_name=pod.scheduler_name,
                result=result,
                attempt=queued.attempts,
                message=message,
                node_name=node_name,
            ),
            failed_scheduling(pod, message),
        ]
        if pod.condition != (reason, message):
            effects.append(PatchPodCondition(reference(pod), reason, message))
        return effects


def failed_scheduling(pod: PodInfo, message: str) -> RecordEvent:
    """Give the event that users look for first."""
    return RecordEvent(
        pod=reference(pod),
        scheduler_name=pod.scheduler_name,
        type=EventType.WARNING,
        reason="FailedScheduling",
        action="Scheduling",
        note=event_note(message),
    )
