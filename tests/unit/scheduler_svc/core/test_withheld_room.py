"""What a kubelet's figures say of a Node, by the kubelet's own words."""

import pytest

from scheduler_svc.core.events import PodRefused
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.withheld_room import WITHHELD_SECONDS, WithheldRoom
from tests.builders import GPU, MIB, at, make_cache, make_node_info, make_pod_info


def four(labels: dict[str, str] | None = None, cpu: int = 4) -> NodeInfo:
    """Build the Node n1."""
    return make_node_info(
        "n1", cpu=cpu, memory=8 * MIB, pods=3, offers={GPU: 2}, labels=labels or {}
    )


def words(resource: str, used: int, capacity: int) -> str:
    """Give the message of a refusal (pkg/kubelet/lifecycle/predicate.go, v1.36.3)."""
    return (
        f"Node didn't have enough resource: {resource}, requested: 1000, "
        f"used: {used}, capacity: {capacity}"
    )


def refusal(message: str, node: str = "n1") -> PodRefused:
    return PodRefused("default", "refused", "uid-refused", "berthmaster", node, "OutOf…", message)


class Rig:
    """A Node n1 of 4 CPU with a Pod that requests one, and what is withheld of it."""

    def __init__(self) -> None:
        self.cache = make_cache([four()], [make_pod_info("known", node="n1", requests={"cpu": 1})])
        self.room = WithheldRoom(self.cache)

    def learn(self, message: str, seconds: float = 0) -> tuple[str, int] | None:
        learned = self.room.learn(refusal(message), at(seconds))
        if learned is None:
            return None
        self.cache.set_node(learned[0])
        return learned[1:]

    def offered(self, resource: str) -> int:
        return dict(self.room.offered(four()).allocatable)[resource]


@pytest.mark.parametrize(
    ("message", "learned"),
    [
        (words("cpu", 3500, 4000), ("cpu", 2500)),
        (words("cpu", 4200, 4000), ("cpu", 3000)),
        (words("memory", 6 * MIB, 8 * MIB), ("memory", 6 * MIB)),
        (words("pods", 3, 3), ("pods", 2)),
        (words(GPU, 2, 2), (GPU, 2)),
    ],
)
def test_what_the_kubelet_lacks_is_withheld(message: str, learned: tuple[str, int]) -> None:
    rig = Rig()
    before = rig.offered(learned[0])
    assert rig.learn(message) == learned
    assert rig.offered(learned[0]) == before - learned[1]
    assert len(rig.room) == 1


@pytest.mark.parametrize(
    "message",
    [
        # A race that is lost: the winner is known.
        words("cpu", 1000, 4000),
        words("cpu", 500, 4000),
        words("example.com/unknown", 1, 1),
        "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        "",
    ],
)
def test_nothing_is_withheld_where_the_kubelet_has_no_less(message: str) -> None:
    rig = Rig()
    assert rig.learn(message) is None
    assert len(rig.room) == 0
    assert rig.room.next_deadline() is None


def test_nodes_that_are_not_known_have_nothing_withheld() -> None:
    rig = Rig()
    assert rig.room.learn(refusal(words("cpu", 4000, 4000), "n2"), at(0)) is None
    rig.cache.upsert(make_pod_info("early", node="n3"))
    assert rig.room.learn(refusal(words("cpu", 4000, 4000), "n3"), at(0)) is None


def test_the_same_figures_again_withhold_no_more() -> None:
    rig = Rig()
    assert rig.learn(words("cpu", 2000, 4000)) == ("cpu", 1000)
    assert rig.learn(words("cpu", 2000, 4000)) is None
    assert rig.learn(words("cpu", 2500, 4000)) == ("cpu", 500)
    assert rig.offered("cpu") == 2500


def test_other_resources_are_withheld_beside() -> None:
    rig = Rig()
    rig.learn(words("cpu", 2000, 4000))
    rig.learn(words(GPU, 1, 2))
    assert (rig.offered("cpu"), rig.offered(GPU)) == (3000, 1)


def test_a_change_of_other_parts_of_the_node_keeps_it() -> None:
    rig = Rig()
    rig.learn(words("cpu", 2000, 4000))
    offered = rig.room.offered(four({"zone": "a"}))
    assert dict(offered.allocatable)["cpu"] == 3000
    assert offered.labels["zone"] == "a"
    [node] = rig.room.expire(at(WITHHELD_SECONDS))
    assert node == four({"zone": "a"})


def test_a_node_that_tells_its_room_anew_is_believed() -> None:
    rig = Rig()
    rig.learn(words("cpu", 2000, 3000))
    smaller = four(cpu=3)
    assert rig.room.offered(smaller) == smaller
    assert len(rig.room) == 0


def test_a_node_that_is_gone_is_forgotten() -> None:
    rig = Rig()
    rig.learn(words("cpu", 2000, 4000))
    rig.room.forget("n1")
    rig.room.forget("n1")
    assert rig.offered("cpu") == 4000


def test_a_pod_that_turns_up_accounts_for_what_it_requests() -> None:
    rig = Rig()
    rig.learn(words("cpu", 3000, 4000))
    mirror = make_pod_info("mirror", node="n1", requests={"cpu": "500m"})
    assert cpu(rig.room.arrive(mirror)) == 2500
    rest = make_pod_info("rest", node="n1", requests={"cpu": "1500m"})
    assert cpu(rig.room.arrive(rest)) == 4000
    assert len(rig.room) == 0


def cpu(node: NodeInfo | None) -> int | None:
    return None if node is None else dict(node.allocatable)["cpu"]


def test_pods_that_the_kubelet_cannot_have_meant_account_for_nothing() -> None:
    rig = Rig()
    rig.learn(words("cpu", 2000, 4000))
    one = {"cpu": "1"}
    assert rig.room.arrive(make_pod_info("known", node="n1", requests=one)) is None
    assert rig.room.arrive(make_pod_info("there", node="n2", requests=one)) is None
    assert rig.room.arrive(make_pod_info("pending", requests=one)) is None
    assert rig.room.arrive(make_pod_info("refused", node="n1", requests=one)) is None
    over = make_pod_info("over", node="n1", requests=one, phase="Failed")
    assert rig.room.arrive(over) is None
    assert rig.offered("cpu") == 3000


def test_it_ends_half_a_minute_after_the_last_refusal() -> None:
    rig = Rig()
    rig.learn(words("cpu", 2000, 4000))
    rig.learn(words("cpu", 2500, 4000), seconds=20)
    assert rig.room.next_deadline() == at(20 + WITHHELD_SECONDS).monotonic_seconds
    assert rig.room.expire(at(19 + WITHHELD_SECONDS)) == []
    assert rig.room.expire(at(20 + WITHHELD_SECONDS)) == [four()]
    assert len(rig.room) == 0
