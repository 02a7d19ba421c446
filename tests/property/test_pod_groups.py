"""Groups start together or not at all, whatever happens around them."""

from collections.abc import Iterator

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.effects import BindPod, EvictPods
from scheduler_svc.core.events import (
    BindFailed,
    BindFailure,
    BindSucceeded,
    EvictionFinished,
    NodeDeleted,
    NodeUpserted,
    ObjectDeleted,
)
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.pods import PodInfo
from tests.builders import at, make_node_info, make_pod_info
from tests.gangs import group_named, make_group, make_member
from tests.unit.scheduler_svc.core.pod_groups.stages import Stage

GROUPS = ("a", "b")
NODES = ("n1", "n2", "n3")
MAX_PODS = 14

group_names = st.sampled_from(GROUPS)
node_names = st.sampled_from(NODES)
sizes = st.sampled_from([1, 2, 4])
choices = st.integers(0, 30)
priorities = st.sampled_from([0, 0, 1])


class GroupMachine(RuleBasedStateMachine):
    """Drives a cluster with groups, as its API server would tell of it."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage(nodes=())
        self.nodes: dict[str, NodeInfo] = {}
        self.pods: dict[str, PodInfo] = {}
        self.groups: dict[str, int] = {}
        self.zones = ""
        self.count = 0

    @initialize(
        pack_by=st.sampled_from(["", "", "zone"]),
        minimums=st.tuples(st.integers(1, 4), st.integers(2, 4)),
    )
    def begin(self, pack_by: str, minimums: tuple[int, int]) -> None:
        self.zones = pack_by
        self.node_comes("n1", 4)
        self.node_comes("n2", 4)
        for name, min_count in zip(GROUPS, minimums, strict=True):
            self.group_comes(name, min_count)

    @rule(name=node_names, cpu=st.sampled_from([2, 4, 6]))
    def node_comes(self, name: str, cpu: int) -> None:
        zone = "x" if name == "n1" else "y"
        self.nodes[name] = make_node_info(name, cpu=cpu, labels={"zone": zone})
        self.stage.tell(NodeUpserted(self.nodes[name]))

    @rule(name=node_names)
    def node_goes(self, name: str) -> None:
        if self.nodes.pop(name, None) is not None:
            self.stage.tell(NodeDeleted(name))

    @rule(name=group_names, min_count=st.integers(1, 4))
    def group_comes(self, name: str, min_count: int) -> None:
        self.groups[name] = min_count
        self.stage.tell_group(make_group(name, min_count, pack_by=self.zones))

    @rule(name=group_names)
    def group_goes(self, name: str) -> None:
        if self.groups.pop(name, None) is not None:
            self.stage.tell(ObjectDeleted(ObjectKind.POD_GROUP, f"default/{name}"))

    @rule(group=group_names, cpus=st.lists(sizes, min_size=1, max_size=5), priority=priorities)
    def members_come(self, group: str, cpus: list[int], priority: int) -> None:
        for cpu in cpus:
            name = self.new_name()
            pod = make_member(name, group, requests={"cpu": str(cpu)}, priority=priority)
            self.pod_comes(pod)

    @rule(cpu=sizes, priority=priorities)
    def another_pod_comes(self, cpu: int, priority: int) -> None:
        requests = {"cpu": str(cpu)}
        self.pod_comes(make_pod_info(self.new_name(), requests=requests, priority=priority))

    def new_name(self) -> str:
        self.count += 1
        return f"p{self.count}"

    def pod_comes(self, pod: PodInfo) -> None:
        if len(self.pods) < MAX_PODS:
            self.pods[pod.uid] = pod
            self.stage.add(pod)

    @rule(choice=choices, is_graceful=st.booleans())
    def pod_goes(self, choice: int, is_graceful: bool) -> None:
        if not self.pods:
            return
        uid = sorted(self.pods)[choice % len(self.pods)]
        if is_graceful:
            self.stage.add(msgspec.structs.replace(self.pods[uid], is_terminating=True))
        pod = self.pods.pop(uid)
        self.stage.delete(pod)

    @rule(seconds=st.sampled_from([1, 5, 61]))
    def time_passes(self, seconds: int) -> None:
        self.stage.wait(seconds)

    @rule(refused=st.booleans())
    def an_attempt(self, refused: bool) -> None:
        self.step(refuses_first=refused)

    @rule()
    def all_attempts(self) -> None:
        while self.step():
            pass

    def step(self, *, refuses_first: bool = False) -> bool:
        effects = self.stage.scheduler.step(at(self.stage.seconds))
        if effects is None:
            return False
        bindings = [e for e in effects if isinstance(e, BindPod)]
        self.check_together(bindings)
        for number, binding in enumerate(bindings):
            if refuses_first and not number:
                refused = BindFailed(binding.pod.uid, BindFailure.REFUSED, "no")
                self.stage.tell(refused)
                continue
            pod = msgspec.structs.replace(self.pods[binding.pod.uid], node_name=binding.node_name)
            self.pods[pod.uid] = msgspec.structs.replace(pod, resource_version="2")
            self.stage.tell(BindSucceeded(pod.uid))
            self.stage.add(self.pods[pod.uid])
        for eviction in [e for e in effects if isinstance(e, EvictPods)]:
            for victim in eviction.victims:
                gone = self.pods.pop(victim.pod.uid, None)
                if gone is not None:
                    self.stage.add(msgspec.structs.replace(gone, is_terminating=True))
                    self.stage.delete(gone)
            self.stage.tell(EvictionFinished(eviction.eviction_id))
        return True

    def check_together(self, bindings: list[BindPod]) -> None:
        """Whoever of a group is bound has as many with it as the group needs."""
        new = {binding.pod.uid for binding in bindings}
        for name in {self.pods[uid].group for uid in new} - {None}:
            assert name is not None
            members = [pod for pod in self.pods.values() if pod.group == name]
            placed_count = sum(bool(pod.node_name) or pod.uid in new for pod in members)
            assert placed_count >= self.groups[name.name]
            if self.zones:
                domains = {self.zone_of(binding.node_name) for binding in bindings}
                assert len(domains) == 1

    def zone_of(self, node_name: str) -> str:
        return self.nodes[node_name].labels["zone"]

    @invariant()
    def the_scheduler_is_consistent(self) -> None:
        self.stage.scheduler.validate()
        cache = self.stage.scheduler.cache
        for name in GROUPS:
            assumed = [uid for uid in self.uids_of(name) if cache.is_assumed(uid)]
            assert assumed == []

    def uids_of(self, name: str) -> Iterator[str]:
        group = group_named(name)
        return (uid for uid, pod in self.pods.items() if pod.group == group)

    def teardown(self) -> None:
        """Come to rest: then a scheduler that is started anew finds nothing to do either."""
        if not self.nodes:
            return
        self.all_attempts()
        for _ in range(4):
            self.all_attempts()
            self.stage.wait(11)
        self.all_attempts()
        scheduler = self.stage.scheduler
        if scheduler.statistics().held_group_count:
            return
        fresh = Stage(
            nodes=self.nodes.values(),
            groups=[make_group(n, count, pack_by=self.zones) for n, count in self.groups.items()],
            placed=self.pods.values(),
        )
        fresh.run()
        assert fresh.bound == {}


GroupMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
TestGroups = GroupMachine.TestCase
