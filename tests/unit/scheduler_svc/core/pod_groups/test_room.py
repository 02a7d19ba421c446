"""Whether a large group could have its room at all, found out before victims are looked for."""

import msgspec
import pytest

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.effects import EvictPods
from scheduler_svc.core.events import ObjectUpserted
from scheduler_svc.core.framework.post_filter import FailedAttempt, PostFilterResult
from scheduler_svc.core.plugins.default_preemption import DefaultPreemption
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code
from tests.builders import make_pod_info
from tests.device_builders import make_class
from tests.gangs import group_named, make_group, make_member, make_members
from tests.unit.scheduler_svc.core.pod_groups.stages import FOUR_CPUS, Stage, points

COUNT = 40


class Counting(DefaultPreemption):
    """Notes how many Nodes are searched each time."""

    def __init__(self) -> None:
        super().__init__()
        self.searched: list[int] = []

    def post_filter(self, attempt: FailedAttempt) -> PostFilterResult:
        rows = attempt.diagnosis.rows_with(Code.UNSCHEDULABLE, attempt.cache.columns)
        self.searched.append(len(rows))
        return super().post_filter(attempt)


def staged(min_count: int, preemption: Counting, *, priority: int = 0) -> Stage:
    """Give as many Nodes as there are members, each full with one Pod."""
    nodes = [f"n{i}" for i in range(COUNT)]
    placed = [
        make_pod_info(f"low-{node}", node=node, requests=FOUR_CPUS, priority=priority)
        for node in nodes
    ]
    return Stage(
        nodes=nodes,
        groups=[make_group(min_count=min_count)],
        placed=placed,
        plugins=points(postFilter=[preemption]),
    )


def evictions(stage: Stage) -> list[EvictPods]:
    return [effect for effect in stage.run() if isinstance(effect, EvictPods)]


def test_of_a_large_group_few_nodes_are_searched_for_each_member() -> None:
    preemption = Counting()
    stage = staged(COUNT, preemption)
    stage.add(*make_members(COUNT, requests=FOUR_CPUS, priority=10))
    victims = [victim.pod.name for e in evictions(stage) for victim in e.victims]
    assert sorted(victims) == sorted(f"low-n{i}" for i in range(COUNT))
    assert len(preemption.searched) == COUNT
    assert max(preemption.searched) == 16


def test_where_the_few_do_not_help_all_are_searched() -> None:
    """The Nodes with most room have a Pod that gives too little."""
    preemption = Counting()
    stage = staged(33, preemption, priority=20)
    stage.add(make_pod_info("unused"))
    nodes = [f"n{i}" for i in range(40)]
    for number, node in enumerate(nodes):
        stage.delete(make_pod_info(f"low-{node}"))
        important = make_pod_info(f"top-{node}", node=node, requests={"cpu": "1"}, priority=20)
        small = make_pod_info(f"small-{node}", node=node, requests={"cpu": "1"})
        large = make_pod_info(f"large-{node}", node=node, requests=FOUR_CPUS)
        stage.add(*([important, small] if number < 20 else [large]))
    stage.add(*make_members(33, requests=FOUR_CPUS, priority=10))
    assert evictions(stage) == []
    assert preemption.searched == []
    stage.tell_group(make_group(min_count=20))
    stage.wait(12)
    victims = [victim.pod.name for e in evictions(stage) for victim in e.victims]
    assert sorted(victims) == sorted(f"large-n{i}" for i in range(20, 40))
    assert 40 in preemption.searched


@pytest.mark.parametrize("is_one_too_many", [True, False])
def test_nobody_is_looked_for_where_all_would_not_be_enough(is_one_too_many: bool) -> None:
    preemption = Counting()
    stage = staged(COUNT + is_one_too_many, preemption)
    stage.add(*make_members(COUNT + 1, requests=FOUR_CPUS, priority=10))
    assert bool(evictions(stage)) is not is_one_too_many
    assert bool(preemption.searched) is not is_one_too_many


def test_who_is_not_less_important_or_a_member_does_not_count() -> None:
    preemption = Counting()
    stage = staged(COUNT, preemption, priority=10)
    stage.add(make_pod_info("low", node="n0", requests={"cpu": "0"}))
    stage.add(*make_members(COUNT, requests=FOUR_CPUS, priority=10))
    assert evictions(stage) == []
    assert preemption.searched == []
    own = [_member_of_low(pod) for pod in (c.pod for c in stage.scheduler.cache.pods())]
    stage.add(*own)
    stage.wait(12)
    assert evictions(stage) == []
    assert preemption.searched == []


def _member_of_low(pod: PodInfo) -> PodInfo:
    low = make_member(pod.name, "gang", node=pod.node_name, requests=FOUR_CPUS, priority=0)
    return msgspec.structs.replace(low, uid=pod.uid, group=group_named(), resource_version="7")


def test_devices_may_stand_for_what_no_node_offers() -> None:
    preemption = Counting()
    stage = staged(COUNT, preemption)
    stage.tell(ObjectUpserted(ObjectKind.DEVICE_CLASS, make_class()))
    requests = {"cpu": "4", "example.com/gpu": "1"}
    stage.add(*make_members(COUNT, requests=requests, priority=10))
    assert evictions(stage) == []
    assert len(preemption.searched) == 2
