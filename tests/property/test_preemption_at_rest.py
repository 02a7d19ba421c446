"""A scheduler that preempts, in a cluster where everything takes its time and may go wrong.

Whatever happened, once things come to rest no Pod waits that fits somewhere, or would fit if
less important ones went; nobody is in flight, nominated or on the way out.
"""

from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
import pytest

from scheduler_svc.core.effects import (
    BindPod,
    Effect,
    EvictPods,
    PatchNomination,
    PatchPodCondition,
)
from scheduler_svc.core.events import (
    BindFailed,
    BindFailure,
    BindSucceeded,
    Event,
    EvictionFinished,
    NodeUpserted,
    PodDeleted,
    PodUpserted,
)
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.objects import PodCondition
from scheduler_svc.core.plugins.default_preemption import DefaultPreemption
from scheduler_svc.core.pods import PodInterner
from scheduler_svc.core.scheduler import Scheduler
from tests.builders import at, make_node_info, make_pod
from tests.property.profiles import full_profile

CPUS = 4
NODES = ("n0", "n1", "n2")
PREEMPTED = PodCondition("DisruptionTarget", "True", "PreemptionByScheduler")


class Stored(msgspec.Struct):
    """A Pod as the API server has it; `lingers`: it takes its time to end."""

    name: str
    cpu: int
    priority: int
    lingers: bool
    node: str = ""
    nominated: str = ""
    is_terminating: bool = False
    is_preempted: bool = False
    version: int = 1

    @property
    def uid(self) -> str:
        return f"uid-{self.name}"


class Eviction(msgspec.Struct):
    """An effect that is being carried out: `remaining` victims are still to be evicted."""

    effect: EvictPods
    remaining: list[str]


