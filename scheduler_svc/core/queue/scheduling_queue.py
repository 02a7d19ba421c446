"""The scheduling queue: the one door to the places where a pending Pod can be.

::

    add ─▶ PreEnqueue ─────▶ active ◀───────────── backoff over ─────┐
              │ refused        │ pop                                 │
              ▼                ▼                                     │
            gated ◀─┐      in flight ─▶ done                      backoff ─▶ pop, if active
              │     │          │ put_back                            ▲       is empty
       event, │     │          ├─ error, or missed an event ─────────┤       (no errors)
    5 minutes ▼     │          ▼                                     │ yes
        PreEnqueue ─┘    unschedulable ─ event, 5 minutes ─ backing off? ─ no ─▶ active

Invariants (`validate`): a Pod is in exactly one place; a gated Pod is never popped; for
every Pod outside of active there is something that will move it: the end of its backoff,
an event, the 5 minutes, or the end of its attempt.

Nothing here reads a clock: the caller passes the time, which never goes back. Methods
cost O(log n), those that move Pods cost that for each Pod that the move is about.

Source: pkg/scheduler/backend/queue/scheduling_queue.go, v1.36.3. Differences: no
locks; an event visits only the Pods that its registrants rejected; gated Pods, too,
are asked again after 5 minutes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from scheduler_svc.core.clock import Now
from scheduler_svc.core.errors import InvariantError
from scheduler_svc.core.framework.cluster_events import (
    FORCE_ACTIVATE,
    PROFILE_CHANGE,
    SCHEDULE_ATTEMPT_FAILURE,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_UPDATE,
    ClusterEvent,
    Occurrence,
)
from scheduler_svc.core.framework.stopwatch import Measuring
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue.active_queue import ActiveQueue, QueueSortKey
from scheduler_svc.core.queue.backoff_queue import BackoffQueue
from scheduler_svc.core.queue.hints import QueueingHints, QueueingStrategy, Registrations
from scheduler_svc.core.queue.in_flight import InFlight
from scheduler_svc.core.queue.queued_pod import Place, QueuedPodInfo
from scheduler_svc.core.queue.unschedulable_pods import RejectorKey, UnschedulablePods
from scheduler_svc.core.queue.waiting_pods import PreEnqueue, WaitingPods


class QueueStatistics(msgspec.Struct, frozen=True):
    """How many Pods are where, how many events are logged, and who rejected how many Pods.

    `unschedulable_count` is without the gated Pods. `in_flight_events` is by event label,
    `rejected_counts` by scheduler name and plugin, without the Pods in flight.
    """

    active_count: int
    backoff_count: int
    unschedulable_count: int
    gated_count: int
    in_flight_count: int
    in_flight_events: Mapping[str, int]
    rejected_counts: Mapping[RejectorKey, int]


class SchedulingQueue:
    """All pending Pods of our profiles, and whose turn it is.

    Parameters
    ----------
    sort_key
        The QueueSort plugin: (Pod, monotonic second of its entry) to a tuple; the
        smallest is popped first, equals by arrival.
    pre_enqueue
        The PreEnqueue plugins of the Pod's profile: None, or the first refusal.
    registrations
        By scheduler name and plugin, the events that may undo its rejections. A plugin
        that is not named is taken to want every event.
    initial_backoff_seconds, max_backoff_seconds
        Backoff doubles from the one to the other; a maximum of 0 switches it off.
    max_in_unschedulable_seconds
        After this time a Pod is tried again though no event has called it.
    measuring
        Is told how long each hint takes.

    Attributes
    ----------
    hints
        Its `drain_results` and `drain_errors` tell what the plugins' hints answered.
    """

    def __init__(
        self,
        *,
        sort_key: QueueSortKey,
        pre_enqueue: PreEnqueue,
        registrations: Registrations,
        initial_backoff_seconds: float = 1,
        max_backoff_seconds: float = 10,
        max_in_unschedulable_seconds: float = 300,
        measuring: Measuring | None = None,
    ) -> None:
        self.hints = QueueingHints(registrations, measuring=measuring)
        self._backoff = BackoffQueue(
            sort_key, initial_seconds=initial_backoff_seconds, max_seconds=max_backoff_seconds
        )
        self._pool = UnschedulablePods(max_seconds=max_in_unschedulable_seconds)
        self._waiting = WaitingPods(
            ActiveQueue(sort_key),
            self._backoff,
            self._pool,
            pre_enqueue=pre_enqueue,
            hints=self.hints,
        )
        self._in_flight = InFlight()
        self._sequence = 0

    def add(self, pod: PodInfo, now: Now) -> None:
        """Take in a new pending Pod. One that is known already only gets its newest version."""
        if not self._replace(pod):
            self._enter(pod, UNSCHEDULED_POD_ADD.label, now)

    def update(
        self, old: PodInfo, new: PodInfo, now: Now, *, events: Sequence[ClusterEvent]
    ) -> None:
        """Take in a change of a pending Pod that is not assumed.

        `events` says what has changed, as specific as possible (`UNSCHEDULED_POD_UPDATE` if
        nothing specific): a Pod that waits for an event may be called by it. An
        unknown Pod is taken in; an unchanged resourceVersion is no change.
        """
        if old.resource_version == new.resource_version:
            return
        if not self._replace(new):
            self._enter(new, UNSCHEDULED_POD_UPDATE.label, now)
            return
        for event in events:
            occurrence = Occurrence(event, old, new, new.uid)
            if new.uid in self._in_flight:
                self._in_flight.record(occurrence)
            elif (queued := self._pool.get(new.uid)) is not None:
                self._call(queued, occurrence, now)

    def delete(self, uid: str) -> None:
        """Forget a Pod that is gone, or bound by someone else.

        One in flight stays so until its attempt ends, and does not come back from it.
        """
        if not self._in_flight.mark_deleted(uid):
            self._waiting.remove(uid)

    def move_on_event(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        now: Now,
        *,
        eligible: Callable[[PodInfo], bool] | None = None,
    ) -> int:
        """Call the Pods that an event may help, and log it for those in flight.

        `old` and `new` are the object before and after, for the hints. `eligible` restricts
        the call to some of the waiting Pods. A wildcard calls all but the gated Pods.
        An event that no plugin registered costs one look-up.

        Returns
        -------
        int
            How many Pods were moved to active or backoff.
        """
        if not len(self._pool) and not len(self._in_flight):
            return 0
        keys = self.hints.interest(event).keys
        if not keys and not event.is_wildcard:
            return 0
        occurrence = Occurrence(event, old, new)
        moved_count = sum(
            self._call(queued, occurrence, now)
            for queued in self._pool.called_by(
                event, keys, partial(self.hints.concerns, occurrence)
            )
            if eligible is None or eligible(queued.pod)
        )
        self._in_flight.record(occurrence)
        return moved_count

    def pop(self, now: Now) -> QueuedPodInfo | None:
        """Give the Pod to be tried next; it is in flight until `done` or `put_back`.

        Pods whose backoff is over are moved to active first. If active is empty it is the
        first of the rejected Pods that back off still; None if there is none either.
        """
        self._waiting.complete_backoff(now.monotonic_seconds)
        queued = self._waiting.pop()
        if queued is not None:
            queued.attempts += 1
            queued.popped_at_seconds = now.monotonic_seconds
            self._in_flight.start(queued.pod)
        return queued

    def take(self, uids: Iterable[str], now: Now) -> list[QueuedPodInfo]:
        """Give those of the Pods that wait, to be tried with the one popped last.

        Wherever they wait, but not those that are gated. They are in flight as that one is.
        """
        taken = [queued for uid in uids if (queued := self._waiting.take(uid)) is not None]
        for queued in taken:
            queued.attempts += 1
            queued.popped_at_seconds = now.monotonic_seconds
            self._in_flight.start(queued.pod)
        return taken

    def recheck(self, uids: Iterable[str], plugin: str, cause: str, now: Now, *, also: str) -> None:
        """Call those of the Pods that wait for one plugin alone, gated by it or rejected.

        Those that were rejected as `also`, too, whoever else rejected them.
        """
        for uid in uids:
            queued = self._pool.get(uid)
            if queued is None:
                continue
            is_alone = queued.gating_plugin == plugin or queued.rejectors == {plugin}
            if is_alone or (also in queued.rejectors and not queued.is_gated):
                self._waiting.activate(uid, cause, now.monotonic_seconds)

    def done(self, uid: str) -> None:
        """Note that events no longer matter to the attempt: it is binding, or is dropped."""
        self._in_flight.finish(uid)

    def put_back(
        self,
        queued: QueuedPodInfo,
        now: Now,
        *,
        unschedulable_plugins: Iterable[str] = (),
        pending_plugins: Iterable[str] = (),
        is_error: bool = False,
        newest: PodInfo | None = None,
    ) -> Place | None:
        """Take back a Pod after a failed attempt.

        With an error, or without anyone who rejected it, the Pod is tried again after a
        backoff. Else it waits for an event that its rejectors registered, unless
        there was one during the attempt. After `done` no events were logged for
        the Pod, so it is tried again after a backoff, too.

        The Pod comes back in its `newest` version if that is given, else in that of the
        last `update`. So it must be given by a caller that passes no updates of assumed Pods.

        Returns
        -------
        Place
            Where the Pod is now; None if it was deleted during the attempt.

        Notes
        -----
        The caller must not put back a Pod that was deleted after `done`.
        Source: scheduling_queue.go `AddUnschedulableIfNotPresent`, v1.36.3.
        """
        uid = queued.pod.uid
        attempt = self._in_flight.get(uid)
        if attempt is None and (place := self._waiting.place_of(uid)) is not None:
            return place
        missed = self._in_flight.events_since_start(uid)
        self._in_flight.finish(uid)
        if attempt is not None:
            if attempt.is_deleted:
                return None
            queued.pod = attempt.pod
        queued.pod = newest or queued.pod
        if is_error:
            unschedulable_plugins = pending_plugins = ()
        self._waiting.set_rejectors(
            queued, unschedulable_plugins=unschedulable_plugins, pending_plugins=pending_plugins
        )
        self._note_failure(queued, now)
        strategy = QueueingStrategy.AFTER_BACKOFF
        if attempt is not None:
            strategy = self.hints.replay(queued, missed)
        return self._waiting.requeue(
            queued, strategy, SCHEDULE_ATTEMPT_FAILURE, now.monotonic_seconds
        )

    def activate(self, uids: Iterable[str], now: Now) -> None:
        """Move Pods to active at once, even those that back off; unknown ones are ignored.

        A Pod in flight will not wait for an event when it comes back.
        """
        for uid in uids:
            if uid in self._in_flight:
                self._in_flight.record(Occurrence(FORCE_ACTIVATE, uid=uid))
            else:
                self._waiting.activate(uid, FORCE_ACTIVATE.label, now.monotonic_seconds)

    def rejudge(self, uids: Iterable[str], now: Now) -> None:
        """Have Pods judged by a profile that has changed, as if nobody had rejected them yet.

        Each passes PreEnqueue again; of its history the attempts and times are kept. A Pod in
        flight will not wait for an event when it comes back.
        """
        for uid in uids:
            queued = self._waiting.get(uid)
            if uid in self._in_flight:
                self._in_flight.record(Occurrence(PROFILE_CHANGE, uid=uid))
            elif queued is not None:
                self._waiting.remove(uid)
                self._waiting.set_rejectors(queued)
                strategy, cause = QueueingStrategy.IMMEDIATELY, PROFILE_CHANGE.label
                self._waiting.requeue(queued, strategy, cause, now.monotonic_seconds)

    def flush(self, now: Now) -> None:
        """Move the Pods whose backoff is over, and those in the pool for too long.

        The latter are looked at every 30 s; gated ones among them are asked again.
        """
        self._waiting.complete_backoff(now.monotonic_seconds)
        self._waiting.flush_pool(now.monotonic_seconds)

    def next_deadline(self) -> float | None:
        """Give the monotonic second at which `flush` will have something to do."""
        return self._waiting.next_deadline()

    def get(self, uid: str) -> QueuedPodInfo | None:
        """Find a waiting Pod, with its history; those in flight are in the caller's hands."""
        return self._waiting.get(uid)

    def place_of(self, uid: str) -> Place | None:
        """Say where a Pod is; None if it is unknown."""
        return Place.IN_FLIGHT if uid in self._in_flight else self._waiting.place_of(uid)

    def statistics(self) -> QueueStatistics:
        """Count. Cost: O(labels), not O(Pods)."""
        gated_count = self._pool.gated_count
        return QueueStatistics(
            active_count=len(self._waiting.active),
            backoff_count=len(self._backoff),
            unschedulable_count=len(self._pool) - gated_count,
            gated_count=gated_count,
            in_flight_count=len(self._in_flight),
            in_flight_events=dict(self._in_flight.event_counts),
            rejected_counts=dict(self._waiting.rejected),
        )

    def drain_incoming(self) -> Mapping[tuple[str, str], int]:
        """Give the number of moves since the last call, by (queue, event label)."""
        return self._waiting.drain_incoming()

    def validate(self) -> None:
        """Raise `InvariantError` if a Pod is in two places, or a place is at odds with itself.

        Cost: O(Pods).
        """
        self._waiting.validate()
        if fault := self._in_flight.find_fault():
            raise InvariantError(fault)
        seen: set[str] = set(self._in_flight)
        for queued in self._waiting:
            if queued.pod.uid in seen:
                raise InvariantError(f"{queued.pod.key} is in two places")
            seen.add(queued.pod.uid)

    def _enter(self, pod: PodInfo, cause: str, now: Now) -> None:
        self._sequence += 1
        queued = QueuedPodInfo(pod, self._sequence, now.monotonic_seconds)
        self._waiting.requeue(queued, QueueingStrategy.IMMEDIATELY, cause, now.monotonic_seconds)

    def _replace(self, pod: PodInfo) -> bool:
        return self._in_flight.replace(pod) or self._waiting.replace(pod)

    def _call(self, queued: QueuedPodInfo, occurrence: Occurrence, now: Now) -> bool:
        """Let an event move a Pod out of the pool; say whether it did."""
        strategy = self.hints.strategy(queued, occurrence)
        if strategy is QueueingStrategy.SKIP:
            return False
        self._pool.remove(queued.pod.uid)
        cause, seconds = occurrence.event.label, now.monotonic_seconds
        return self._waiting.requeue(queued, strategy, cause, seconds) is not Place.GATED

    def _note_failure(self, queued: QueuedPodInfo, now: Now) -> None:
        if queued.rejectors:
            queued.unschedulable_count += 1
            queued.consecutive_errors_count = 0
        else:
            queued.consecutive_errors_count += 1
        self._sequence += 1
        queued.sequence = self._sequence
        queued.timestamp_seconds = now.monotonic_seconds
        queued.backoff_expiration_seconds = self._backoff.expiration_seconds(queued)
        queued.flushed = False
