"""A trial that may evict: less important Pods go only if all that the group needs fit then.

Each member that fits nowhere is offered what PostFilter plugins would do for it, on top of what
has been found for those before it. Nothing is done before the trial has succeeded.

Difference from pkg/scheduler/framework/preemption (`WorkloadAwarePreemption`), v1.36.3: that takes
all less important Pods of the cluster away and spares one after the other; here it is Node by
Node, as for a Pod on its own, which costs less and finds the same Nodes where one Node's victims do
not help another. For the members of a large group a few Nodes are searched each, those that have
most room already: else a thousand would keep everybody else waiting for half a minute.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.cache import Cache, CachedPod
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import Effect
from scheduler_svc.core.failure import Rejectors
from scheduler_svc.core.framework.diagnosis import Diagnosis
from scheduler_svc.core.framework.filtering import NodeGroup
from scheduler_svc.core.framework.post_filter import (
    PostFilterResult,
    Preemption,
    run_post_filters,
)
from scheduler_svc.core.framework.stopwatch import Stopwatch
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.parked import ParkedAttempt
from scheduler_svc.core.placement import Placement
from scheduler_svc.core.pod_groups.fullest import emptiest_first
from scheduler_svc.core.pod_groups.hindrance import Hindrance, hindrance, rejectors_of
from scheduler_svc.core.pod_groups.trial import Terms, Trial
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import QueuedPodInfo
from scheduler_svc.core.scheduling_cycle import Outlook, SchedulingCycle
from scheduler_svc.core.status import Code

FEW_MEMBERS: Final = 32
"""Of more than that each is offered the victims of `_SEARCHED_NODES` Nodes, if one will do."""
_SEARCHED_NODES: Final = 16
_NO_ROOM: Final[Mapping[str, int]] = {}


class PreemptingTrial(Trial):
    """A trial in which Pods may be set aside; `preemptions` says which, by the member's uid.

    `rejectors` are the plugins that turned those members away before, `reports` the PostFilter
    plugins' own effects. Undo it in any case: `undo` brings back whom it set aside.
    """

    def __init__(
        self,
        cycle: SchedulingCycle,
        cache: Cache,
        terms: Terms,
        now: Now,
        stopwatch: Stopwatch | None = None,
    ) -> None:
        super().__init__(cycle, cache, terms, _NO_ROOM, now, stopwatch)
        self.preemptions: dict[str, Preemption] = {}
        self.rejectors: dict[str, Rejectors] = {}
        self.reports: list[Effect] = []
        self._aside: list[CachedPod] = []
        self._is_large = False

    def run(self, members: Sequence[QueuedPodInfo]) -> None:
        """Place all that fit, in that order."""
        self._is_large = len(members) > FEW_MEMBERS
        super().run(members)

    def make_room(
        self, queued: QueuedPodInfo, outlook: Outlook, diagnosis: Diagnosis
    ) -> Placement | Hindrance:
        """Set aside whom the plugins would evict for a member, and place it there."""
        within = diagnosis if self.terms.allowed is None else _within(diagnosis, self.terms.allowed)
        result = None
        if self._is_large:
            few = _within(within, self._promising(queued.pod, within))
            result = self._ask(queued, outlook, few)
        if result is None or result.preemption is None:
            result = self._ask(queued, outlook, within)
        preemption = result.preemption
        if preemption is None or any(v.group == queued.pod.group for v in preemption.victims):
            return hindrance(diagnosis)
        aside = [self.cache.set_aside(victim.uid) for victim in preemption.victims]
        placed = self.settle(queued, self.cache.columns.rows[preemption.node_name])
        if isinstance(placed, Placement):
            self._aside += aside
            self.preemptions[queued.pod.uid] = preemption
            self.rejectors[queued.pod.uid] = rejectors_of(diagnosis)
            self.reports += result.effects
        else:
            # Nobody goes for a member that does not come: the others must not count on it.
            self._bring_back(aside)
        return placed

    def _ask(
        self, queued: QueuedPodInfo, outlook: Outlook, diagnosis: Diagnosis
    ) -> PostFilterResult:
        attempt = ParkedAttempt(queued, self.now, [], stopwatch=self.stopwatch)
        prepared = outlook.evaluation.prepared
        failed = self.cycle.failed_attempt(attempt, prepared, diagnosis, self.now)
        return run_post_filters(self.cycle.profile.post_filter, failed)

    def _promising(self, pod: PodInfo, diagnosis: Diagnosis) -> BoolArray:
        """Give a few of the Nodes where evictions may help, those with most room: bool `(N,)`."""
        columns = self.cache.columns
        rows = diagnosis.rows_with(Code.UNSCHEDULABLE, columns)
        ordered = emptiest_first(columns, pod.requests, rows).tolist()
        mask = np.zeros(columns.capacity, dtype=np.bool_)
        mask[list(islice(self._with_victims(ordered, pod), _SEARCHED_NODES))] = True
        return mask

    def _with_victims(self, rows: Sequence[int], pod: PodInfo) -> Iterator[int]:
        for row in rows:
            if any(cached.pod.priority < pod.priority for cached in self.cache.pods_on(row)):
                yield row

    def undo(self) -> None:
        """Take the members off again, and bring back who was set aside."""
        super().undo()
        self._bring_back(self._aside)

    def _bring_back(self, aside: list[CachedPod]) -> None:
        while aside:
            self.cache.bring_back(aside.pop())


def _within(diagnosis: Diagnosis, allowed: BoolArray) -> Diagnosis:
    """Leave out the Nodes that are not allowed: evictions there do not help."""
    groups = [
        NodeGroup(group.status, group.rows[allowed[group.rows]]) for group in diagnosis.groups
    ]
    return msgspec.structs.replace(diagnosis, groups=tuple(groups), absent_status=None)
