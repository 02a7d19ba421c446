"""NodeUnschedulable: cordoned Nodes."""

import pytest

from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Toleration
from scheduler_svc.core.plugins.node_unschedulable import NodeUnschedulable
from tests.builders import make_node_info, make_pod_info
from tests.unit.scheduler_svc.core.plugins.asking import (
    NODE_ADD,
    NODE_TAINT,
    POD_TOLERATION,
    UNRESOLVABLE,
    filtered,
    is_queued,
    passing,
    registered,
)

OPEN, CORDONED = make_node_info("open"), make_node_info("cordoned", unschedulable=True)
KEY = "node.kubernetes.io/unschedulable"
TOLERATION = Toleration(KEY, "Exists", effect="NoSchedule")


def test_a_cordoned_node_is_rejected() -> None:
    assert filtered(NodeUnschedulable(), make_pod_info(), [OPEN, CORDONED]) == {
        "open": None,
        "cordoned": (UNRESOLVABLE, ["node(s) were unschedulable"]),
    }


@pytest.mark.parametrize(
    ("toleration", "passes"),
    [
        (TOLERATION, True),
        (Toleration(KEY, "Equal"), True),
        (Toleration("", "Exists"), True),
        (Toleration(KEY, "Exists", effect="NoExecute"), False),
        (Toleration(KEY, "Equal", "x"), False),
        (Toleration("other", "Exists"), False),
    ],
)
def test_a_pod_may_tolerate_it(toleration: Toleration, passes: bool) -> None:
    pod = make_pod_info(tolerations=[toleration])
    assert ("cordoned" in passing(NodeUnschedulable(), pod, [OPEN, CORDONED])) is passes


@pytest.mark.parametrize(
    ("old", "new", "queued"),
    [(None, OPEN, True), (None, CORDONED, False), (CORDONED, OPEN, True), (OPEN, OPEN, False)],
)
def test_a_node_that_takes_pods_again(old: NodeInfo | None, new: NodeInfo, queued: bool) -> None:
    event = NODE_ADD if old is None else NODE_TAINT
    assert is_queued(NodeUnschedulable(), event, make_pod_info(), old, new) is queued


def test_tolerations_that_are_added() -> None:
    plugin, pod = NodeUnschedulable(), make_pod_info("a")
    tolerating = make_pod_info("a", tolerations=[TOLERATION])
    assert is_queued(plugin, POD_TOLERATION, pod, pod, tolerating)
    other = make_pod_info("a", tolerations=[Toleration("other", "Exists")])
    assert not is_queued(plugin, POD_TOLERATION, pod, pod, other)
    another = make_pod_info("another", tolerations=[TOLERATION])
    assert not is_queued(plugin, POD_TOLERATION, pod, pod, another)


def test_events() -> None:
    assert registered(NodeUnschedulable()) == {"Node add", "Node taint", "Pod toleration"}
