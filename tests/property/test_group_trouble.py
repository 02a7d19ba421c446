"""Groups when much goes wrong at the same time.

Labels, gates and Nodes of members change, others schedule some of them, Bindings and evictions take
their time or fail, and the scheduler starts anew.
"""

from collections.abc import Iterable

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.effects import BindPod, Effect, EvictPods
from scheduler_svc.core.events import (
    BindFailed,
    BindFailure,
    BindSucceeded,
    EvictionFinished,
    NodeDeleted,
    NodeUpserted,
    ObjectDeleted,
    PodDeleted,
    PodUpserted,
)
from scheduler_svc.core.group_objects import GroupName
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import Place
from tests.builders import SCHEDULER, PodFields, at, make_node_info, make_pod_info, make_profile
from tests.gangs import group_named, make_group, make_member
from tests.unit.scheduler_svc.core.pod_groups.companies import away_from
from tests.unit.scheduler_svc.core.pod_groups.stages import Stage, points

GROUPS = ("a", "b")
NODES = ("n1", "n2", "n3")
MAX_PODS = 14

group_names = st.sampled_from(GROUPS)
node_names = st.sampled_from(NODES)
choices = st.integers(0, 30)
priorities = st.sampled_from([0, 0, 1])
kinds = st.sampled_from(["cpu1", "cpu1", "cpu2", "cpu4", "lonely", "other", "gated"])


def _member(name: str, group: str, kind: str, priority: int) -> PodInfo:
    requests = {"cpu": kind.removeprefix("cpu") if kind.startswith("cpu") else "1"}
    more: PodFields = {"requests": requests, "priority": priority}
    if kind == "lonely":
        more |= {"labels": {"app": "lonely"}, "away": away_from("lonely")}
    elif kind == "other":
        more |= {"scheduler": "other"}
    elif kind == "gated":
        more |= {"gates": ["wait"]}
    return make_member(name, group, **more)


