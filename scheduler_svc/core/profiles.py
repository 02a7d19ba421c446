"""The profiles that are served, each with what decides its Pods; they come and go meanwhile.

::

    set ────▶ a new cycle decides every attempt from now on; the plugins' hints are its own
         ├──▶ served before: pending Pods are judged anew, what is binding ends as it began
         └──▶ new: the Pods that have waited for it enter the queue
    remove ─▶ pending Pods leave the queue, with an event; what is binding ends, too

"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from scheduler_svc.core.clock import Now
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.effects import Effect
from scheduler_svc.core.extenders import EXTENDER, Extenders
from scheduler_svc.core.failure import FailureHandler
from scheduler_svc.core.framework.class_cache import ClassCacheStatistics
from scheduler_svc.core.framework.cluster_events import EVERY_EVENT, EventRegistration
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.parked import ParkedAttempts
from scheduler_svc.core.plugins.gang_scheduling import GROUP_REJECTORS, GangScheduling
from scheduler_svc.core.pod_events import PodEvents
from scheduler_svc.core.queue import SchedulingQueue
from scheduler_svc.core.scheduling_cycle import SchedulingCycle


class ServedProfiles:
    """Changes what is served.

    Parameters
    ----------
    by_name
        The profiles, by scheduler name: read by all, written only here.
    make_cycle
        Makes what decides the Pods of a profile.
    """

    def __init__(
        self,
        by_name: dict[str, Profile],
        make_cycle: Callable[[Profile], SchedulingCycle],
        *,
        cluster: Cluster,
        queue: SchedulingQueue,
        extenders: Extenders,
        parked: ParkedAttempts,
        failures: FailureHandler,
        pod_events: PodEvents,
    ) -> None:
        self.by_name = by_name
        self.cycles = {name: make_cycle(profile) for name, profile in by_name.items()}
        self._make_cycle = make_cycle
        self._cluster = cluster
        self._queue = queue
        self._extenders = extenders
        self._parked = parked
        self._failures = failures
        self._pod_events = pod_events
        self._retired_evaluations: Counter[tuple[str, str, str]] = Counter()

    def set(self, profile: Profile, now: Now) -> list[Effect]:
        """Serve a profile, in the place of the one of its name if there is one. O(pending)."""
        name = profile.scheduler_name
        profile.attach(self._cluster)
        self._retire(name)
        self.by_name[name] = profile
        self.cycles[name] = self._make_cycle(profile)
        self._queue.hints.register(name, registrations(profile, self._extenders))
        self._pod_events.unserved.causes.pop(name, None)
        waiting = self._pod_events.waiting(name)
        for pod in waiting:
            attempt = self._parked.withdraw(pod.uid)
            if attempt is not None:
                # What it has found so far is the former profile's.
                self._queue.put_back(attempt.queued, now, newest=pod)
        self._queue.rejudge([pod.uid for pod in waiting], now)
        return self._pod_events.adopt(name, now)

    def remove(self, name: str, now: Now, cause: str) -> list[Effect]:
        """Serve a profile no more; `cause` says why, to users of its Pods. O(pending)."""
        if name not in self.by_name:
            return []
        self._retire(name)
        del self.by_name[name]
        self._queue.hints.unregister(name)
        self._pod_events.unserved.causes[name] = cause
        effects: list[Effect] = []
        for pod in self._pod_events.waiting(name):
            if self._parked.withdraw(pod.uid) is not None:
                self._queue.done(pod.uid)
            effects += self._failures.dismiss(pod, now)
        return effects

    def drain_plugin_evaluations(self) -> Mapping[tuple[str, str, str], int]:
        """Give `ClassCache.drain_plugin_evaluations`, by plugin, extension point and profile."""
        counts, self._retired_evaluations = self._retired_evaluations, Counter()
        for name in self.cycles:
            self._count_evaluations(name, counts)
        return counts

    def class_statistics(self) -> list[ClassCacheStatistics]:
        """Count the classes of each profile. O(classes)."""
        return [cycle.classes.statistics() for cycle in self.cycles.values()]

    def _retire(self, name: str) -> None:
        if name in self.cycles:
            self._count_evaluations(name, self._retired_evaluations)
            del self.cycles[name]

    def _count_evaluations(self, name: str, counts: Counter[tuple[str, str, str]]) -> None:
        drained = self.cycles[name].classes.drain_plugin_evaluations()
        for (plugin, point), count in drained.items():
            counts[plugin, point, name] += count


def registrations(
    profile: Profile, extenders: Extenders
) -> Mapping[str, Sequence[EventRegistration]]:
    """Give the events that may undo rejections: any may change an extender's mind."""
    registered = profile.registrations()
    if GangScheduling.name in registered:
        registered |= GROUP_REJECTORS
    if extenders.can_reject:
        registered[EXTENDER] = (EventRegistration(EVERY_EVENT),)
    return registered


def by_scheduler_name(profiles: Iterable[Profile]) -> dict[str, Profile]:
    """Give profiles by the name that Pods choose them by."""
    return {profile.scheduler_name: profile for profile in profiles}
