"""The scheduling cycle: one Pod, one decision.

Source: pkg/scheduler/schedule_one.go (`scheduleOnePod`, `schedulingCycle`), v1.36.3.
Differences: every Node is judged, and results outlive the cycle (`framework.evaluation`).
"""

from collections.abc import Callable
from zlib import crc32

import numpy as np

from scheduler_svc.core.binding_cycle import BindingCycle, BindingCycles
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.effects import Effect
from scheduler_svc.core.evictions import Evictions
from scheduler_svc.core.failure import FailureHandler, Rejectors, failed_scheduling, reference
from scheduler_svc.core.framework.class_cache import ClassCache
from scheduler_svc.core.framework.cluster_evaluation import ClassEvaluation
from scheduler_svc.core.framework.diagnosis import NO_NODES_TEXT, Diagnosis, diagnose
from scheduler_svc.core.framework.evaluation import INFEASIBLE, TotalArray
from scheduler_svc.core.framework.filtering import NodeGroup
from scheduler_svc.core.framework.nominated import (
    RespectedPods,
    ask_with_nominated,
    respected_pods,
)
from scheduler_svc.core.framework.post_filter import (
    FailedAttempt,
    PostFilterResult,
    run_post_filters,
)
from scheduler_svc.core.framework.prepared_class import PreparedClass
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.select import select_row
from scheduler_svc.core.framework.stopwatch import Stopwatch
from scheduler_svc.core.framework.verdict import totals_without
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import QueuedPodInfo, SchedulingQueue
from scheduler_svc.core.status import Code, Status

MAX_PERMIT_SECONDS = 15 * 60

# Told of a Pod, its class, all Nodes and the chosen row, before anything has changed by it.
Witness = Callable[[PodInfo, ClassEvaluation, NodeColumns, int], None]


