"""Preemptions that are being carried out.

::

    begin ─▶ victims that wait on Permit or for PreBind: turned away in memory
          ─▶ lower nominations to the Node: dropped
          ─▶ the other victims: EvictPods ─▶ EvictionFinished ────────────────┐
                                   └─▶ the watch tells that the last leaves ──┴─▶ put back

Until then the Pod stays in flight: it makes no further attempt, and what happens meanwhile
is shown to it when it comes back. The last victim is evicted after all others, so that it is
seen leaving only when all is done.

Source: pkg/scheduler/framework/preemption/executor.go (`prepareCandidateAsync`, `PreemptPod`),
v1.36.3. Differences: where something went wrong the Pod is tried again after a backoff, not at
once; a Pod that has been evicted counts as leaving before the watch has told so; and lower
nominations are dropped also where all victims are leaving already.
"""

from typing import Final

import msgspec

from scheduler_svc.core.binding_cycle import BindingCycles
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import (
    Effect,
    EventType,
    EvictPods,
    PatchNomination,
    RecordEvent,
    Victim,
)
from scheduler_svc.core.events import EvictionFinished
from scheduler_svc.core.failure import FailureHandler, Rejectors, reference
from scheduler_svc.core.framework.post_filter import Preemption
from scheduler_svc.core.nominations import Nominations
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import QueuedPodInfo

# What upstream calls the plugin that preempts, in the texts of Pods that are turned away.
_PLUGIN: Final = "DefaultPreemption"


class _Eviction(msgspec.Struct):
    """The Pod it is for, who rejected that, and the victims; the last is evicted last.

    `is_over` for the Pod once the last victim is seen leaving; its outcome is still to come.
    """

    queued: QueuedPodInfo
    rejectors: Rejectors
    victim_uids: tuple[str, ...]
    is_over: bool = False


class Evictions:
    """All evictions that are under way, by number."""

    def __init__(
        self,
        bindings: BindingCycles,
        failures: FailureHandler,
        nominations: Nominations,
    ) -> None:
        self._bindings = bindings
        self._failures = failures
        self.nominations = nominations
        self._last_id = 0
        self._running: dict[int, _Eviction] = {}
        self._by_last_victim: dict[str, list[int]] = {}
        self.evicted_uids = bindings.evicted_uids

    def begin(
        self, queued: QueuedPodInfo, preemption: Preemption, rejectors: Rejectors, now: Now
    ) -> tuple[list[Effect], bool]:
        """Give what is to be done, and whether the Pod stays in flight until that is done."""
        pod = queued.pod
        effects: list[Effect] = []
        victims: list[Victim] = []
        for victim in preemption.to_evict:
            turned_away = self._bindings.preempt(victim.uid, _PLUGIN, now)
            if turned_away is None:
                event = _preempted(victim, pod, preemption.node_name)
                victims.append(Victim(reference(victim), event, victim.generation))
            else:
                note = " (in kube-scheduler memory)."
                effects += turned_away
                effects.append(_preempted(victim, pod, preemption.node_name, note))
        effects += self._drop_lower_nominations(pod, preemption.node_name, now)
        if not victims:
            return effects, False
        effects.append(self._start(queued, rejectors, victims))
        return effects, True

    def _drop_lower_nominations(self, pod: PodInfo, node_name: str, now: Now) -> list[Effect]:
        effects: list[Effect] = []
        for other in list(self.nominations.nominator.pods_on(node_name)):
            if other.priority < pod.priority:
                self.nominations.cancel(other, now)
                # One that only the memory knew of is in no status.
                if self.nominations.ask(other, ""):
                    effects.append(PatchNomination(reference(other), ""))
        return effects

    def _start(
        self, queued: QueuedPodInfo, rejectors: Rejectors, victims: list[Victim]
    ) -> EvictPods:
        self._last_id += 1
        uids = tuple(victim.pod.uid for victim in victims)
        self._running[self._last_id] = _Eviction(queued, rejectors, uids)
        self._by_last_victim.setdefault(uids[-1], []).append(self._last_id)
        self.evicted_uids.update(uids)
        name = queued.pod.scheduler_name
        return EvictPods(
            pod=reference(queued.pod),
            eviction_id=self._last_id,
            message=f"{name}: preempting to accommodate a higher priority pod",
            victims=tuple(victims),
        )

    def finish(self, event: EvictionFinished, now: Now) -> None:
        """Take in the outcome."""
        eviction = self._running.pop(event.eviction_id, None)
        if eviction is None:
            return
        last = eviction.victim_uids[-1]
        waiting = self._by_last_victim[last]
        waiting.remove(event.eviction_id)
        if not waiting:
            del self._by_last_victim[last]
        if event.error:
            # Nobody knows who has been evicted: the watch will tell.
            self.evicted_uids.difference_update(eviction.victim_uids)
        if not eviction.is_over:
            rejectors = None if event.error else eviction.rejectors
            self._failures.put_back(eviction.queued, rejectors, now)
        elif event.error:
            self._failures.retry(eviction.queued.pod.uid, now)

    def leave(self, uid: str, now: Now, *, is_gone: bool) -> None:
        """Take in that a Pod is being deleted, or is gone, whoever did it."""
        if is_gone:
            self.evicted_uids.discard(uid)
        for eviction_id in self._by_last_victim.get(uid, ()):
            eviction = self._running[eviction_id]
            if not eviction.is_over:
                eviction.is_over = True
                self._failures.put_back(eviction.queued, eviction.rejectors, now)


def _preempted(victim: PodInfo, pod: PodInfo, node_name: str, note: str = "") -> RecordEvent:
    return RecordEvent(
        pod=reference(victim),
        scheduler_name=pod.scheduler_name,
        type=EventType.NORMAL,
        reason="Preempted",
        action="Preempting",
        note=f"Preempted by pod {pod.uid} on node {node_name}{note}",
        related=reference(pod),
    )
