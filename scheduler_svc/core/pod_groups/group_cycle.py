"""The cycle of a group: its members are decided together, when the turn of any of them comes.

::

    one is popped ─▶ the others are taken ─▶ trial ─▶ enough fit ─▶ all that fit are bound
                                               │
                                               └─▶ too few ─▶ undone ─▶ trial with evictions
                                                                │            │
                                                    nothing held, put back   └─▶ nominated, put back

Source: pkg/scheduler/schedule_one_podgroup.go (`scheduleOnePodGroup`, `podGroupCycle`), v1.36.3.
Differences are listed in `docs/pod-groups.md`.
"""

from collections.abc import Mapping

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import Effect
from scheduler_svc.core.errors import InputError
from scheduler_svc.core.extenders import Extenders
from scheduler_svc.core.framework.stopwatch import Stopwatch
from scheduler_svc.core.group_objects import GroupName
from scheduler_svc.core.pod_groups.begun_bindings import BegunBindings
from scheduler_svc.core.pod_groups.group_evictions import GroupEvictions
from scheduler_svc.core.pod_groups.holds import Holds
from scheduler_svc.core.pod_groups.packing import terms_of_trials
from scheduler_svc.core.pod_groups.returns import PLUGIN, GroupReturns
from scheduler_svc.core.pod_groups.trial import Closest, Trial
from scheduler_svc.core.pod_groups.tried_group import TriedGroup, gather, missing_resources
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import Place, QueuedPodInfo, SchedulingQueue
from scheduler_svc.core.scheduling_cycle import SchedulingCycle


class GroupCycle:
    """Decides groups of any profile; all members of one must be of the same.

    `cycles` are by scheduler name.
    """

    def __init__(
        self,
        cycles: Mapping[str, SchedulingCycle],
        *,
        cache: Cache,
        queue: SchedulingQueue,
        returns: GroupReturns,
        evictions: GroupEvictions,
        extenders: Extenders,
        holds: Holds,
        begun: BegunBindings,
    ) -> None:
        self._cycles = cycles
        self._cache = cache
        self._queue = queue
        self._returns = returns
        self._evictions = evictions
        self._extenders = extenders
        self._holds = holds
        self._begun = begun

    def run(
        self, queued: QueuedPodInfo, name: GroupName, now: Now, stopwatch: Stopwatch | None = None
    ) -> list[Effect]:
        """Try to give a popped member and the others of its group Nodes."""
        groups = self._cache.cluster.groups
        members: list[QueuedPodInfo] = []
        others = [uid for uid, pod in groups.of(name).items() if self.decides(pod)]
        for member in (queued, *self._queue.take(others, now)):
            if member.pod.is_terminating:
                self._queue.done(member.pod.uid)
            else:
                members.append(member)
        if not members:
            return []
        group, obstacle = groups.group(name), groups.obstacle(name)
        if group is None or obstacle:
            return self._returns.reject(members, name, obstacle, now)
        tried = gather(name, group, groups.of(name), members, self._cache)
        obstacle = self.obstacle(tried)
        if obstacle:
            return self._refuse(tried, obstacle, now)
        cycle = self._cycles[queued.pod.scheduler_name]
        if not self._cache.columns.node_count:
            return [e for member in members for e in cycle.fail_without_nodes(member, now)]
        if self._is_busy(tried):
            return self._evictions.wait(tried, now)
        try:
            lacking = missing_resources(tried, self._cache.columns) if tried.is_short else ""
        except InputError as error:
            return self._refuse(tried, f"minResources: {error}", now)
        if lacking:
            self._holds.wait(name, tried.priority, now)
            return self._returns.reject_for_resources(tried, lacking, now)
        return self._try(tried, cycle, now, stopwatch)

    def decides(self, pod: PodInfo) -> bool:
        """Whether a Pod's group means something: its profile has the plugin."""
        cycle = self._cycles.get(pod.scheduler_name)
        return cycle is not None and PLUGIN in cycle.profile.plugin_names

    def _refuse(self, tried: TriedGroup, reason: str, now: Now) -> list[Effect]:
        """Put back members of a group that no room helps; it is in nobody's way in the line."""
        self._holds.stop_waiting(tried.name, now)
        return self._returns.reject(tried.members, tried.name, reason, now)

    def obstacle(self, tried: TriedGroup) -> str:
        """Say what keeps the members from being decided together; "" if nothing does."""
        known = self._cache.cluster.groups.of(tried.name).values()
        waiting = [pod for pod in known if not pod.node_name and not pod.is_terminating]
        scheduler_names = sorted({pod.scheduler_name for pod in waiting})
        if len(scheduler_names) > 1:
            return f"its Pods name several schedulers: {', '.join(scheduler_names)}"
        if any(map(self._extenders.deciding, tried.pods)):
            return "extenders have a say in its Pods, and do not take part in decisions on groups"
        return ""

    def _is_busy(self, tried: TriedGroup) -> bool:
        """Whether Pods are being evicted for members, which make no attempt until they are."""
        own = {pod.uid for pod in tried.pods}
        return any(
            uid not in own
            and uid not in self._cache
            and self._queue.place_of(uid) is Place.IN_FLIGHT
            for uid in self._cache.cluster.groups.of(tried.name)
        )

    def _try(
        self, tried: TriedGroup, cycle: SchedulingCycle, now: Now, stopwatch: Stopwatch | None
    ) -> list[Effect]:
        kept = self._holds.withdraw((pod.uid for pod in tried.pods), tried.name)
        own_rows = self._own_rows(tried, kept)
        closest = Closest()
        for terms in terms_of_trials(tried, self._cache.columns):
            trial = Trial(cycle, self._cache, terms, own_rows, now, stopwatch)
            trial.run(tried.members)
            if len(trial.placed) >= tried.needed_count:
                if terms.allowed is not None and not tried.is_packed:
                    trial.go_on_anywhere()
                self._holds.restore(kept)
                return self._bind(trial, tried, now)
            if not closest.unplaced or len(trial.placed) > closest.placed_count:
                closest = Closest(len(trial.placed), trial.unplaced, trial.restricting)
            trial.undo()
        self._holds.restore(kept)
        evicting = self._evictions.begin(tried, cycle, now, stopwatch)
        if evicting is not None:
            return evicting
        if tried.is_short:
            self._holds.wait(tried.name, tried.priority, now)
        return self._returns.reject_short(tried, closest, now)

    def _own_rows(
        self, tried: TriedGroup, kept: Mapping[str, tuple[PodInfo, str]]
    ) -> dict[str, int]:
        """Give the rows that room is kept on: a member's own, or the place of a lost one."""
        rows = self._cache.columns.rows
        own = {uid: rows[name] for uid, (_, name) in kept.items() if name in rows}
        places = self._holds.kept_rows(tried.name, rows)
        for pod in tried.pods:
            if pod.uid not in own and places:
                own[pod.uid] = places.pop(0)
        return own

    def _bind(self, trial: Trial, tried: TriedGroup, now: Now) -> list[Effect]:
        """Begin the binding of all that are placed; the others are rejected each for itself."""
        for placed in trial.placed:
            node_name = self._cache.columns.names[placed.row]
            self._holds.nominations.end(placed.queued.pod, now, placed_on=node_name)
        self._holds.leave(tried.name, now)
        self._begun.begin(tried.name, trial.placed)
        effects: list[Effect] = []
        for placed in trial.placed:
            effects += trial.cycle.placing.bind(placed, now, now, trial.stopwatch)
        for unplaced in trial.unplaced:
            effects += self._returns.reject_alone(unplaced, tried, now)
        return effects
