from berthmaster.testing import cluster, node, pod
from examples.pairs import LABEL, Pairs, PairsArgs

FIRST, SECOND = pod("first", labels={LABEL: "db"}), pod("second", labels={LABEL: "db"})


def test_two_start_together() -> None:
    world = cluster(nodes=[node("a")], plugins=[Pairs()])
    assert world.schedule(FIRST).node == ""
    assert world.schedule(pod("other", labels={LABEL: "web"})).node == ""
    assert world.schedule(SECOND).node == "a"
    assert world.node_of(FIRST) == "a"
    assert world.schedule(pod("without")).node == "a"


def test_one_that_has_waited_for_too_long_is_tried_again() -> None:
    world = cluster(nodes=[node("a")], plugins=[Pairs(PairsArgs(timeout_seconds=5))])
    world.schedule(FIRST)
    world.wait(6)
    assert world.schedule(SECOND).node == ""
    world.remove(SECOND)
    assert world.node_of(FIRST) == ""