class TroubleMachine(RuleBasedStateMachine):
    """A cluster whose API server's answers come late; `pods` is what it knows."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage(nodes=())
        self.nodes: dict[str, NodeInfo] = {}
        self.pods: dict[str, PodInfo] = {}
        self.groups: dict[str, int] = {}
        self.bindings: dict[str, BindPod] = {}
        self.evictions: list[EvictPods] = []
        self.zones = ""
        self.count = 0

    @initialize(
        pack_by=st.sampled_from(["", "", "zone"]),
        minimums=st.tuples(st.integers(1, 4), st.integers(2, 4)),
    )
    def begin(self, pack_by: str, minimums: tuple[int, int]) -> None:
        self.zones = pack_by
        self.node_comes("n1", 4, False)
        self.node_comes("n2", 4, False)
        for name, min_count in zip(GROUPS, minimums, strict=True):
            self.group_comes(name, min_count)

    @rule(name=node_names, cpu=st.sampled_from([2, 4, 6]), is_cordoned=st.booleans())
    def node_comes(self, name: str, cpu: int, is_cordoned: bool) -> None:
        labels = {"zone": "x" if name == "n1" else "y", "host": name}
        node = make_node_info(name, cpu=cpu, labels=labels, unschedulable=is_cordoned)
        self.nodes[name] = node
        self.stage.tell(NodeUpserted(node))

    @rule(name=node_names)
    def node_goes(self, name: str) -> None:
        if self.nodes.pop(name, None) is not None:
            self.hear(self.stage.tell(NodeDeleted(name)))

    @rule(name=group_names, min_count=st.integers(1, 4))
    def group_comes(self, name: str, min_count: int) -> None:
        self.groups[name] = min_count
        self.stage.tell_group(make_group(name, min_count, pack_by=self.zones))

    @rule(name=group_names)
    def group_goes(self, name: str) -> None:
        if self.groups.pop(name, None) is not None:
            self.stage.tell(ObjectDeleted(ObjectKind.POD_GROUP, f"default/{name}"))

    @rule(group=group_names, kinds=st.lists(kinds, min_size=1, max_size=4), priority=priorities)
    def members_come(self, group: str, kinds: list[str], priority: int) -> None:
        for kind in kinds:
            self.count += 1
            self.pod_comes(_member(f"p{self.count}", group, kind, priority))

    @rule(cpu=st.sampled_from(["1", "4"]), priority=priorities)
    def another_pod_comes(self, cpu: str, priority: int) -> None:
        self.count += 1
        self.pod_comes(make_pod_info(f"p{self.count}", requests={"cpu": cpu}, priority=priority))

    def pod_comes(self, pod: PodInfo) -> None:
        if len(self.pods) < MAX_PODS:
            self.tell_pod(pod)

    def tell_pod(self, pod: PodInfo, **changes: object) -> None:
        self.count += 1
        pod = msgspec.structs.replace(pod, resource_version=str(self.count), **changes)
        self.pods[pod.uid] = pod
        self.hear(self.stage.tell(PodUpserted(pod)))

    def some_pod(self, choice: int) -> PodInfo | None:
        uids = sorted(self.pods)
        return self.pods[uids[choice % len(uids)]] if uids else None

    @rule(choice=choices, group=st.sampled_from([*GROUPS, ""]))
    def a_label_changes(self, choice: int, group: str) -> None:
        pod = self.some_pod(choice)
        if pod is not None:
            kept = tuple(pair for pair in pod.labels if pair[0] != "scheduling.x-k8s.io/pod-group")
            named: GroupName | None = group_named(group) if group else None
            labels = (*kept, ("scheduling.x-k8s.io/pod-group", group)) if group else kept
            self.tell_pod(pod, labels=labels, group=named)

    @rule(choice=choices)
    def gates_go(self, choice: int) -> None:
        gated = [pod for pod in self.pods.values() if pod.scheduling_gates]
        if gated:
            self.tell_pod(gated[choice % len(gated)], scheduling_gates=())

    @rule(choice=choices, node=node_names)
    def somebody_else_binds(self, choice: int, node: str) -> None:
        pods = [p for p in self.pods.values() if not p.node_name and not p.scheduling_gates]
        others = [pod for pod in pods if pod.scheduler_name != SCHEDULER] or pods
        if others:
            pod = others[choice % len(others)]
            self.bindings.pop(pod.uid, None)
            is_assumed = self.stage.scheduler.cache.is_assumed(pod.uid)
            if is_assumed:
                self.hear(self.stage.tell(BindFailed(pod.uid, BindFailure.BOUND_ELSEWHERE, "no")))
            self.tell_pod(pod, node_name=node)

    @rule(choice=choices)
    def a_deletion_begins(self, choice: int) -> None:
        pod = self.some_pod(choice)
        if pod is not None:
            self.tell_pod(pod, is_terminating=True)

    @rule(choice=choices)
    def pod_goes(self, choice: int) -> None:
        pod = self.some_pod(choice)
        if pod is not None:
            self.end(pod.uid)

    def end(self, uid: str) -> None:
        pod = self.pods.pop(uid)
        self.hear(self.stage.tell(PodDeleted(pod.uid)))
        if self.bindings.pop(uid, None) is not None:
            self.hear(self.stage.tell(BindFailed(uid, BindFailure.GONE, "gone")))

    @rule(seconds=st.sampled_from([1, 5, 16, 61]))
    def time_passes(self, seconds: int) -> None:
        self.stage.wait(seconds)

    @rule()
    def an_attempt(self) -> None:
        self.step()

    @rule()
    def all_attempts(self) -> None:
        for _ in range(200):
            if not self.step():
                return
        raise AssertionError("attempts without end")

    def step(self) -> bool:
        effects = self.stage.scheduler.step(at(self.stage.seconds))
        if effects is None:
            return False
        self.check_together([e for e in effects if isinstance(e, BindPod)])
        self.hear(effects)
        return True

    def hear(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, BindPod):
                assert effect.pod.uid not in self.bindings
                self.bindings[effect.pod.uid] = effect
            elif isinstance(effect, EvictPods):
                self.evictions.append(effect)

    @rule(
        choice=choices, outcome=st.sampled_from(["done", "done", "done", "seen first", "refused"])
    )
    def a_binding_ends(self, choice: int, outcome: str) -> None:
        if not self.bindings:
            return
        uid = sorted(self.bindings)[choice % len(self.bindings)]
        node = self.bindings.pop(uid).node_name
        if outcome == "refused":
            self.hear(self.stage.tell(BindFailed(uid, BindFailure.REFUSED, "no")))
            return
        if outcome == "done":
            self.stage.tell(BindSucceeded(uid))
        self.tell_pod(self.pods[uid], node_name=node)
        if outcome == "seen first":
            self.stage.tell(BindSucceeded(uid))

    @rule(choice=choices, error=st.sampled_from(["", "", "no"]), is_slow=st.booleans())
    def an_eviction_ends(self, choice: int, error: str, is_slow: bool) -> None:
        if not self.evictions:
            return
        eviction = self.evictions.pop(choice % len(self.evictions))
        if not error:
            for victim in eviction.victims:
                if victim.pod.uid in self.pods:
                    self.tell_pod(self.pods[victim.pod.uid], is_terminating=True)
                    if not is_slow:
                        self.end(victim.pod.uid)
        self.stage.tell(EvictionFinished(eviction.eviction_id, error))

    @rule()
    def the_profile_is_set_anew(self) -> None:
        profile = make_profile(points(), scheduler=SCHEDULER)
        self.hear(self.stage.scheduler.set_profile(profile, at(self.stage.seconds)))

    @rule(are_sent=st.lists(st.booleans(), min_size=MAX_PODS, max_size=MAX_PODS))
    def the_scheduler_starts_anew(self, are_sent: list[bool]) -> None:
        for (uid, binding), is_sent in zip(self.bindings.items(), are_sent, strict=False):
            if is_sent:
                node = binding.node_name
                self.pods[uid] = msgspec.structs.replace(self.pods[uid], node_name=node)
        self.bindings.clear()
        self.evictions.clear()
        seconds = self.stage.seconds
        self.stage = self.fresh()
        self.stage.seconds = seconds

    def fresh(self) -> Stage:
        groups = [make_group(n, count, pack_by=self.zones) for n, count in self.groups.items()]
        return Stage(nodes=self.nodes.values(), groups=groups, placed=self.pods.values())

    def check_together(self, bindings: list[BindPod]) -> None:
        """Whoever of a group is bound has as many with it as the group needs."""
        new = {binding.pod.uid for binding in bindings}
        cache = self.stage.scheduler.cache
        for name in {self.pods[uid].group for uid in new} - {None}:
            assert name is not None
            members = [pod for pod in self.pods.values() if pod.group == name]
            placed = [pod for pod in members if pod.uid in cache and not pod.is_terminating]
            assert new & {pod.uid for pod in placed}
            assert len(placed) >= self.groups[name.name]

    @invariant()
    def the_scheduler_is_consistent(self) -> None:
        scheduler = self.stage.scheduler
        scheduler.validate()
        for uid in self.pods:
            if scheduler.cache.is_assumed(uid):
                assert uid in self.bindings

    def teardown(self) -> None:
        """Come to rest: then a scheduler that is started anew finds nothing to do either."""
        self.settle()
        scheduler = self.stage.scheduler
        kept = set(scheduler.nominator.node_names)
        for uid in kept & set(self.pods):
            assert scheduler.queue.place_of(uid) is not Place.GATED
        if not self.nodes or scheduler.statistics().held_group_count:
            return
        fresh = self.fresh()
        effects = fresh.run()
        assert fresh.bound == {}
        assert not [e for e in effects if isinstance(e, EvictPods)]

    def settle(self) -> None:
        for _ in range(8):
            self.all_attempts()
            while self.bindings:
                self.a_binding_ends(0, "done")
            while self.evictions:
                self.an_eviction_ends(0, "", False)
            for pod in [pod for pod in self.pods.values() if pod.is_terminating]:
                self.end(pod.uid)
            self.stage.wait(11)
        self.all_attempts()


TroubleMachine.TestCase.settings = settings(max_examples=120, stateful_step_count=30, deadline=None)
TestGroupsInTrouble = TroubleMachine.TestCase
