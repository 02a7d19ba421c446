"""Which events call a Pod that hard constraints kept from every Node."""

import pytest

from scheduler_svc.core.affinity_objects import TopologySpreadConstraint
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Taint, Toleration
from scheduler_svc.core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_svc.core.plugins.pod_topology_spread.rules import HOSTNAME, ZONE
from scheduler_svc.core.pods import PodInfo
from tests.builders import PodFields, make_node_info, make_pod_info
from tests.unit.scheduler_svc.core.plugins.asking import (
    EVENTS,
    NODE_ADD,
    NODE_LABEL,
    NODE_TAINT,
    POD_DELETE,
    POD_TOLERATION,
    is_queued,
)
from tests.unit.scheduler_svc.core.plugins.pod_topology_spread.spreading import WEB, hard, node

POD_ADD, POD_LABEL, NODE_DELETE = EVENTS["Pod add"], EVENTS["Pod label"], EVENTS["Node delete"]
WAITING = make_pod_info("waiting", labels=WEB, spread=[hard()])
TOLERANT = [Toleration("k", "Exists")]


def other(**fields: object) -> PodInfo:
    given: PodFields = {"labels": WEB, "node": "a1", **fields}  # type: ignore[typeddict-item]
    return make_pod_info("other", **given)


PLACED, UNPLACED = other(), other(node="")
UNLIKE, ELSEWHERE = other(labels={"app": "db"}), other(namespace="elsewhere")
NOMINATED, GOING = other(node="", nominated="a1"), other(is_terminating=True)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (PLACED, True),
        (NOMINATED, True),
        (GOING, True),
        (UNPLACED, False),
        (UNLIKE, False),
        (ELSEWHERE, False),
    ],
)
def test_pods_that_come_or_go(pod: PodInfo, expected: bool) -> None:
    plugin = PodTopologySpread()
    assert is_queued(plugin, POD_ADD, WAITING, None, pod) is expected
    assert is_queued(plugin, POD_DELETE, WAITING, pod, None) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (PLACED, UNLIKE, True),
        (UNLIKE, PLACED, True),
        (PLACED, other(labels={**WEB, "rev": "2"}), False),
        (UNLIKE, other(labels={"app": "cache"}), False),
        (PLACED, GOING, True),
        (UNLIKE, other(labels={"app": "db"}, is_terminating=True), False),
        (GOING, other(is_terminating=True, labels={**WEB, "rev": "2"}), False),
        (GOING, other(is_terminating=True, labels={"app": "db"}), False),
        (ELSEWHERE, other(namespace="elsewhere", labels={"app": "db"}), False),
        (UNPLACED, other(node="", labels={"app": "db"}), False),
    ],
)
def test_pods_that_change(old: PodInfo, new: PodInfo, expected: bool) -> None:
    assert is_queued(PodTopologySpread(), POD_LABEL, WAITING, old, new) is expected


def waiting(*constraints: TopologySpreadConstraint, **fields: object) -> PodInfo:
    spread = constraints or (hard(),)
    given: PodFields = {"labels": WEB, "spread": spread, **fields}  # type: ignore[typeddict-item]
    return make_pod_info("waiting", **given)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (waiting(), waiting(labels={"app": "db"}), True),
        (waiting(), waiting(labels={**WEB, "rev": "2"}), False),
        (
            waiting(hard(label_keys=("rev",)), labels={"app": "db", "rev": "1"}),
            waiting(hard(label_keys=("rev",)), labels={"app": "db", "rev": "2"}),
            True,
        ),
        (waiting(), waiting(tolerations=TOLERANT), False),
        (waiting(hard(taints="Honor")), waiting(hard(taints="Honor"), tolerations=TOLERANT), True),
        (waiting(hard(taints="Honor")), waiting(hard(taints="Honor")), False),
    ],
)
def test_changes_of_the_pod_itself(old: PodInfo, new: PodInfo, expected: bool) -> None:
    assert is_queued(PodTopologySpread(), POD_TOLERATION, old, old, new) is expected
    assert is_queued(PodTopologySpread(), POD_TOLERATION, new, old, new) is expected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [(node("n", "a"), True), (node("n"), False), (make_node_info("n", labels={ZONE: "a"}), False)],
)
def test_nodes_that_come_or_go(changed: NodeInfo, expected: bool) -> None:
    pod = waiting(hard(), hard(HOSTNAME))
    assert is_queued(PodTopologySpread(), NODE_ADD, pod, None, changed) is expected
    assert is_queued(PodTopologySpread(), NODE_DELETE, pod, changed, None) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (node("n"), node("n", "a"), True),
        (node("n", "a"), node("n"), True),
        (node("n", "a"), node("n", "b"), True),
        (node("n", "a"), node("n", "a", gen="2"), False),
        (node("n"), node("n", gen="2"), False),
        (node("n", "a", disk="hdd"), node("n", "a", disk="ssd"), True),
        (node("n", "a", disk="ssd"), node("n", "a", disk="hdd"), True),
    ],
)
def test_nodes_whose_labels_change(old: NodeInfo, new: NodeInfo, expected: bool) -> None:
    pod = waiting(selector={"disk": "ssd"})
    assert is_queued(PodTopologySpread(), NODE_LABEL, pod, old, new) is expected


def test_affinity_that_is_not_honored_is_not_looked_at() -> None:
    pod = waiting(hard(affinity="Ignore"), selector={"disk": "ssd"})
    old, new = node("n", "a", disk="hdd"), node("n", "a", disk="ssd")
    assert not is_queued(PodTopologySpread(), NODE_LABEL, pod, old, new)


def test_nodes_whose_taints_change() -> None:
    tainted = node("n", "a", taints=(Taint("k", "NoSchedule"),))
    assert is_queued(PodTopologySpread(), NODE_TAINT, WAITING, tainted, node("n", "a"))
    bare = node("n", taints=(Taint("k", "NoSchedule"),))
    assert not is_queued(PodTopologySpread(), NODE_TAINT, WAITING, bare, node("n"))
