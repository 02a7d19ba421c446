"""The scheduling cycle: one Pod, one decision.

Source: pkg/scheduler/schedule_one.go (`scheduleOnePod`, `schedulingCycle`), v1.36.3.
Differences: every Node is judged, and results outlive the cycle (`framework.evaluation`).
"""

from collections.abc import Callable
from zlib import crc32

import msgspec
import numpy as np

from scheduler_svc.core.binding_cycle import BindingCycles
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.consultation import Consultation
from scheduler_svc.core.effects import AskExtenders, Effect
from scheduler_svc.core.events import ExtendersAnswered, VictimsAnswered
from scheduler_svc.core.evictions import Evictions
from scheduler_svc.core.failure import FailureHandler, Rejectors, failed_scheduling
from scheduler_svc.core.framework.class_cache import ClassCache
from scheduler_svc.core.framework.cluster_evaluation import ClassEvaluation
from scheduler_svc.core.framework.diagnosis import NO_NODES_TEXT, Diagnosis
from scheduler_svc.core.framework.evaluation import INFEASIBLE, TotalArray
from scheduler_svc.core.framework.nominated import (
    RespectedPods,
    ask_with_nominated,
    respected_pods,
)
from scheduler_svc.core.framework.post_filter import (
    FailedAttempt,
    PostFilterResult,
    resume_post_filters,
    run_post_filters,
)
from scheduler_svc.core.framework.prepared_class import PreparedClass
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.select import select_row
from scheduler_svc.core.framework.stopwatch import Stopwatch
from scheduler_svc.core.framework.verdict import totals_without
from scheduler_svc.core.parked import ParkedAttempt, ParkedPreemption
from scheduler_svc.core.placement import Placing, Refusal
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.preemption import AskedVictims
from scheduler_svc.core.queue import QueuedPodInfo, SchedulingQueue
from scheduler_svc.core.status import Code

# Told of a Pod, its class, all Nodes and the chosen row, before anything has changed by it.
Witness = Callable[[PodInfo, ClassEvaluation, NodeColumns, int], None]


