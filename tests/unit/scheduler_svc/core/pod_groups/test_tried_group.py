"""Who is tried, in what order, and what has to be free for them."""

from scheduler_svc.core.events import NodeUpserted
from tests.builders import GPU, make_node_info
from tests.gangs import make_group, make_member, make_members
from tests.unit.scheduler_svc.core.pod_groups.stages import (
    Stage,
    messages,
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
