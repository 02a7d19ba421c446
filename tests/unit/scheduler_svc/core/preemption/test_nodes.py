"""A Node while victims are looked for."""

from scheduler_svc.core.preemption.nodes import SearchedNode
from tests.unit.scheduler_svc.core.preemption.building import pod


def test_those_whose_eviction_breaks_a_budget_have_the_first_turns() -> None:
    a, b, c = pod("a"), pod("b"), pod("c")
    node = SearchedNode(3, [a, b, c])
    node.take_turns([c], [a, b])
    assert node.turns == [c, a, b]
    node.evict(1)
    assert (node.victims, node.violation_count) == ([a], 0)
    node.evict(0)
    assert (node.victims, node.violation_count) == ([a, c], 1)


def test_nodes_share_nothing() -> None:
    first, second = SearchedNode(0, []), SearchedNode(1, [])
    first.take_turns([pod("a")], [])
    first.evict(0)
    assert second.turns == second.victims == []
