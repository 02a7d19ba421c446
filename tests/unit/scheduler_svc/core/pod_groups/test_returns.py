"""Members that go back to the queue: with what text, and what calls them again."""

from scheduler_svc.core.events import NodeUpserted
from tests.builders import make_node_info, make_pod_info
from tests.gangs import make_group, make_member, make_members
from tests.unit.scheduler_svc.core.pod_groups.stages import (
    FOUR_CPUS,
    Stage,
    messages,
)


def test_one_unschedulable_member_keeps_the_group_but_not_if_enough_are_left() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=3)])
    stage.add(*make_members(2), make_member("lost", selector={"disk": "ssd"}))
    texts = messages(stage.run())
    assert stage.bound == {}
    assert texts["gang-0"].startswith(
        "pod group gang: needs 3, 2 fit: "
        "1 without a node: node(s) didn't match Pod's node affinity/selector; "
    )
    stage.tell_group(make_group(min_count=2))
    stage.wait(2)
    texts = messages(stage.run())
    assert sorted(stage.bound) == ["gang-0", "gang-1"]
    assert texts["lost"].startswith("0/1 nodes are available")


def test_the_member_that_found_no_node_calls_the_others() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=3)])
    stage.add(*make_members(2), make_member("lost", selector={"disk": "ssd"}))
    stage.run()
    stage.wait(5)
    assert stage.run() == []
    stage.tell(NodeUpserted(make_node_info("n2", labels={"disk": "ssd"})))
    stage.run()
    assert len(stage.bound) == 3


def test_a_group_that_fails_keeps_the_room_it_has() -> None:
    """Room is kept for it since it waits; it is tried again meanwhile, in vain."""
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1)])
    stage.add(make_pod_info("lasting", requests={"cpu": "1"}))
    stage.run()
    stage.add(make_member("large", requests=FOUR_CPUS))
    stage.run()
    stage.wait(61)
    assert len(stage.scheduler.nominator) == 1
    stage.tell(NodeUpserted(make_node_info("n2", cpu=5, unschedulable=True)))
    stage.tell(NodeUpserted(make_node_info("n2", cpu=6, unschedulable=True)))
    stage.wait(1)
    stage.run()
    assert len(stage.scheduler.nominator) == 1
