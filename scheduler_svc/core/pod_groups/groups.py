"""All that the scheduler does about groups, connected."""

from collections.abc import Mapping
from typing import Final

from scheduler_svc.core.binding_cycle import BindingCycles
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import Effect
from scheduler_svc.core.evictions import Evictions
from scheduler_svc.core.extenders import Extenders
from scheduler_svc.core.failure import FailureHandler
from scheduler_svc.core.framework.stopwatch import Stopwatch
from scheduler_svc.core.group_objects import GroupName
from scheduler_svc.core.pod_groups.begun_bindings import BegunBindings
from scheduler_svc.core.pod_groups.group_cycle import GroupCycle
from scheduler_svc.core.pod_groups.group_events import GroupEvents
from scheduler_svc.core.pod_groups.group_evictions import GroupEvictions
from scheduler_svc.core.pod_groups.holds import GroupTiming, Holds
from scheduler_svc.core.pod_groups.packing import terms_of_trials
from scheduler_svc.core.pod_groups.plan import plan
from scheduler_svc.core.pod_groups.returns import GroupReturns
from scheduler_svc.core.pod_groups.trial import Trial
from scheduler_svc.core.pod_groups.tried_group import TriedGroup, gather, is_beyond_all_nodes
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import QueuedPodInfo, SchedulingQueue
from scheduler_svc.core.scheduling_cycle import SchedulingCycle

_NOT_FOR_LONG: Final = Now(0.0, 0.0)
"""Of a trial that is undone at once: no time matters."""


class PodGroups:
    """Groups of all profiles that have the plugin GangScheduling; `cycles` by scheduler name.

    `events` keeps members and holds up to date.
    """

    def __init__(
        self,
        cycles: Mapping[str, SchedulingCycle],
        *,
        cache: Cache,
        queue: SchedulingQueue,
        failures: FailureHandler,
        bindings: BindingCycles,
        evictions: Evictions,
        extenders: Extenders,
        timing: GroupTiming,
    ) -> None:
        self._cycles = cycles
        self._cache = cache
        self._queue = queue
        self._holds = Holds(evictions.nominations, timing)
        self._begun = BegunBindings(cache, bindings, self._holds)
        returns = GroupReturns(failures, self._holds)
        self.events = GroupEvents(cache, queue, self._holds)
        self._cycle = GroupCycle(
            cycles,
            cache=cache,
            queue=queue,
            returns=returns,
            evictions=GroupEvictions(cache, failures, evictions, returns),
            extenders=extenders,
            holds=self._holds,
            begun=self._begun,
        )

    @property
    def waiting_count(self) -> int:
        """How many groups do not fit."""
        return self._holds.waiting_count

    @property
    def held_count(self) -> int:
        """For how many groups room is kept, since they wait or have lost members."""
        return self._holds.held_count

    def group_to_try(self, pod: PodInfo) -> GroupName | None:
        """Give the group that a popped Pod is to be tried with; None for one on its own.

        Members that have been turned back meanwhile have their room kept from now on, and those
        of groups that were found half bound.
        """
        self._begun.review()
        if self.events.found_bound:
            self._complete_half_bound()
        if pod.group is None or not self._cycle.decides(pod):
            return None
        return pod.group

    def run(
        self, queued: QueuedPodInfo, name: GroupName, now: Now, stopwatch: Stopwatch | None
    ) -> list[Effect]:
        """Try a popped member and the others of its group. O(members) attempts."""
        return self._cycle.run(queued, name, now, stopwatch)

    def expire(self, now: Now) -> list[Effect]:
        """Give up room kept for long enough, and keep some for a group that waited too long.

        Pods of groups that have been incomplete for a while are told so.
        """
        self._keep_room(now)
        return self.events.incomplete.expire(now)

    def _complete_half_bound(self) -> None:
        """Keep room for the rest of groups of which somebody else has bound a part.

        A scheduler may have been killed between two Bindings. Whoever waited then may be popped
        before the rest, and the group would be short for as long as that runs.
        """
        found, self.events.found_bound = self.events.found_bound, set()
        for name in found:
            tried = self._waiting(name)
            if tried is not None and tried.placed and tried.is_short:
                self._keep_room_for_rest(tried)

    def _keep_room_for_rest(self, tried: TriedGroup) -> None:
        if self._cycle.obstacle(tried):
            return
        cycle, columns = self._cycles[tried.members[0].pod.scheduler_name], self._cache.columns
        for terms in terms_of_trials(tried, columns):
            trial = Trial(cycle, self._cache, terms, {}, _NOT_FOR_LONG)
            trial.run(tried.members)
            placed = [(p.queued.pod, columns.names[p.row]) for p in trial.placed]
            trial.undo()
            if len(placed) >= tried.needed_count:
                for pod, node_name in placed[: tried.needed_count]:
                    self._holds.keep_room(pod, node_name, tried.name)
                return

    def _waiting(self, name: GroupName) -> TriedGroup | None:
        """Give a group with the members that may be tried; None if it or they are not there."""
        groups = self._cache.cluster.groups
        known, group = groups.of(name), groups.group(name)
        waiting = [queued for uid in known if (queued := self._queue.get(uid)) is not None]
        members = [q for q in waiting if not q.is_gated and not q.pod.is_terminating]
        members = [queued for queued in members if self._cycle.decides(queued.pod)]
        if group is None or not members:
            return None
        return gather(name, group, known, members, self._cache)

    def _keep_room(self, now: Now) -> None:
        self._holds.expire(now)
        name = self._holds.due_group(now)
        if name is None:
            return
        tried = self._waiting(name)
        if tried is None:
            self._holds.stop_waiting(name, now)
            return
        cycle = self._cycles[tried.members[0].pod.scheduler_name]
        kept = self._holds.withdraw((pod.uid for pod in tried.pods), name)
        places: list[tuple[PodInfo, str]] = []
        columns = self._cache.columns
        is_hopeless = is_beyond_all_nodes(tried, columns)
        for terms in () if is_hopeless else terms_of_trials(tried, columns, is_empty=True):
            places = plan(cycle, self._cache, tried.members, tried.needed_count, terms, now)
            if places:
                break
        self._holds.restore(kept)
        self._holds.hold(name, tried.priority, places, tried.group.hold_seconds, now)

    def next_deadline(self) -> float | None:
        """Give the monotonic second at which `expire` has something to do."""
        deadlines = (self._holds.next_deadline(), self.events.incomplete.next_deadline())
        return min((d for d in deadlines if d is not None), default=None)
