"""The binding cycle: what follows the decision, while other Pods are being decided.

::

    start ─▶ waiting on Permit ─▶ PreBind, plugin by plugin ─▶ Bind ─▶ bound: PostBind
                   │ rejected,          │ error,                │ refused
                   │ time-out           │ time-out              │
                   └────────────────────┴───────────────────────┴─▶ Unreserve, forget, put back

Nothing is awaited: work for the outside is an effect, its outcome an event, and what must
not take for ever has a deadline. The queue logs events for a Pod until it has passed
Permit, so that a rejection there misses nothing.

Work that is under way cannot be called back: what it writes may come to be at any time. So
a Pod that is to go no further meanwhile (deleted, preempted, too late) is undone once the
work has its outcome, and keeps until then what is set aside for it.

Source: pkg/scheduler/schedule_one.go (`runBindingCycle`, `handleBindingCycleError`) and
framework/runtime/waiting_pods_map.go, v1.36.3. Differences: PreBind plugins run one after
another; no Pod waits for a Node that is gone.
"""

import msgspec

from scheduler_svc.core.awaited_objects import AwaitedObjects
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.cluster_objects import ObjectName
from scheduler_svc.core.deadlines import Deadlines
from scheduler_svc.core.effects import (
    Effect,
    EventType,
    RecordEvent,
    ReportBound,
    RunPreBind,
    WithdrawPreBind,
)
from scheduler_svc.core.events import BindFailed, BindFailure, PermitDecided, PreBindFinished
from scheduler_svc.core.extenders import Extenders
from scheduler_svc.core.failure import FailureHandler, Rejectors
from scheduler_svc.core.framework.cluster_events import ASSIGNED_POD_DELETE
from scheduler_svc.core.framework.interface import PreBindPlugin, PreBindWork
from scheduler_svc.core.framework.stopwatch import Stopwatch, timed
from scheduler_svc.core.pod_binding import BindingCycle, binding, deadlines, undo_work, waited
from scheduler_svc.core.queue import SchedulingQueue
from scheduler_svc.core.status import SKIP, Code


