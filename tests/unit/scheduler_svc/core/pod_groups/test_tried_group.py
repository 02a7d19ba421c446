"""Who is tried, in what order, and what has to be free for them."""

from scheduler_svc.core.events import NodeUpserted
from scheduler_svc.core.objects import QuantityText
from tests.builders import GPU, make_node_info, make_pod_info
from tests.gangs import make_group, make_member, make_members
from tests.unit.scheduler_svc.core.pod_groups.stages import (
    Stage,
    messages,
    on,
)


def test_members_with_different_shapes() -> None:
    """The large one finds no room once small ones have spread over the Nodes."""
    nodes = [make_node_info(name, offers={GPU: 4}) for name in ("n1", "n2")]
    stage = Stage(nodes=nodes, groups=[make_group(min_count=5)])
    small = make_members(4, requests={GPU: 1})
    stage.add(*small, make_member("large", requests={GPU: 4}))
    stage.run()
    assert len(stage.bound) == 5
    assert len({stage.bound[pod.name] for pod in small}) == 1


def test_min_resources_are_to_be_free_in_all() -> None:
    group = make_group(min_count=2, min_resources={"cpu": "6", "memory": "1Gi"})
    stage = Stage(nodes=["n1"], groups=[group])
    stage.add(*make_members(2, requests={"cpu": "1"}))
    assert set(messages(stage.run()).values()) == {"pod group gang: minResources: too little cpu"}
    stage.tell(NodeUpserted(make_node_info("n2")))
    stage.wait(2)
    stage.run()
    assert len(stage.bound) == 2


def test_what_members_have_already_counts_for_min_resources() -> None:
    """As after a drain: of a group that needs 4 CPUs one member of two is to be replaced."""
    members = [make_member(name, requests={"cpu": "2"}) for name in ("left", "new")]
    group = make_group(min_count=2, min_resources={"cpu": "4"})
    placed = [on(members[0], "n1"), make_pod_info("other", requests={"cpu": "2"}, node="n2")]
    nodes = [make_node_info("n1", cpu=3), make_node_info("n2", cpu=4)]
    stage = Stage(nodes=nodes, groups=[group], placed=placed)
    stage.add(members[1])
    stage.run()
    assert stage.bound == {"new": "n2"}


def test_a_group_that_runs_takes_more_whatever_its_min_resources() -> None:
    group = make_group(min_count=1, min_resources={"cpu": "4"})
    placed = [on(make_member("runs", requests={"cpu": "1"}), "n1")]
    stage = Stage(nodes=[make_node_info("n1", cpu=3)], groups=[group], placed=placed)
    stage.add(make_member("more", requests={"cpu": "1"}))
    stage.run()
    assert stage.bound == {"more": "n1"}


def test_a_quantity_that_is_none_keeps_the_group_alone() -> None:
    group = make_group(min_count=1, min_resources={"cpu": "1e9x"})
    stage = Stage(nodes=["n1"], groups=[group])
    stage.add(make_pod_info("alone"), *make_members(1))
    [text] = messages(stage.run()).values()
    assert text.startswith("pod group gang: minResources: '1e9x' is no quantity")
    assert stage.bound == {"alone": "n1"}


def test_of_many_resources_that_lack_the_first_are_named() -> None:
    amounts: dict[str, QuantityText] = {f"example.com/r{i}": "1" for i in range(9)}
    amounts["example.com/" + "x" * 200] = "1"
    stage = Stage(nodes=["n1"], groups=[make_group(min_count=1, min_resources=amounts)])
    stage.add(*make_members(1))
    [text] = messages(stage.run()).values()
    assert text == (
        "pod group gang: minResources: too little example.com/r0, example.com/r1, "
        "example.com/r2, example.com/r3, example.com/r4 and 5 more"
    )
