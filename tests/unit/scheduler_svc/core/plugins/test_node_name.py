"""NodeName: a Pod that names its Node."""

from scheduler_svc.core.plugins.node_name import NodeName
from tests.builders import make_node_info, make_pod_info
from tests.unit.scheduler_svc.core.plugins.asking import (
    NODE_ADD,
    UNRESOLVABLE,
    filtered,
    is_queued,
    passing,
    registered,
)

NODES = [make_node_info("a"), make_node_info("b")]
NO = (UNRESOLVABLE, ["node(s) didn't match the requested node name"])


def test_only_the_named_node_passes() -> None:
    assert filtered(NodeName(), make_pod_info(node="b"), NODES) == {"a": NO, "b": None}
    assert filtered(NodeName(), make_pod_info(node="unheard-of"), NODES) == {"a": NO, "b": NO}


def test_every_node_passes_where_none_is_named() -> None:
    assert passing(NodeName(), make_pod_info(), NODES) == {"a", "b"}


def test_events() -> None:
    plugin = NodeName()
    assert registered(plugin) == {"Node add"}
    assert is_queued(plugin, NODE_ADD, make_pod_info(node="b"), None, NODES[0])