class SchedulingCycle:
    """Decides Pods of one profile.

    `consultation` asks extenders, and has the seed that settles ties; `instance` makes decision
    ids unique among schedulers. `witness` sees each choice of a Node. An attempt that extenders
    have a say in ends in a question, and goes on when that is answered.
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
        consultation: Consultation,
        instance: str,
    ) -> None:
        self.profile = profile
        self._cache = cache
        self._queue = queue
        self._nominations = evictions.nominations
        self._nominator = evictions.nominations.nominator
        self._evictions = evictions
        self._failures = failures
        self._seed = consultation.seed
        self.placing = Placing(profile, cache, bindings, instance)
        self.witness: Witness | None = None
        self.classes = ClassCache(profile, cache.cluster)
        self._consultation = consultation
        self._extenders = consultation.extenders
        self._parked = consultation.parked

    def run(
        self, queued: QueuedPodInfo, now: Now, stopwatch: Stopwatch | None = None
    ) -> list[Effect]:
        """Try to give a popped Pod a Node."""
        pod = queued.pod
        if pod.is_terminating:
            self._queue.done(pod.uid)
            return [failed_scheduling(pod, f"skip schedule deleting pod: {pod.key}")]
        if self._cache.columns.node_count == 0:
            return self.fail_without_nodes(queued, now)
        deciding = self._extenders.deciding(pod)
        attempt = ParkedAttempt(queued, now, deciding, stopwatch=stopwatch)
        return self._decide(attempt, now, None)

    def resume(self, attempt: ParkedAttempt, answer: ExtendersAnswered, now: Now) -> list[Effect]:
        """Go on with what extenders say of the Nodes they were asked about."""
        if answer.error:
            return self._failures.fail(attempt.queued, answer.error, now)
        if self._cache.columns.node_count == 0:
            return self.fail_without_nodes(attempt.queued, now)
        return self._decide(attempt, now, answer)

    def fail_without_nodes(self, queued: QueuedPodInfo, now: Now) -> list[Effect]:
        """Put back a Pod for which there is no Node at all."""
        # Nobody rejected the Pod, so it is tried again after a backoff.
        nobody = Rejectors(frozenset())
        return self._failures.reject(queued, NO_NODES_TEXT, now, nobody, nomination="")

    def _decide(
        self, attempt: ParkedAttempt, now: Now, answer: ExtendersAnswered | None
    ) -> list[Effect]:
        """Choose a Node, by what is known now; or ask extenders about some."""
        queued, pod = attempt.queued, attempt.queued.pod
        outlook = self.look(pod, attempt.stopwatch)
        prepared, totals = outlook.evaluation.prepared, outlook.totals
        failure = prepared.failure() if totals is None else None
        if failure is not None:
            return self._failures.fail(queued, failure.message, now)
        row: int | None = None
        if totals is not None and attempt.extenders:
            chosen = self._consult(attempt, answer, prepared, totals)
            if isinstance(chosen, AskExtenders):
                return [chosen]
            row = chosen
        elif totals is not None:
            row = self.choose(totals, pod)
        elif answer is not None:
            attempt.take(answer)
        if row is None:
            return self._fit_nowhere(attempt, prepared, outlook.respected, now)
        if self.witness is not None:
            self.witness(pod, outlook.evaluation, self._cache.columns, row)
        return self._assume(attempt, row, now)

    def look(self, pod: PodInfo, stopwatch: Stopwatch | None) -> "Outlook":
        """Judge all Nodes for a Pod, and leave nominated Pods their room."""
        evaluation = self.classes.evaluation(pod, stopwatch)
        prepared, respected = evaluation.prepared, None
        if self._nominator.node_names:
            respected = respected_pods(pod, self._cache, self._nominator)
        if prepared.rejection is not None or prepared.failure() is not None:
            return Outlook(evaluation, respected, None)
        totals = evaluation.totals
        if respected is not None:
            totals = self._leave_room(prepared, totals, respected)
        return Outlook(evaluation, respected, totals)

    def _consult(
        self,
        attempt: ParkedAttempt,
        answer: ExtendersAnswered | None,
        prepared: PreparedClass,
        totals: TotalArray,
    ) -> AskExtenders | int | None:
        if answer is not None:
            row = self._consultation.choose(attempt, answer, prepared, totals)
            if row is not None:
                return row
            attempt.take(answer)
        return self._consultation.ask(attempt, totals)

    def choose(self, totals: TotalArray, pod: PodInfo) -> int | None:
        """Give the best row, or that of the Node the Pod is nominated to; None if none fits."""
        columns = self._cache.columns
        if pod.uid in self._nominator.node_names:
            # The Node where victims have been evicted for the Pod, say.
            own = columns.rows.get(self._nominator.node_names[pod.uid])
            if own is not None and totals[own] != INFEASIBLE:
                return own
        # Without the rows that no Node has yet: most Pods would start there, and end at the first.
        return select_row(totals[: len(columns.infos)], seed=self._seed, uid=pod.uid)

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
        attempt: ParkedAttempt,
        prepared: PreparedClass,
        respected: RespectedPods | None,
        now: Now,
    ) -> list[Effect]:
        queued = attempt.queued
        if prepared.rejection is not None and prepared.rejection.code is Code.ERROR:
            return self._failures.fail(queued, prepared.rejection.message, now)
        diagnosis = attempt.diagnose(prepared, self._cache.columns, respected)
        failed = self.failed_attempt(attempt, prepared, diagnosis, now)
        result = run_post_filters(self.profile.post_filter, failed)
        if result.status.code is not Code.WAIT:
            return self._reject(queued, diagnosis, result, now)
        victims = AskedVictims(result.candidates, failed.extenders)
        attempt.preemption = ParkedPreemption(prepared, diagnosis, result, victims)
        question = victims.question(queued.pod, self._parked.park(attempt))
        return [*result.effects, question]

    def resume_preemption(
        self, attempt: ParkedAttempt, answer: VictimsAnswered, now: Now
    ) -> list[Effect]:
        """Go on with what an extender says of the Pods that may be evicted."""
        queued, asked = attempt.queued, attempt.preemption
        if asked is None:
            return self._failures.fail(queued, "an extender was asked about Nodes", now)
        error = asked.victims.take(answer, self._cache)
        if not error and not asked.victims.is_settled():
            return [asked.victims.question(queued.pod, self._parked.park(attempt))]
        failed = self.failed_attempt(attempt, asked.prepared, asked.diagnosis, now)
        result = resume_post_filters(
            self.profile.post_filter,
            failed,
            asked.begun,
            asked.victims.result(queued.pod, self._cache, error),
        )
        return self._reject(queued, asked.diagnosis, result, now)

    def _reject(
        self, queued: QueuedPodInfo, diagnosis: Diagnosis, result: PostFilterResult, now: Now
    ) -> list[Effect]:
        """Have done what PostFilter wants, and put the Pod back."""
        unschedulable = diagnosis.unschedulable_plugins | result.rejectors
        rejectors = Rejectors(unschedulable, diagnosis.pending_plugins)
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

    def failed_attempt(
        self, attempt: ParkedAttempt, prepared: PreparedClass, diagnosis: Diagnosis, now: Now
    ) -> FailedAttempt:
        """Give what PostFilter plugins are to know of an attempt."""
        queued = attempt.queued
        return FailedAttempt(
            pod=queued.pod,
            prepared=prepared,
            diagnosis=diagnosis,
            cache=self._cache,
            nominator=self._nominator,
            now=now,
            evicted_uids=self._evictions.evicted_uids,
            seed=crc32(f"{queued.pod.uid}/{queued.attempts}".encode(), self._seed),
            extenders=self._extenders.preempting(queued.pod),
            stopwatch=attempt.stopwatch,
        )

    def _assume(self, attempt: ParkedAttempt, row: int, now: Now) -> list[Effect]:
        queued, pod = attempt.queued, attempt.queued.pod
        placed = self.placing.place(queued, row, now, attempt.stopwatch)
        self._nominations.end(pod, now, placed_on=self._cache.columns.names[row])
        if isinstance(placed, Refusal):
            return self._turn_away(placed, now)
        return self.placing.bind(placed, attempt.begun, now, attempt.stopwatch)

    def _turn_away(self, refusal: Refusal, now: Now) -> list[Effect]:
        """Put back a Pod that a Reserve or Permit plugin did not accept on its Node."""
        queued, status = refusal.queued, refusal.status
        if not status.code.is_rejected:
            node_name = self._cache.columns.names[refusal.row]
            return self._failures.fail(queued, refusal.error, now, node_name=node_name)
        diagnosis = refusal.diagnosis()
        return self._failures.reject(
            queued, diagnosis.fit_error(), now, refusal.rejectors(), nomination=""
        )


class Outlook(msgspec.Struct):
    """What all Nodes are to a Pod: `totals` is None where nothing can be said of them.

    Then a plugin has turned the class away, or failed; `evaluation.prepared` says which.
    """

    evaluation: ClassEvaluation
    respected: RespectedPods | None
    totals: TotalArray | None
