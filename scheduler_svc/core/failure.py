"""What happens to a Pod after a failed attempt: back to the queue, an event, a condition.

Source: pkg/scheduler/schedule_one.go (`handleSchedulingFailure`), v1.36.3.
"""

from collections.abc import Collection, MutableMapping
from typing import Final

import msgspec

from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import (
    AttemptResult,
    Effect,
    EventType,
    PatchNomination,
    PatchPodCondition,
    PodReference,
    RecordEvent,
    ReportAttempt,
)
from scheduler_svc.core.nominations import Nominations
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import QueuedPodInfo, SchedulingQueue
from scheduler_svc.core.unserved import UnservedPods

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


class Rejectors(msgspec.Struct, frozen=True):
    """The plugins that rejected a Pod, and those among them in whose hands it is pending."""

    unschedulable: frozenset[str]
    pending: frozenset[str] = frozenset()


class FailureHandler:
    """Puts Pods back and says why.

    `pending` has, by uid, the newest version of each Pod that is to be scheduled: one that is
    not there has been deleted or bound by somebody else, and there is nothing to retry. One of
    a scheduler name that is not among those `served` any more goes to `unserved`.
    """

    def __init__(
        self,
        queue: SchedulingQueue,
        nominations: Nominations,
        pending: MutableMapping[str, PodInfo],
        served: Collection[str],
        unserved: UnservedPods,
    ) -> None:
        self._queue = queue
        self._nominations = nominations
        self._pending = pending
        self._served = served
        self._unserved = unserved

    def reject(
        self,
        queued: QueuedPodInfo,
        message: str,
        now: Now,
        rejectors: Rejectors,
        *,
        nomination: str | None = None,
        stays_in_flight: bool = False,
    ) -> list[Effect]:
        """Handle a Pod that plugins rejected; without a plugin it is retried after backoff.

        `nomination` is the Node it may hope for now, "" for none, None to leave it as it is.
        A Pod that stays in flight is put back by the caller (`put_back`).
        """
        newest = self._newest(queued)
        if newest is None:
            return []
        if newest.scheduler_name not in self._served:
            self._queue.done(newest.uid)
            return self.dismiss(newest, now)
        if not stays_in_flight:
            self._put_back(queued, newest, rejectors, now)
        told = _Told(message, UNSCHEDULABLE, AttemptResult.UNSCHEDULABLE)
        return self._tell(queued, newest, told, nomination, now)

    def announce(self, pod: PodInfo, node_name: str) -> list[Effect]:
        """Show in a Pod's status where it is going."""
        if not self._nominations.ask(pod, node_name):
            return []
        return [PatchNomination(reference(pod), node_name)]

    def put_back(self, queued: QueuedPodInfo, rejectors: Rejectors | None, now: Now) -> None:
        """Put back a Pod that stayed in flight: rejected, or None after something went wrong."""
        newest = self._newest(queued)
        if newest is not None:
            self._put_back(queued, newest, rejectors, now)

    def retry(self, uid: str, now: Now) -> None:
        """Try a Pod again at once, wherever it waits."""
        self._queue.activate((uid,), now)

    def fail(
        self, queued: QueuedPodInfo, message: str, now: Now, *, node_name: str = ""
    ) -> list[Effect]:
        """Handle an attempt that went wrong: the Pod is retried after backoff."""
        newest = self._newest(queued)
        if newest is None:
            return []
        if newest.scheduler_name not in self._served:
            self._queue.done(newest.uid)
            return self.dismiss(newest, now)
        self._put_back(queued, newest, None, now)
        told = _Told(message, SCHEDULER_ERROR, AttemptResult.ERROR, node_name)
        return self._tell(queued, newest, told, "", now)

    def dismiss(self, pod: PodInfo, now: Now) -> list[Effect]:
        """Let go of a Pod whose profile is gone, wherever it waits, and say so."""
        del self._pending[pod.uid]
        self._queue.delete(pod.uid)
        self._unserved.note(pod)
        self._nominations.leave(pod, now)
        return [] if pod.is_terminating else [self._unserved.farewell(pod, self._served)]

    def _newest(self, queued: QueuedPodInfo) -> PodInfo | None:
        """Give the Pod as it is now; None, and the attempt is over, if it is on its way out."""
        newest = self._pending.get(queued.pod.uid)
        if newest is None or newest.is_terminating:
            self._queue.done(queued.pod.uid)
            return None
        return newest

    def _put_back(
        self, queued: QueuedPodInfo, newest: PodInfo, rejectors: Rejectors | None, now: Now
    ) -> None:
        if rejectors is None:
            self._queue.put_back(queued, now, is_error=True, newest=newest)
            return
        self._queue.put_back(
            queued,
            now,
            unschedulable_plugins=rejectors.unschedulable,
            pending_plugins=rejectors.pending,
            newest=newest,
        )

    def _tell(
        self,
        queued: QueuedPodInfo,
        newest: PodInfo,
        told: "_Told",
        nomination: str | None,
        now: Now,
    ) -> list[Effect]:
        effects: list[Effect] = [
            ReportAttempt(
                pod=reference(newest),
                scheduler_name=newest.scheduler_name,
                result=told.result,
                attempt=queued.attempts,
                message=told.message,
                node_name=told.node_name,
                begun_at_seconds=queued.popped_at_seconds,
            ),
            failed_scheduling(newest, told.message),
        ]
        if nomination is not None:
            former = self._nominations.set(newest, nomination, now)
            if not self._nominations.ask(newest, nomination) and former == nomination:
                nomination = None
        if queued.ask_condition((told.reason, told.message), newest):
            patch = PatchPodCondition(
                pod=reference(newest),
                reason=told.reason,
                message=told.message,
                nominated_node_name=nomination,
                generation=newest.generation,
                is_transition=newest.condition is None,
            )
            effects.append(patch)
        elif nomination is not None:
            effects.append(PatchNomination(reference(newest), nomination))
        return effects


class _Told(msgspec.Struct, frozen=True):
    """What users are told of an attempt: in an event, the condition and the metrics."""

    message: str
    reason: str
    result: AttemptResult
    node_name: str = ""


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
