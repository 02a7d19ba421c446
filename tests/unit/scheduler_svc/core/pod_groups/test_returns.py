"""Members that go back to the queue: with what text, and what calls them again."""

import msgspec

from scheduler_svc.core.events import NodeUpserted
from tests.builders import make_node_info, make_pod_info
from tests.gangs import make_group, make_member, make_members
from tests.unit.scheduler_svc.core.pod_groups.companies import away_from
from tests.unit.scheduler_svc.core.pod_groups.stages import (
    FOUR_CPUS,
    TWO_CPUS,
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


def test_room_for_another_member_calls_the_group() -> None:
    """The small one takes the only place of the large one until it has room elsewhere."""
    nodes = [make_node_info("small", cpu=3), make_node_info("large", cpu=8)]
    inhabitant = make_pod_info("inhabitant", requests={"cpu": "3"}, node="small")
    settled = make_pod_info("settled", requests=FOUR_CPUS, node="large")
    stage = Stage(nodes=nodes, groups=[make_group()], placed=[inhabitant, settled])
    first = make_member("first", requests={"cpu": "1"}, priority=1)
    stage.add(first, make_member("second", requests=FOUR_CPUS))
    stage.run()
    stage.wait(5)
    assert stage.bound == {}
    stage.delete(inhabitant)
    stage.run()
    assert stage.bound == {"first": "small", "second": "large"}


def test_whatever_lets_another_member_be_elsewhere_calls_the_group() -> None:
    """The small one takes the only place of the large one until it may be beside another Pod."""
    nodes = [make_node_info(name, cpu=4, labels={"host": name}) for name in ("n1", "n2")]
    neighbour = make_pod_info("neighbour", requests=TWO_CPUS, labels={"app": "loud"}, node="n2")
    stage = Stage(nodes=nodes, groups=[make_group()], placed=[neighbour])
    small = make_member("small", requests=TWO_CPUS, priority=1, away=away_from("loud"))
    stage.add(small, make_member("large", requests=FOUR_CPUS))
    stage.run()
    stage.wait(5)
    assert stage.bound == {}
    stage.add(msgspec.structs.replace(neighbour, labels=(("app", "quiet"),)))
    stage.run()
    assert stage.bound == {"small": "n2", "large": "n1"}


def test_room_where_no_member_fits_counts_for_min_resources() -> None:
    nodes = [make_node_info("n1", cpu=4), make_node_info("tiny", cpu=1)]
    inhabitant = make_pod_info("inhabitant", requests={"cpu": "1"}, node="tiny")
    group = make_group(min_count=2, min_resources={"cpu": "5"})
    stage = Stage(nodes=nodes, groups=[group], placed=[inhabitant])
    stage.add(*make_members(2, requests={"cpu": "2"}))
    assert "minResources: too little cpu" in messages(stage.run())["gang-0"]
    stage.wait(5)
    stage.delete(inhabitant)
    stage.run()
    assert set(stage.bound.values()) == {"n1"}


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
