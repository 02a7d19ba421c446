from berthmaster.testing import cluster, node, pod
from examples.denylist import Denylist


def test_nodes_on_the_list_are_left_alone_until_they_are_off_it() -> None:
    world = cluster(nodes=[node("a"), node("b")], plugins=[Denylist()])
    world.feed("Denylist", frozenset({"a"}))
    assert world.schedule(pod("p")).node == "b"
    world.feed("Denylist", frozenset({"a", "b"}))
    outcome = world.schedule(pod("q"))
    assert outcome.message == "0/2 nodes are available: 2 node(s) were on the denylist."
    world.feed("Denylist", frozenset({"b"}))
    world.wait(10)
    assert world.schedule(pod("r")).node == "a"