class SchedulingCycle:
    """Decides Pods of one profile.

    `seed` settles ties; `instance` makes decision ids unique among schedulers. `witness` sees
    each choice of a Node.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        cache: Cache,
        queue: SchedulingQueue,
        bindings: BindingCycles,
        evictions: Evictions,
        failures: FailureHandler,
        seed: int,
        instance: str,
    ) -> None:
        self._profile = profile
        self._cache = cache
        self._queue = queue
        self._nominations = evictions.nominations
        self._nominator = evictions.nominations.nominator
        self._bindings = bindings
        self._evictions = evictions
        self._failures = failures
        self._seed = seed
        self._instance = instance
        self.witness: Witness | None = None
        self._decision_count = 0
        self.classes = ClassCache(profile, cache.cluster)

    def run(
        self, queued: QueuedPodInfo, now: Now, stopwatch: Stopwatch | None = None
    ) -> list[Effect]:
        """Try to give a popped Pod a Node."""
        pod = queued.pod
        if pod.is_terminating:
            self._queue.done(pod.uid)
            return [failed_scheduling(pod, f"skip schedule deleting pod: {pod.key}")]
        if self._cache.columns.node_count == 0:
            # Nobody rejected the Pod, so it is tried again after a backoff.
            nobody = Rejectors(frozenset())
            return self._failures.reject(queued, NO_NODES_TEXT, now, nobody, nomination="")
        evaluation = self.classes.evaluation(pod, stopwatch)
        failure = evaluation.prepared.failure()
        if failure is not None:
            return self._failures.fail(queued, failure.message, now)
        respected = respected_pods(pod, self._cache, self._nominator)
        row = self._choose(evaluation, pod, respected)
        if row is None:
            return self._fit_nowhere(queued, evaluation.prepared, respected, now)
        if self.witness is not None:
            self.witness(pod, evaluation, self._cache.columns, row)
        return self._assume(queued, row, now)

    def _choose(
        self, evaluation: ClassEvaluation, pod: PodInfo, respected: RespectedPods | None
    ) -> int | None:
        if evaluation.prepared.rejection is not None:
            return None
        totals = evaluation.totals
        if respected is not None:
            totals = self._leave_room(evaluation.prepared, totals, respected)
        # The Node where victims have been evicted for the Pod, say.
        own = self._cache.columns.rows.get(self._nominator.node_name_of(pod.uid))
        if own is not None and totals[own] != INFEASIBLE:
            return own
        # Without the rows that no Node has yet: most Pods would start there, and end at the first.
        known = totals[: len(self._cache.columns.infos)]
        return select_row(known, seed=self._seed, uid=pod.uid)

    def _leave_room(
        self, prepared: PreparedClass, totals: TotalArray, respected: RespectedPods
    ) -> TotalArray:
        """Leave out the Nodes where the Pod would take the room of nominated ones."""
        rows = respected.rows[totals[respected.rows] != INFEASIBLE]
        passed = ask_with_nominated(prepared.filters, respected, rows)
        if len(passed) == len(rows):
            return totals
        blocked = np.setdiff1d(rows, passed)
        return totals_without(prepared, self._cache.columns, totals, blocked)

    def _fit_nowhere(
        self,
        queued: QueuedPodInfo,
        prepared: PreparedClass,
        respected: RespectedPods | None,
        now: Now,
    ) -> list[Effect]:
        if prepared.rejection is not None and prepared.rejection.code is Code.ERROR:
            return self._failures.fail(queued, prepared.rejection.message, now)
        diagnosis = diagnose(prepared, self._cache.columns, respected)
        result = self._run_post_filter(queued, prepared, diagnosis, now)
        rejectors = Rejectors(diagnosis.unschedulable_plugins, diagnosis.pending_plugins)
        effects = list(result.effects)
        stays_in_flight = False
        if result.preemption is not None:
            begun, stays_in_flight = self._evictions.begin(
                queued, result.preemption, rejectors, now
            )
            effects += begun
        return effects + self._failures.reject(
            queued,
            diagnosis.fit_error(result.status.message),
            now,
            rejectors,
            nomination=result.nomination,
            stays_in_flight=stays_in_flight,
        )

    def _run_post_filter(
        self, queued: QueuedPodInfo, prepared: PreparedClass, diagnosis: Diagnosis, now: Now
    ) -> PostFilterResult:
        attempt = FailedAttempt(
            pod=queued.pod,
            prepared=prepared,
            diagnosis=diagnosis,
            cache=self._cache,
            nominator=self._nominator,
            now=now,
            evicted_uids=self._evictions.evicted_uids,
            seed=crc32(f"{queued.pod.uid}/{queued.attempts}".encode(), self._seed),
        )
        return run_post_filters(self._profile.post_filter, attempt)

    def _assume(self, queued: QueuedPodInfo, row: int, now: Now) -> list[Effect]:
        pod, profile = queued.pod, self._profile
        node_name = self._cache.columns.names[row]
        self._cache.assume(pod, row)
        self._nominations.end(pod, now, placed_on=node_name)
        for reserving in profile.reserve:
            status = reserving.reserve(pod, node_name, self._cache.cluster)
            if status.code is not Code.SUCCESS:
                return self._turn_away(queued, row, status, "Reserve", reserving.name, now)
        permits: dict[str, float] = {}
        for permitting in profile.permit:
            status, wait_seconds = permitting.permit(pod, node_name)
            if status.code is Code.WAIT:
                wait_seconds = min(wait_seconds, MAX_PERMIT_SECONDS)
                permits[permitting.name] = now.monotonic_seconds + wait_seconds
            elif status.code is not Code.SUCCESS:
                return self._turn_away(queued, row, status, "Permit", permitting.name, now)
        self._decision_count += 1
        cycle = BindingCycle(
            queued=queued,
            reference=reference(pod),
            profile=profile,
            node_name=node_name,
            decision_id=f"{self._instance}-{self._decision_count:x}",
            decided_at=now,
            queue_wait_seconds=now.monotonic_seconds - queued.timestamp_seconds,
            permits=permits,
            pre_bind=list(profile.pre_bind),
        )
        return self._bindings.start(cycle, now)

    def _turn_away(
        self,
        queued: QueuedPodInfo,
        row: int,
        status: Status,
        point: str,
        plugin: str,
        now: Now,
    ) -> list[Effect]:
        """Undo a decision that a Reserve or Permit plugin did not accept."""
        pod, node_name = queued.pod, self._cache.columns.names[row]
        for reserving in reversed(self._profile.reserve):
            reserving.unreserve(pod, node_name, self._cache.cluster)
        self._cache.forget(pod.uid)
        if not status.code.is_rejected:
            text = f'running {point} plugin "{plugin}": {status.message}'
            return self._failures.fail(queued, text, now, node_name=node_name)
        group = NodeGroup(Status(status.code, status.reasons, plugin), np.array([row]))
        # One Node was looked at: the text speaks of that one, as upstream's.
        diagnosis = Diagnosis(node_count=1, groups=(group,))
        plugins = frozenset({plugin})
        is_pending = status.code is Code.PENDING
        rejectors = Rejectors(frozenset(), plugins) if is_pending else Rejectors(plugins)
        return self._failures.reject(queued, diagnosis.fit_error(), now, rejectors, nomination="")