class World:
    """API server, watch, writers and kubelets around a Scheduler."""

    def __init__(self, seed: int) -> None:
        plain = full_profile()
        points: dict[str, Sequence[Any]] = {
            "queueSort": [plain.queue_sort],
            "preFilter": plain.pre_filter,
            "filter": plain.filter,
            "postFilter": [DefaultPreemption()],
            "preScore": plain.pre_score,
            "score": plain.score,
            "bind": plain.bind,
        }
        profile = Profile(plain.scheduler_name, points, plain.weights)
        self.scheduler = Scheduler([profile], seed=seed)
        self.random = Random(seed)
        self.seconds = 0.0
        self.pods: dict[str, Stored] = {}
        self.watch: deque[Event] = deque()
        self.bindings: list[BindPod] = []
        self.patches: deque[PatchPodCondition | PatchNomination] = deque()
        self.evictions: list[Eviction] = []
        self.evicted_count = self.created = 0
        self._interner = PodInterner()
        for name in NODES:
            self.handle(NodeUpserted(make_node_info(name, cpu=CPUS)))

    def handle(self, event: Event) -> None:
        self._take(self.scheduler.handle(event, at(self.seconds)))

    def step(self) -> bool:
        effects = self.scheduler.step(at(self.seconds))
        self._take(effects or [])
        return effects is not None

    def pass_time(self, seconds: float) -> None:
        self.seconds += seconds
        self._take(self.scheduler.expire(at(self.seconds)))

    def _take(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case BindPod():
                    self.bindings.append(effect)
                case PatchPodCondition() | PatchNomination():
                    self.patches.append(effect)
                case EvictPods():
                    victims = [victim.pod.uid for victim in effect.victims]
                    self.evictions.append(Eviction(effect, victims))
                case _:
                    pass

    def create(self) -> None:
        self.created += 1
        pod = Stored(
            f"p{self.created}",
            cpu=self.random.choice([1, 1, 2, 3, 4]),
            priority=self.random.randrange(6) + self.created // 6,
            lingers=self.random.random() < 0.5,
        )
        self.pods[pod.uid] = pod
        self.tell(pod)

    def tell(self, pod: Stored) -> None:
        pod.version += 1
        made = make_pod(
            pod.name,
            node=pod.node,
            priority=pod.priority,
            requests={"cpu": pod.cpu},
            nominated=pod.nominated,
            is_terminating=pod.is_terminating,
            version=str(pod.version),
            conditions=[PREEMPTED] if pod.is_preempted else [],
        )
        self.watch.append(PodUpserted(self._interner.intern(made)))

    def delete(self, uid: str) -> None:
        """Delete a Pod: one that lingers on a Node takes its time."""
        pod = self.pods.get(uid)
        if pod is None:
            return
        if pod.node and pod.lingers and not pod.is_terminating:
            pod.is_terminating = True
            self.tell(pod)
        elif not (pod.is_terminating and pod.lingers):
            self.end(uid)

    def end(self, uid: str) -> None:
        if self.pods.pop(uid, None) is not None:
            self.watch.append(PodDeleted(uid))

    def serve_watch(self) -> None:
        if self.watch:
            self.handle(self.watch.popleft())

    def serve_binding(self, *, may_refuse: bool = True) -> None:
        if not self.bindings:
            return
        request = self.bindings.pop(self.random.randrange(len(self.bindings)))
        pod = self.pods.get(request.pod.uid)
        if pod is None or pod.is_terminating:
            self.handle(BindFailed(request.pod.uid, BindFailure.GONE, "gone"))
        elif may_refuse and self.random.random() < 0.2:
            self.handle(BindFailed(request.pod.uid, BindFailure.REFUSED, "HTTP 500"))
        else:
            pod.node, pod.nominated = request.node_name, ""
            self.tell(pod)
            self.handle(BindSucceeded(pod.uid))

    def serve_patch(self) -> None:
        if not self.patches:
            return
        patch = self.patches.popleft()
        pod = self.pods.get(patch.pod.uid)
        name = patch.nominated_node_name
        if pod is not None and not pod.node and name is not None and name != pod.nominated:
            pod.nominated = name
            self.tell(pod)

    def serve_eviction(self, *, may_fail: bool = True) -> None:
        if not self.evictions:
            return
        eviction = self.random.choice(self.evictions)
        if may_fail and self.random.random() < 0.15:
            self.evictions.remove(eviction)
            self.handle(EvictionFinished(eviction.effect.eviction_id, "HTTP 500"))
            return
        uid = eviction.remaining.pop(0)
        victim, preemptor = self.pods.get(uid), self.pods.get(eviction.effect.pod.uid)
        if victim is not None:
            assert preemptor is None or victim.priority < preemptor.priority
            victim.is_preempted = True
            self.delete(uid)
            self.evicted_count += 1
        if not eviction.remaining:
            self.evictions.remove(eviction)
            self.handle(EvictionFinished(eviction.effect.eviction_id))

    def finish_someone(self) -> None:
        leaving = [pod.uid for pod in self.pods.values() if pod.is_terminating]
        if leaving:
            self.end(self.random.choice(leaving))

    def delete_someone(self) -> None:
        if self.pods:
            self.delete(self.random.choice(sorted(self.pods)))

    def happen(self) -> None:
        """Let one thing happen."""
        chances = {
            self.create: 6,
            self.serve_watch: 16,
            self.step: 10,
            self.serve_binding: 8,
            self.serve_patch: 6,
            self.serve_eviction: 12,
            self.finish_someone: 4,
            self.delete_someone: 2,
        }
        [act] = self.random.choices(list(chances), list(chances.values()))
        act()
        if self.random.random() < 0.1:
            self.pass_time(self.random.choice([0.3, 1.5, 12]))

    def settle(self) -> None:
        """Let nothing new happen, in too little time for the flush of forgotten Pods to help."""
        for _ in range(16):
            self.pass_time(12)
            while self.step():
                pass
            while self.bindings:
                self.serve_binding(may_refuse=False)
            while self.patches:
                self.serve_patch()
            while self.evictions:
                self.serve_eviction(may_fail=False)
            for pod in [pod for pod in self.pods.values() if pod.is_terminating]:
                self.end(pod.uid)
            while self.watch:
                self.serve_watch()

    def check(self) -> None:
        self.scheduler.validate()
        for node in NODES:
            taken = sum(pod.cpu for pod in self.pods.values() if pod.node == node)
            assert taken <= CPUS

    def check_at_rest(self) -> None:
        statistics = self.scheduler.statistics()
        assert statistics.queue.in_flight_count == statistics.assumed_pod_count == 0
        assert len(self.scheduler.nominator) == 0
        assert not self.scheduler._evictions.evicted_uids
        assert all(not pod.nominated for pod in self.pods.values())
        for pod in self.pods.values():
            if pod.node:
                continue
            for node in NODES:
                kept = [
                    p for p in self.pods.values() if p.node == node and p.priority >= pod.priority
                ]
                assert sum(other.cpu for other in kept) + pod.cpu > CPUS, (pod, node)


@pytest.mark.parametrize("seed", range(30))
def test_no_pod_waits_for_what_it_could_have(seed: int) -> None:
    world = World(seed)
    for number in range(400):
        world.happen()
        if number % 8 == 0:
            world.check()
    world.settle()
    world.check()
    world.check_at_rest()


def test_somebody_is_evicted_in_all_that() -> None:
    world = World(6)
    for _ in range(400):
        world.happen()
    assert world.evicted_count > 5