class BindingCycles:
    """All Pods that have a Node and are not bound yet, by uid.

    `evicted_uids` are Pods that are evicted for others and still take their room;
    `released_count` counts those that have been turned back.
    """

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        failures: FailureHandler,
        extenders: Extenders,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._failures = failures
        self._extenders = extenders
        self._cycles: dict[str, BindingCycle] = {}
        # Only those that wait for somebody: most Pods never do.
        self._waiting: dict[str, BindingCycle] = {}
        self._deadlines = Deadlines(self._is_due)
        self._awaited = AwaitedObjects()
        self.evicted_uids: set[str] = set()
        self.released_count = 0

    def __len__(self) -> int:
        return len(self._cycles)

    def start(
        self, cycle: BindingCycle, now: Now, stopwatch: Stopwatch | None = None
    ) -> list[Effect]:
        """Take over a Pod that is assumed and reserved."""
        uid = cycle.queued.pod.uid
        self._cycles[uid] = cycle
        if cycle.permits:
            self._wait(cycle)
            return self._announce(cycle)
        self._queue.done(uid)
        return self._advance(cycle, now, stopwatch)

    def _advance(
        self, cycle: BindingCycle, now: Now, stopwatch: Stopwatch | None = None
    ) -> list[Effect]:
        pod, cluster = cycle.queued.pod, self._cache.cluster
        for plugin in cycle.profile.pre_bind[cycle.asked_count :]:
            cycle.asked_count += 1
            if stopwatch is None:
                answer = plugin.pre_bind(pod, cycle.node_name, cluster)
            else:
                point, ask = "PreBindPreFlight", plugin.pre_bind
                answer = timed(stopwatch, point, plugin.name, ask, pod, cycle.node_name, cluster)
            if answer is SKIP:
                continue
            if isinstance(answer, PreBindWork):
                cycle.working = plugin
                cycle.work_begun_at_seconds = now.monotonic_seconds
                cycle.work_deadline_seconds = now.monotonic_seconds + answer.timeout_seconds
                cycle.work_timeout_error = answer.timeout_error
                cycle.is_at_work = True
                self._wait(cycle)
                work = RunPreBind(cycle.reference, plugin.name, cycle.node_name, answer.payload)
                return [*self._announce(cycle), work]
            if answer.code not in (Code.SUCCESS, Code.SKIP):
                text = f'running PreBind plugin "{plugin.name}": {answer.message}'
                return self._undo(cycle, text, now)
        return self._bind(cycle, now)

    def _wait(self, cycle: BindingCycle) -> None:
        uid = cycle.queued.pod.uid
        self._waiting[uid] = cycle
        for seconds in deadlines(cycle):
            self._deadlines.add(uid, seconds)

    def _is_due(self, uid: str, seconds: float) -> bool:
        cycle = self._waiting.get(uid)
        return cycle is not None and seconds in deadlines(cycle)

    def _bind(self, cycle: BindingCycle, now: Now) -> list[Effect]:
        pod = cycle.queued.pod
        extender = self._extenders.binder(pod)
        if extender is not None:
            return [binding(cycle, extender.number)]
        for plugin in cycle.profile.bind:
            status = plugin.bind(pod, cycle.node_name)
            if status.code is Code.SKIP:
                continue
            if status.code is not Code.SUCCESS:
                text = f'running Bind plugin "{plugin.name}": {status.message}'
                return self._undo(cycle, text, now)
            cycle.binder = plugin.name
            return [binding(cycle)]
        return self._undo(cycle, "no Bind plugin took the Pod", now)

    def _announce(self, cycle: BindingCycle) -> list[Effect]:
        """Show where the Pod is going, since that takes a while: autoscalers want to know."""
        if cycle.is_announced:
            return []
        cycle.is_announced = True
        return self._failures.announce(cycle.queued.pod, cycle.node_name)

    def decide_permit(self, event: PermitDecided, now: Now) -> list[Effect]:
        """Take in a plugin's word on a Pod that waits."""
        cycle = self._waiting.get(event.uid)
        if cycle is None or event.plugin not in cycle.permits:
            return []
        if event.rejection:
            return self._reject(cycle, event.rejection, event.plugin, now)
        del cycle.permits[event.plugin]
        if cycle.permits:
            return []
        del self._waiting[event.uid]
        self._queue.done(event.uid)
        return [waited(cycle, Code.SUCCESS, now), *self._advance(cycle, now)]

    def finish_pre_bind(self, event: PreBindFinished, now: Now) -> list[Effect]:
        """Take in the outcome of a plugin's outside work."""
        cycle = self._waiting.get(event.uid)
        if cycle is None or cycle.working is None or cycle.working.name != event.plugin:
            return []
        cycle.is_at_work = False
        if cycle.ending is not None:
            if not event.error:
                # What has been written is so, whatever becomes of the Pod: the plugin must know.
                pod, cluster = cycle.queued.pod, self._cache.cluster
                cycle.working.pre_bind_progress(pod, cycle.node_name, cluster)
            return self._undo(cycle, cycle.ending, now)
        if event.error:
            return self._undo(cycle, f'running PreBind plugin "{event.plugin}": {event.error}', now)
        return self._progress(cycle, cycle.working, now)

    def review(self, changed: ObjectName, now: Now) -> list[Effect]:
        """Ask again, since an object has changed, whether what Pods wait for is done."""
        concerned = [self._waiting[uid] for uid in self._awaited.concerned(changed)]
        effects: list[Effect] = []
        for cycle, plugin in [(c, c.working) for c in concerned if c.working is not None]:
            effects += self._progress(cycle, plugin, now)
        return effects

    def leave_node(self, name: str, now: Now) -> list[Effect]:
        """Turn back the Pods that wait to go to a Node that is gone."""
        effects: list[Effect] = []
        for cycle in [c for c in self._waiting.values() if c.node_name == name]:
            effects += self._undo(cycle, f'node "{name}" not found', now)
        return effects

    def _progress(self, cycle: BindingCycle, plugin: PreBindPlugin, now: Now) -> list[Effect]:
        pod = cycle.queued.pod
        cluster = self._cache.cluster
        status = plugin.pre_bind_progress(pod, cycle.node_name, cluster)
        if status.code is Code.WAIT:
            self._awaited.add(pod.uid, plugin.awaited_objects(pod, cycle.node_name, cluster))
            return []
        del self._waiting[pod.uid]
        self._awaited.discard(pod.uid)
        if status.code is not Code.SUCCESS:
            text = f'running PreBind plugin "{plugin.name}": {status.message}'
            return self._undo(cycle, text, now)
        done = waited(cycle, Code.SUCCESS, now)
        cycle.working, cycle.work_deadline_seconds = None, None
        return [done, *self._advance(cycle, now)]

    def succeed(self, uid: str, now: Now) -> list[Effect]:
        """Take in that the Pod is bound."""
        cycle = self._cycles.pop(uid, None)
        if cycle is None:
            return []
        pod, queued = cycle.queued.pod, cycle.queued
        for plugin in cycle.profile.post_bind:
            plugin.post_bind(pod, cycle.node_name)
        first_attempt = queued.initial_attempt_timestamp_seconds
        since = cycle.decided_at.monotonic_seconds if first_attempt is None else first_attempt
        return [
            ReportBound(
                pod=cycle.reference,
                scheduler_name=cycle.profile.scheduler_name,
                node_name=cycle.node_name,
                attempt=queued.attempts,
                sli_seconds=now.monotonic_seconds - since,
                binding_seconds=now.monotonic_seconds - cycle.decided_at.monotonic_seconds,
                after_flush=queued.flushed,
                attempt_seconds=now.monotonic_seconds - queued.popped_at_seconds,
            ),
            RecordEvent(
                pod=cycle.reference,
                scheduler_name=cycle.profile.scheduler_name,
                type=EventType.NORMAL,
                reason="Scheduled",
                action="Binding",
                note=f"Successfully assigned {pod.key} to {cycle.node_name}",
            ),
        ]

    def fail(self, event: BindFailed, now: Now) -> list[Effect]:
        """Take in that the Pod was not bound by us."""
        cycle = self._cycles.get(event.uid)
        if cycle is None:
            return []
        if event.failure in (BindFailure.GONE, BindFailure.BOUND_ELSEWHERE):
            # Nothing to retry: the watch tells of the Pod's end, or of its other Node.
            undone = undo_work(cycle)
            self._release(cycle, now)
            return undone
        text = event.message
        if not event.by_extender:
            text = f'running Bind plugin "{cycle.binder}": {text}'
        return self._undo(cycle, text, now)

    def delete(self, uid: str, now: Now) -> list[Effect]:
        """Take in that the Pod is gone, on its way, or another's: it goes no further if it waits.

        It must not be known as pending any more, or as one that is being deleted.
        """
        cycle = self._waiting.get(uid)
        if cycle is None:
            return []
        self._queue.done(uid)
        return self._undo(cycle, "the pod is no longer to be scheduled", now)

    def preempt(self, uid: str, plugin: str, now: Now) -> list[Effect] | None:
        """Turn away a Pod that waits on Permit or for its PreBind; None if it does neither."""
        cycle = self._waiting.get(uid)
        if cycle is None:
            return None
        if cycle.is_at_work:
            self.evicted_uids.add(uid)
        if cycle.working is None:
            return self._undo(cycle, "preempted", now)
        text = f'running PreBind plugin "{cycle.working.name}": preempted by {plugin}'
        return self._undo(cycle, text, now)

    def expire(self, now: Now) -> list[Effect]:
        """End what has waited for too long."""
        effects: list[Effect] = []
        for uid in self._deadlines.take_due(now.monotonic_seconds):
            cycle = self._waiting.get(uid)
            if cycle is not None:
                effects += self._expire(cycle, now)
        return effects

    def _expire(self, cycle: BindingCycle, now: Now) -> list[Effect]:
        since_seconds = cycle.decided_at.monotonic_seconds
        for plugin, deadline_seconds in cycle.permits.items():
            if deadline_seconds <= now.monotonic_seconds:
                # As long as it may wait, not as it has: the same text for every attempt.
                limit = f"{deadline_seconds - since_seconds:g}s"
                text = f"rejected due to timeout after waiting {limit} at plugin {plugin}"
                return self._reject(cycle, text, plugin, now)
        deadline = cycle.work_deadline_seconds
        if cycle.working and deadline is not None and deadline <= now.monotonic_seconds:
            waited = f"{now.monotonic_seconds - since_seconds:g}s"
            error = cycle.work_timeout_error or f"no outcome after {waited}"
            text = f'running PreBind plugin "{cycle.working.name}": {error}'
            return self._undo(cycle, text, now)
        return []

    def next_deadline(self) -> float | None:
        """Give the monotonic second at which `expire` will have something to do."""
        return self._deadlines.earliest()

    def _reject(self, cycle: BindingCycle, text: str, plugin: str, now: Now) -> list[Effect]:
        """A rejection at Permit: the plugin is remembered, so its events bring the Pod back."""
        rejectors = Rejectors(frozenset({plugin}))
        effects = self._failures.reject(cycle.queued, text, now, rejectors, nomination="")
        # Upstream, too, tells the others only after this Pod has been put back.
        self._release(cycle, now)
        return [waited(cycle, Code.UNSCHEDULABLE, now, text), *effects]

    def _undo(self, cycle: BindingCycle, text: str, now: Now) -> list[Effect]:
        if cycle.is_at_work and cycle.working is not None:
            return self._end_after(cycle, cycle.working, text)
        undone = undo_work(cycle)
        if cycle.waits:
            code = Code.UNSCHEDULABLE if cycle.working is None else Code.ERROR
            undone.insert(0, waited(cycle, code, now, text))
        self._release(cycle, now)
        failed = self._failures.fail(cycle.queued, text, now, node_name=cycle.node_name)
        return [*undone, *failed]

    def _end_after(self, cycle: BindingCycle, working: PreBindPlugin, text: str) -> list[Effect]:
        """Have a Pod undone once the work under way has its outcome; the first reason counts."""
        if cycle.ending is not None:
            return []
        cycle.ending, cycle.work_deadline_seconds = text, None
        return [WithdrawPreBind(cycle.reference, working.name)]

    def _release(self, cycle: BindingCycle, now: Now) -> None:
        pod = cycle.queued.pod
        self.released_count += 1
        self._cycles.pop(pod.uid, None)
        self._waiting.pop(pod.uid, None)
        self._awaited.discard(pod.uid)
        self.evicted_uids.discard(pod.uid)
        for plugin in reversed(cycle.profile.reserve):
            plugin.unreserve(pod, cycle.node_name, self._cache.cluster)
        self._cache.forget(pod.uid)
        # Its room is free again, and what was set aside, as if it had been deleted from the Node.
        placed = msgspec.structs.replace(pod, node_name=cycle.node_name)
        self._queue.move_on_event(
            ASSIGNED_POD_DELETE, placed, None, now, eligible=lambda other: other.uid != pod.uid
        )
