"""The scheduler: events in, at most one decision a step, effects out.

::

    handle(event) ─▶ cache and columns ─▶ queue: which Pods may this help?
    step()        ─▶ queue: whose turn? ─▶ scheduling cycle ─▶ assumed ─▶ binding cycle
                                              └─ fits nowhere ─▶ back to the queue

One caller owns a Scheduler; nothing here waits, reads a clock or touches the outside. The
same events, times and seed give the same effects (a test replays them).

Where a Pod is, by its uid: in the queue while it is pending, in the cache once it takes
room on a Node. A Pod that is assumed is in the cache only, so what the watch says of it
meanwhile never gets to the queue.

Source: pkg/scheduler/{scheduler,eventhandlers}.go, v1.36.3.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count

import msgspec

from scheduler_svc.core.binding_cycle import BindingCycles
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import object_key
from scheduler_svc.core.consultation import Consultation
from scheduler_svc.core.effects import Effect
from scheduler_svc.core.errors import InvariantError
from scheduler_svc.core.events import (
    BindFailed,
    BindSucceeded,
    Event,
    EvictionFinished,
    ExtenderAnswer,
    ExtendersAnswered,
    FeedUpdated,
    NodeDeleted,
    NodeUpserted,
    ObjectDeleted,
    ObjectUpserted,
    Outcome,
    PodDeleted,
    PodRefused,
    PodUpserted,
    PreBindFinished,
    ProfileRemoved,
    ProfileSet,
    VictimsAnswered,
)
from scheduler_svc.core.evictions import Evictions
from scheduler_svc.core.extenders import Extenders
from scheduler_svc.core.failure import FailureHandler
from scheduler_svc.core.framework.cluster_changes import object_change
from scheduler_svc.core.framework.interface import FedPlugin
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.stopwatch import Measuring, Stopwatch
from scheduler_svc.core.node_events import NodeEvents
from scheduler_svc.core.nominations import Nominations
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.parked import ParkedAttempts
from scheduler_svc.core.pod_events import PodEvents
from scheduler_svc.core.pod_groups import GroupTiming, PodGroups
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.pre_enqueue import PreEnqueueCheck
from scheduler_svc.core.profiles import ServedProfiles, by_scheduler_name, registrations
from scheduler_svc.core.queue import QueueStatistics, SchedulingQueue
from scheduler_svc.core.scheduling_cycle import SchedulingCycle, Witness
from scheduler_svc.core.unserved import UnservedPods


class SchedulerStatistics(msgspec.Struct, frozen=True):
    """Counts for gauges.

    `binding_count` Pods are between their decision and being bound; `parked_count` Pods wait
    for extenders; of `withheld_node_count` Nodes some room is withheld.
    `waiting_group_count` groups do not fit, room is kept for `held_group_count`.
    """

    node_count: int
    pod_count: int
    assumed_pod_count: int
    binding_count: int
    parked_count: int
    withheld_node_count: int
    waiting_group_count: int
    held_group_count: int
    class_count: int
    class_size_bytes: int
    queue: QueueStatistics


class Timing(msgspec.Struct, frozen=True):
    """How long a Pod waits after a failed attempt: doubling from the one to the other; and groups.

    A maximum of 0 switches backoff off.
    """

    initial_backoff_seconds: float = 1
    max_backoff_seconds: float = 10
    groups: GroupTiming = GroupTiming()


class Scheduler:
    """All profiles of one scheduler over one view of the cluster.

    For reading: `cache`, `nominator`, `pending`, the Pods of ours that no Node is known for, by
    uid, and `heard`, upstream's names for what the event handled last was.

    Parameters
    ----------
    profiles
        Those that are served from the start; all with the same QueueSort plugin.
    seed
        Settles ties between Nodes, together with each Pod's uid.
    instance
        Prefix of decision ids, unique among running schedulers.
    witness
        Sees each choice of a Node, before anything has changed by it.
    extenders
        Who outside of the process takes part in decisions.
    measuring
        Is told how long hints take, and PreEnqueue.
    timing
        How long Pods wait after an attempt, and groups for their room.
    """

    def __init__(
        self,
        profiles: Sequence[Profile],
        *,
        seed: int = 0,
        instance: str = "berthmaster",
        witness: Witness | None = None,
        extenders: Extenders | None = None,
        measuring: Measuring | None = None,
        timing: Timing | None = None,
    ) -> None:
        timing = timing or Timing()
        extenders = extenders or Extenders()
        served = by_scheduler_name(profiles)
        self.cluster = Cluster()
        self.columns = self.cluster.columns
        self.cache = Cache(self.cluster)
        self.queue = _queue(served, extenders, measuring, timing)
        for profile in profiles:
            profile.attach(self.cluster)
        self.pending: dict[str, PodInfo] = {}
        self.nominator = Nominator(self.columns)
        nominations = Nominations(self.nominator, self.queue)
        unserved = UnservedPods()
        failures = FailureHandler(self.queue, nominations, self.pending, served, unserved)
        self._parked = ParkedAttempts()
        self._bindings = BindingCycles(self.cache, self.queue, failures, extenders)
        self._evictions = Evictions(self._bindings, failures, nominations)
        self._pod_events = PodEvents(
            served,
            self.cache,
            self.queue,
            self._bindings,
            self._evictions,
            self.pending,
            unserved=unserved,
        )
        consultation = Consultation(extenders, self._parked, self.cache, self.nominator, seed)
        self._served = ServedProfiles(
            served,
            self._cycle_maker(failures, consultation, instance, witness),
            cluster=self.cluster,
            queue=self.queue,
            extenders=extenders,
            parked=self._parked,
            failures=failures,
            pod_events=self._pod_events,
        )
        self._cycles = self._served.cycles
        self._groups = self._pod_groups(failures, extenders, timing.groups)
        self.heard = self._pod_events.heard
        self._node_events = NodeEvents(instance, self.cache, self.queue, self._bindings, self.heard)

    def _pod_groups(
        self, failures: FailureHandler, extenders: Extenders, timing: GroupTiming
    ) -> PodGroups:
        return PodGroups(
            self._cycles,
            cache=self.cache,
            queue=self.queue,
            failures=failures,
            bindings=self._bindings,
            evictions=self._evictions,
            extenders=extenders,
            timing=timing,
        )

    def _cycle_maker(
        self,
        failures: FailureHandler,
        consultation: Consultation,
        instance: str,
        witness: Witness | None,
    ) -> Callable[[Profile], SchedulingCycle]:
        """Give what makes cycles: of each the decision ids, after `instance`, are its own."""
        numbers = count()

        def make(profile: Profile) -> SchedulingCycle:
            number = next(numbers)
            cycle = SchedulingCycle(
                profile,
                cache=self.cache,
                queue=self.queue,
                bindings=self._bindings,
                evictions=self._evictions,
                failures=failures,
                consultation=consultation,
                instance=f"{instance}-{number:x}" if number else instance,
            )
            cycle.witness = witness
            return cycle

        return make

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """The profiles that are served now, by scheduler name."""
        return self._served.by_name

    def keep_unserved(self) -> None:
        """Keep Pods of names that nobody here serves from now on: profiles may come for them."""
        self._pod_events.unserved.keeps = True

    def set_profile(self, profile: Profile, now: Now) -> list[Effect]:
        """Serve a profile from now on, in the place of the one of its name if there is one.

        Every attempt after this is the new one's. Pods that have been given a Node end as they
        began, those that wait are judged anew. O(pending Pods).
        """
        return self._served.set(profile, now)

    def remove_profile(self, scheduler_name: str, now: Now, cause: str) -> list[Effect]:
        """Serve a profile no more; its pending Pods are told `cause` in an event.

        Pods that have been given a Node are bound nevertheless. O(pending Pods).
        """
        return self._served.remove(scheduler_name, now, cause)

    def handle(self, event: Event, now: Now) -> list[Effect]:
        """Take in what happened. O(log n), more where it calls waiting Pods."""
        self.cluster.wall_seconds = now.wall_seconds
        self.heard.clear()
        match event:
            # One after the other is tried: first what there is most of.
            case PodUpserted(pod):
                return self._upsert(pod, now)
            case BindSucceeded(uid):
                return self._bindings.succeed(uid, now)
            case PodDeleted(uid):
                self._groups.events.drop(uid, now)
                return self._pod_events.delete(uid, now)
            case NodeUpserted(node):
                self._node_events.upsert(node, now)
            case NodeDeleted(name):
                return self._node_events.delete(name, now)
            case ObjectUpserted() | ObjectDeleted():
                return self._change_object(event, now)
            case PodRefused() | FeedUpdated() | ProfileSet() | ProfileRemoved():
                return self._take_rarer(event, now)
            case _:
                return self._take_outcome(event, now)
        return []

    def _upsert(self, pod: PodInfo, now: Now) -> list[Effect]:
        if self._node_events.withheld:
            self._node_events.arrive(pod, now)
        if pod.group is None and not self.cluster.groups:
            return self._pod_events.upsert(pod, now)
        called = self._groups.events.note(pod, now)
        effects = self._pod_events.upsert(pod, now)
        if called is not None:
            self._groups.events.call(called, now)
        return effects

    def _take_rarer(
        self, event: PodRefused | FeedUpdated | ProfileSet | ProfileRemoved, now: Now
    ) -> list[Effect]:
        match event:
            case PodRefused():
                return self._node_events.refuse(event, now)
            case FeedUpdated():
                self._take_feed(event, now)
                return []
            case ProfileSet(profile):
                return self.set_profile(profile, now)
            case _:
                return self.remove_profile(event.scheduler_name, now, event.cause)

    def _take_outcome(self, event: Outcome, now: Now) -> list[Effect]:
        match event:
            case BindFailed():
                return self._bindings.fail(event, now)
            case PreBindFinished():
                return self._bindings.finish_pre_bind(event, now)
            case EvictionFinished():
                self._evictions.finish(event, now)
                return []
            case ExtendersAnswered() | VictimsAnswered():
                return self._resume(event, now)
            case _:
                return self._bindings.decide_permit(event, now)

    def _resume(self, answer: ExtenderAnswer, now: Now) -> list[Effect]:
        """Go on with an attempt that waited for extenders, with the Pod as it is now."""
        attempt = self._parked.take(answer)
        if attempt is None:
            return []
        newest = self.pending.get(answer.uid)
        if newest is None or newest.is_terminating:
            self.queue.done(answer.uid)
            return []
        attempt.queued.pod = newest
        cycle = self._cycles[newest.scheduler_name]
        if isinstance(answer, ExtendersAnswered):
            return cycle.resume(attempt, answer, now)
        return cycle.resume_preemption(attempt, answer, now)

    def _take_feed(self, event: FeedUpdated, now: Now) -> None:
        profile = self.profiles.get(event.scheduler_name)
        for plugin in () if profile is None else profile.plugins:
            if isinstance(plugin, FedPlugin) and plugin.name == event.plugin:
                plugin.take_in(event.value)
                self.queue.move_on_event(plugin.feed_event(), None, event.value, now)

    def _change_object(self, event: ObjectUpserted | ObjectDeleted, now: Now) -> list[Effect]:
        kind, store = event.kind, self.cluster.objects[event.kind]
        if isinstance(event, ObjectUpserted):
            old, new = store.upsert(event.object), event.object
        else:
            old, new = store.delete(event.key), None
            if old is None:
                return []
        change = object_change(kind, old, new)
        if change is not None:
            self.heard.append(change.label)
            self.queue.move_on_event(change, old, new, now)
        self._groups.events.change_group(kind, old, new, now)
        metadata = (new or old).metadata
        changed = kind, object_key(metadata.namespace, metadata.name)
        return self._bindings.review(changed, now)

    def step(self, now: Now, stopwatch: Stopwatch | None = None) -> list[Effect] | None:
        """Make one attempt; None if no Pod is ready for one.

        With a stopwatch the plugins' times are noted.

        Cost for a Pod of a known class: O(changed rows + N), about 60 µs at 5,000 Nodes.
        """
        self.cluster.wall_seconds = now.wall_seconds
        queued = self.queue.pop(now)
        if queued is None:
            return None
        name = self._groups.group_to_try(queued.pod)
        if name is not None:
            return self._groups.run(queued, name, now, stopwatch)
        return self._cycles[queued.pod.scheduler_name].run(queued, now, stopwatch)

    def expire(self, now: Now) -> list[Effect]:
        """Do what is due at `next_deadline`: backoffs that end, waits that take too long."""
        self.queue.flush(now)
        self._node_events.expire(now)
        return [*self._groups.expire(now), *self._bindings.expire(now)]

    def next_deadline(self) -> float | None:
        """Give the monotonic second at which `expire` is due; None while nothing waits."""
        # Asked after each event and attempt, and mostly there is none.
        deadlines = [self.queue.next_deadline(), self._bindings.next_deadline()]
        if self._node_events.withheld:
            deadlines.append(self._node_events.next_deadline())
        if self.cluster.groups:
            deadlines.append(self._groups.next_deadline())
        return min([d for d in deadlines if d is not None], default=None)

    def drain_plugin_evaluations(self) -> Mapping[tuple[str, str, str], int]:
        """Give `ClassCache.drain_plugin_evaluations`, by plugin, extension point and profile."""
        return self._served.drain_plugin_evaluations()

    def pods(self) -> Iterator[PodInfo]:
        """Give all Pods that are known: on Nodes, assumed or not, and pending ones of ours."""
        yield from (cached.pod for cached in self.cache.pods())
        yield from (pod for uid, pod in self.pending.items() if uid not in self.cache)

    def statistics(self) -> SchedulerStatistics:
        """Count. O(classes)."""
        classes = self._served.class_statistics()
        return SchedulerStatistics(
            node_count=self.columns.node_count,
            pod_count=len(self.cache),
            assumed_pod_count=self.cache.assumed_count,
            binding_count=len(self._bindings),
            parked_count=len(self._parked),
            withheld_node_count=len(self._node_events.withheld),
            waiting_group_count=self._groups.waiting_count,
            held_group_count=self._groups.held_count,
            class_count=sum(c.class_count for c in classes),
            class_size_bytes=sum(c.size_bytes for c in classes),
            queue=self.queue.statistics(),
        )

    def validate(self) -> None:
        """Check every invariant. O(Nodes + Pods); raises `InvariantError`."""
        self.cache.validate()
        self.queue.validate()
        for cached in self.cache.pods():
            if self.queue.get(cached.pod.uid) is not None:
                raise InvariantError(f"{cached.pod.key} is on a Node and waits for one, too")


def _queue(
    served: Mapping[str, Profile],
    extenders: Extenders,
    measuring: Measuring | None,
    timing: Timing,
) -> SchedulingQueue:
    first = next(iter(served.values()))
    return SchedulingQueue(
        sort_key=first.queue_sort.sort_key,
        pre_enqueue=PreEnqueueCheck(served, measuring),
        registrations={name: registrations(p, extenders) for name, p in served.items()},
        initial_backoff_seconds=timing.initial_backoff_seconds,
        max_backoff_seconds=timing.max_backoff_seconds,
        measuring=measuring,
    )
