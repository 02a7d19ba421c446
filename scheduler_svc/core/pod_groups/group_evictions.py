"""Preemption for a group: who goes, and the members that wait for that.

A member for which Pods are evicted stays in flight until they are; the others are put back, and
the group is tried again with all of them. Until then each has its room by a nomination.
"""

from typing import Final

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import Effect
from scheduler_svc.core.evictions import Evictions
from scheduler_svc.core.failure import FailureHandler
from scheduler_svc.core.framework.stopwatch import Stopwatch
from scheduler_svc.core.group_texts import group_message
from scheduler_svc.core.pod_groups.packing import terms_of_trials
from scheduler_svc.core.pod_groups.preempting import FEW_MEMBERS, PreemptingTrial
from scheduler_svc.core.pod_groups.returns import OWN, ROOM, GroupReturns
from scheduler_svc.core.pod_groups.room import may_have_room
from scheduler_svc.core.pod_groups.tried_group import TriedGroup
from scheduler_svc.core.preemption import is_leaving
from scheduler_svc.core.scheduling_cycle import SchedulingCycle

WAITING_FOR_PREEMPTION: Final = "waiting for preemption to complete"


class GroupEvictions:
    """Evicts for groups."""

    def __init__(
        self,
        cache: Cache,
        failures: FailureHandler,
        evictions: Evictions,
        returns: GroupReturns,
    ) -> None:
        self._cache = cache
        self._failures = failures
        self._evictions = evictions
        self._nominator = evictions.nominations.nominator
        self._returns = returns

    def wait(self, tried: TriedGroup, now: Now) -> list[Effect]:
        """Put members back until what has been begun for their group is done.

        Each is called by Pods that go: by then nobody of the group may be in flight any more.
        """
        return self._returns.reject(
            tried.members,
            tried.name,
            WAITING_FOR_PREEMPTION,
            now,
            rejectors=ROOM,
            nomination=None,
        )

    def begin(
        self, tried: TriedGroup, cycle: SchedulingCycle, now: Now, stopwatch: Stopwatch | None
    ) -> list[Effect] | None:
        """Have Pods evicted if the group fits without them; None if it does not fit even so."""
        if not cycle.profile.post_filter or not self._cache.has_less_important(tried.priority):
            return None
        if self._has_victims_leaving(tried):
            return self.wait(tried, now)
        if len(tried.members) > FEW_MEMBERS and not may_have_room(tried, self._cache):
            return None
        for terms in terms_of_trials(tried, self._cache.columns, is_empty=True):
            trial = PreemptingTrial(cycle, self._cache, terms, now, stopwatch)
            trial.run(tried.members)
            is_enough = len(trial.placed) >= tried.needed_count and bool(trial.preemptions)
            names = self._cache.columns.names
            nodes = {placed.queued.pod.uid: names[placed.row] for placed in trial.placed}
            trial.undo()
            if is_enough:
                return self._begin(trial, tried, nodes, now)
        return None

    def _has_victims_leaving(self, tried: TriedGroup) -> bool:
        """Whether less important Pods are on their way from a Node a member is nominated to."""
        cache, evicted = self._cache, self._evictions.evicted_uids
        for pod in tried.pods:
            row = cache.columns.rows.get(self._nominator.node_name_of(pod.uid))
            for cached in () if row is None else cache.pods_on(row):
                if cached.pod.priority < pod.priority and is_leaving(cached.pod, evicted):
                    return True
        return False

    def _begin(
        self, trial: PreemptingTrial, tried: TriedGroup, nodes: dict[str, str], now: Now
    ) -> list[Effect]:
        effects = list(trial.reports)
        text = group_message(tried.name.name, WAITING_FOR_PREEMPTION)
        for member in tried.members:
            uid = member.pod.uid
            rejectors, stays_in_flight = trial.rejectors.get(uid, OWN), False
            if uid in trial.preemptions:
                begun, stays_in_flight = self._evictions.begin(
                    member, trial.preemptions[uid], rejectors, now
                )
                effects += begun
            effects += self._failures.reject(
                member,
                text,
                now,
                rejectors,
                nomination=nodes.get(uid, ""),
                stays_in_flight=stays_in_flight,
            )
        return effects
