"""The scheduling cycle: one Pod, one decision.

Source: pkg/scheduler/schedule_one.go (`scheduleOnePod`, `schedulingCycle`), v1.36.3.
Differences: every Node is judged, and results outlive the cycle (`framework.evaluation`).
"""

from zlib import crc32

import numpy as np

from scheduler_svc.core.binding_cycle import BindingCycle, BindingCycles
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import Effect
from scheduler_svc.core.failure import FailureHandler, failed_scheduling, reference
from scheduler_svc.core.framework.class_cache import ClassCache
from scheduler_svc.core.framework.cluster_evaluation import ClassEvaluation
from scheduler_svc.core.framework.diagnosis import NO_NODES_TEXT, Diagnosis, NodeGroup, diagnose
from scheduler_svc.core.framework.evaluation import INFEASIBLE
from scheduler_svc.core.framework.post_filter import (
    FailedAttempt,
    PostFilterResult,
    run_post_filters,
)
from scheduler_svc.core.framework.prepared_class import PreparedClass
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.select import select_row
from scheduler_svc.core.framework.stopwatch import Stopwatch
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import QueuedPodInfo, SchedulingQueue
from scheduler_svc.core.status import Code, Status

MAX_PERMIT_SECONDS = 15 * 60


class SchedulingCycle:
    """Decides Pods of one profile.

    `seed` settles ties; `instance` makes decision ids unique among schedulers.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        cache: Cache,
        queue: SchedulingQueue,
        nominator: Nominator,
        bindings: BindingCycles,
        failures: FailureHandler,
        seed: int,
        instance: str,
    ) -> None:
        self._profile = profile
        self._cache = cache
        self._queue = queue
        self._nominator = nominator
        self._bindings = bindings
        self._failures = failures
        self._seed = seed
        self._instance = instance
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
            return self._failures.reject(
                queued, NO_NODES_TEXT, now, unschedulable_plugins=frozenset()
            )
        evaluation = self.classes.evaluation(pod, stopwatch)
        failure = evaluation.prepared.failure()
        if failure is not None:
            return self._failures.fail(queued, failure.message, now)
        row = self._choose(evaluation, pod)
        if row is None:
            return self._fit_nowhere(queued, evaluation, now)
        return self._assume(queued, row, now)

    def _choose(self, evaluation: ClassEvaluation, pod: PodInfo) -> int | None:
        totals = evaluation.totals
        if evaluation.prepared.rejection is not None:
            return None
        if pod.nominated_node_name:
            row = self._cache.columns.rows.get(pod.nominated_node_name)
            if row is not None and totals[row] != INFEASIBLE:
                return row
        # Without the rows that no Node has yet: most Pods would start there, and end at the first.
        known = totals[: len(self._cache.columns.infos)]
        return select_row(known, seed=self._seed, uid=pod.uid)

    def _fit_nowhere(
        self, queued: QueuedPodInfo, evaluation: ClassEvaluation, now: Now
    ) -> list[Effect]:
        rejection = evaluation.prepared.rejection
        if rejection is not None and rejection.code is Code.ERROR:
            return self._failures.fail(queued, rejection.message, now)
        diagnosis = diagnose(evaluation.prepared, self._cache.columns)
        result = self._run_post_filter(queued, evaluation.prepared, diagnosis, now)
        effects = self._failures.reject(
            queued,
            diagnosis.fit_error(result.status.message),
            now,
            unschedulable_plugins=diagnosis.unschedulable_plugins,
            pending_plugins=diagnosis.pending_plugins,
        )
        return [*result.effects, *effects]

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
            seed=crc32(f"{queued.pod.uid}/{queued.attempts}".encode(), self._seed),
        )
        return run_post_filters(self._profile.post_filter, attempt)

    def _assume(self, queued: QueuedPodInfo, row: int, now: Now) -> list[Effect]:
        pod, profile = queued.pod, self._profile
        node_name = self._cache.columns.names[row]
        self._cache.assume(pod, row)
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
        is_pending = status.code is Code.PENDING
        return self._failures.reject(
            queued,
            diagnosis.fit_error(),
            now,
            unschedulable_plugins=frozenset() if is_pending else frozenset({plugin}),
            pending_plugins=frozenset({plugin}) if is_pending else frozenset(),
        )
