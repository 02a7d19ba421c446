"""A trial: the members of a group are put on Nodes one after the other, and can be taken off again.

Each is judged with those before it in place, by the same evaluations as any Pod. Of Pods alike
only the first that fits nowhere is asked why: what comes after it in the trial takes room and gives
none, but for rules that want Pods near or spread evenly, so those are asked again after others.

Source: pkg/scheduler/schedule_one_podgroup.go (`podGroupSchedulingDefaultAlgorithm`), v1.36.3.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.framework.diagnosis import Diagnosis, diagnose_all
from scheduler_svc.core.framework.evaluation import INFEASIBLE, TotalArray
from scheduler_svc.core.framework.profile import ClassKey
from scheduler_svc.core.framework.stopwatch import Stopwatch
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.placement import Placement, Refusal
from scheduler_svc.core.pod_groups.fullest import fullest_row
from scheduler_svc.core.pod_groups.hindrance import Hindrance, failure, hindrance
from scheduler_svc.core.pods import PodShape
from scheduler_svc.core.queue import QueuedPodInfo
from scheduler_svc.core.scheduling_cycle import Outlook, SchedulingCycle
from scheduler_svc.core.status import Code

_WANTING_COMPANY: Final = frozenset({"InterPodAffinity", "PodTopologySpread"})


class Terms(msgspec.Struct, frozen=True):
    """How to try: on which Nodes, bool `(N,)` or None for all, and by which choice among them.

    `is_tight`: on the fullest Node that has room, not on the best.
    """

    allowed: BoolArray | None = None
    is_tight: bool = False


class Unplaced(msgspec.Struct, frozen=True):
    """A member that has found no Node, and why."""

    queued: QueuedPodInfo
    hindrance: Hindrance


class Closest(msgspec.Struct, frozen=True):
    """What came of the trial in which most members fitted; `restricting` as in `Trial`."""

    placed_count: int = 0
    unplaced: Sequence[Unplaced] = ()
    restricting: Mapping[PodShape, frozenset[str]] = {}


class Trial:
    """One trial; `placed` and `unplaced` say how it went. Undo it, or bind all that are placed.

    `own_rows` are the rows that members have room kept on: they go there if it is feasible.
    `restricting` has, by shape, the plugins that have a say in where such members may be.
    """

    def __init__(
        self,
        cycle: SchedulingCycle,
        cache: Cache,
        terms: Terms,
        own_rows: Mapping[str, int],
        now: Now,
        stopwatch: Stopwatch | None = None,
    ) -> None:
        self.cycle = cycle
        self.cache = cache
        self.terms = terms
        self.now = now
        self.stopwatch = stopwatch
        self._own_rows = own_rows
        self.placed: list[Placement] = []
        self.unplaced: list[Unplaced] = []
        self.restricting: dict[PodShape, frozenset[str]] = {}

    def run(self, members: Sequence[QueuedPodInfo]) -> None:
        """Place all that fit, in that order."""
        waiting = list(members)
        while waiting:
            placed_count = len(self.placed)
            self._run_once(waiting)
            if len(self.placed) == placed_count:
                return
            waiting = [u.queued for u in self.unplaced if _wants_company(u.hindrance)]
            self.unplaced = [u for u in self.unplaced if not _wants_company(u.hindrance)]

    def go_on_anywhere(self) -> None:
        """Place those that have found no Node among the allowed ones on any other."""
        waiting, self.unplaced = [u.queued for u in self.unplaced], []
        self.terms = msgspec.structs.replace(self.terms, allowed=None)
        self.run(waiting)

    def _run_once(self, members: Sequence[QueuedPodInfo]) -> None:
        hindrances: dict[ClassKey, Hindrance] = {}
        for queued in members:
            key = self.cycle.profile.class_key(queued.pod, self.cache.cluster)
            known = hindrances.get(key)
            placed = self._place(queued) if known is None else known
            if isinstance(placed, Placement):
                self.placed.append(placed)
            else:
                hindrances[key] = placed
                self.unplaced.append(Unplaced(queued, placed))

    def _place(self, queued: QueuedPodInfo) -> Placement | Hindrance:
        cycle, pod = self.cycle, queued.pod
        outlook = cycle.look(pod, self.stopwatch)
        prepared = outlook.evaluation.prepared
        if pod.shape not in self.restricting:
            self.restricting[pod.shape] = frozenset(plugin.name for plugin, _ in prepared.filters)
        if (failed := prepared.failure()) is not None:
            return failure(failed.message)
        if prepared.rejection is not None and prepared.rejection.code is Code.ERROR:
            return failure(prepared.rejection.message)
        row = None if outlook.totals is None else self._choose(queued, outlook.totals)
        if row is None:
            return self.make_room(queued, outlook, self._diagnose(outlook))
        if cycle.witness is not None:
            cycle.witness(pod, outlook.evaluation, self.cache.columns, row)
        return self.settle(queued, row)

    def make_room(
        self, queued: QueuedPodInfo, outlook: Outlook, diagnosis: Diagnosis
    ) -> Placement | Hindrance:
        """Do something for a member that fits nowhere, or say why it does not."""
        del queued, outlook
        return hindrance(diagnosis)

    def settle(self, queued: QueuedPodInfo, row: int) -> Placement | Hindrance:
        """Count a member on the Node of a row."""
        placed = self.cycle.placing.place(queued, row, self.now, self.stopwatch)
        if not isinstance(placed, Refusal):
            return placed
        if not placed.status.code.is_rejected:
            return failure(placed.error)
        diagnosis = placed.diagnosis()
        return Hindrance(diagnosis.fit_error(), placed.status.message, placed.rejectors())

    def _choose(self, queued: QueuedPodInfo, totals: TotalArray) -> int | None:
        allowed = self.terms.allowed
        if allowed is not None:
            totals = np.where(allowed, totals, INFEASIBLE)
        own = self._own_rows.get(queued.pod.uid)
        if own is not None and totals[own] != INFEASIBLE:
            return own
        if self.terms.is_tight:
            return fullest_row(self.cache.columns, queued.pod.requests, totals)
        return self.cycle.choose(totals, queued.pod)

    def _diagnose(self, outlook: Outlook) -> Diagnosis:
        prepared = outlook.evaluation.prepared
        return diagnose_all(prepared, self.cache.columns, outlook.respected)[0]

    def undo(self) -> None:
        """Take all that are placed off their Nodes again, the last first."""
        while self.placed:
            self.cycle.placing.undo(self.placed.pop())


def _wants_company(hindrance: Hindrance) -> bool:
    rejectors = hindrance.rejectors
    return rejectors is not None and not _WANTING_COMPANY.isdisjoint(rejectors.unschedulable)
