"""DefaultPreemption: evicts less important Pods where that makes room for one that fits nowhere.

Source: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go and
pkg/scheduler/framework/preemption/preemption.go, v1.36.3. Differences: the nomination that
counts is the one in memory, which may be ahead of the Pod's status; and a Pod whose victims are
being evicted stays in flight in the queue, so nothing that happens meanwhile is missed, where
upstream has PreEnqueue refuse it ("waiting for the preemption for this pod to be finished").
Who finds nobody to evict is also called by what would have stood in the way of a preemption.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.cluster_objects import ObjectKind, ObjectStore
from scheduler_svc.core.framework.cluster_events import EventRegistration
from scheduler_svc.core.framework.diagnosis import Diagnosis
from scheduler_svc.core.framework.interface import EnqueueExtensions, PreEnqueuePlugin
from scheduler_svc.core.framework.post_filter import (
    FailedAttempt,
    PostFilterPlugin,
    PostFilterResult,
    Preemption,
    report_preemption,
)
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.preemption import Budgets, Search, choose, is_leaving
from scheduler_svc.core.status import SUCCESS, Code, Status

NEVER: Final = "not eligible due to preemptionPolicy=Never."
NO_NODES: Final = "no nodes available"
WAITING: Final = "not eligible due to a terminating pod on the nominated node."
_NOT_HELPFUL: Final = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("Preemption is not helpful for scheduling",)
)


class DefaultPreemption(PostFilterPlugin, PreEnqueuePlugin, EnqueueExtensions):
    """Looks at so many Nodes that there are enough candidates, and picks the best.

    `min_candidate_nodes_percentage` of the Nodes that may be helped are enough, and
    `min_candidate_nodes_absolute` at least.
    """

    name = "DefaultPreemption"

    def __init__(
        self,
        *,
        min_candidate_nodes_percentage: int = 10,
        min_candidate_nodes_absolute: int = 100,
    ) -> None:
        self._percentage = min_candidate_nodes_percentage
        self._absolute = min_candidate_nodes_absolute
        self._budgets = Budgets(())
        self._budgets_of: tuple[ObjectStore, int] | None = None

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Let every Pod in: one whose victims are being evicted is not out of the queue's hands."""
        del pod
        return SUCCESS

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Wait for nothing: the filters that rejected the Pod know what may help."""
        return ()

    def post_filter(self, attempt: FailedAttempt) -> PostFilterResult:
        """Give the victims, or why there are none; O(Pods on the Nodes that are searched).

        Where extenders have a say it gives the candidates, and Wait.
        """
        result = self._preempt(attempt)
        if result.status.code is Code.WAIT:
            return result
        report = report_preemption(attempt.pod, result.preemption)
        return msgspec.structs.replace(result, effects=(report,))

    def _preempt(self, attempt: FailedAttempt) -> PostFilterResult:
        reason = _ineligibility(attempt)
        if reason:
            return PostFilterResult(Status(Code.UNSCHEDULABLE, (f"preemption: {reason}",)))
        columns = attempt.cache.columns
        if columns.node_count == 0:
            return PostFilterResult(Status(Code.ERROR, (f"preemption: {NO_NODES}",)))
        rows = attempt.diagnosis.rows_with(Code.UNSCHEDULABLE, columns)
        search = Search(attempt, self._current_budgets(attempt))
        found = search.run(_rotated(rows, attempt.seed), self._wanted_count(len(rows)))
        # A Filter may have come upon something odd where evictions let it look for the first time.
        failure = attempt.prepared.failure()
        errors = [*found.errors, *(() if failure is None else (failure.message,))]
        if not found.candidates and errors:
            text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
            return PostFilterResult(Status(Code.ERROR, (f"preemption: {text}",)))
        if not found.candidates:
            diagnosis = Diagnosis(columns.node_count, tuple(found.groups), _NOT_HELPFUL)
            text = f"preemption: {diagnosis.fit_error()}"
            rejectors = frozenset(g.status.plugin for g in found.groups if g.status.plugin)
            return PostFilterResult(
                Status(Code.UNSCHEDULABLE, (text,)), nomination="", rejectors=rejectors
            )
        if attempt.extenders:
            candidates = tuple(
                Preemption(columns.names[c.row], c.victims, c.violation_count)
                for c in found.candidates
            )
            return PostFilterResult(Status(Code.WAIT), candidates=candidates)
        chosen = choose(found.candidates)
        node_name = columns.names[chosen.row]
        return PostFilterResult(SUCCESS, node_name, Preemption(node_name, chosen.victims))

    def _wanted_count(self, node_count: int) -> int:
        wanted = max(node_count * self._percentage // 100, self._absolute)
        return max(min(wanted, node_count), 1)

    def _current_budgets(self, attempt: FailedAttempt) -> Budgets:
        store = attempt.cache.cluster.objects[ObjectKind.POD_DISRUPTION_BUDGET]
        if self._budgets_of != (store, store.version):
            self._budgets = Budgets(store.by_key.values())
            self._budgets_of = (store, store.version)
        return self._budgets


def _ineligibility(attempt: FailedAttempt) -> str:
    """Say why the Pod may evict nobody now; "" if it may."""
    pod = attempt.pod
    if not pod.shape.may_preempt:
        return NEVER
    columns, node_name = attempt.cache.columns, attempt.nominator.node_name_of(pod.uid)
    if not columns.has_node(node_name):
        return ""
    row = columns.rows[node_name]
    if attempt.diagnosis.status_of(row).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return ""
    leaving = any(
        cached.pod.priority < pod.priority and is_leaving(cached.pod, attempt.evicted_uids)
        for cached in attempt.cache.pods_on(row)
    )
    return WAITING if leaving else ""


def _rotated(rows: RowArray, seed: int) -> RowArray:
    """Begin somewhere else each time, so that no Node's Pods are always the victims."""
    return np.roll(rows, -(seed % len(rows))) if len(rows) else rows
