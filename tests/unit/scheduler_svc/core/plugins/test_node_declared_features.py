"""NodeDeclaredFeatures: Nodes whose kubelet cannot do what the Pod needs."""

import msgspec
import pytest

from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventResource,
    QueueingHint,
)
from scheduler_svc.core.framework.interface import PreFilterResult
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.plugins.node_declared_features import NodeDeclaredFeatures
from scheduler_svc.core.status import SKIP
from tests.builders import make_cluster, make_node_info
from tests.device_builders import make_claiming_pod
from tests.unit.scheduler_svc.core.plugins.asking import UNRESOLVABLE, filtered

FEATURE = "UserNamespacesHostNetworkSupport"
REASON = "node(s) didn't match Pod's required features"
DECLARED = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_DECLARED_FEATURE)
NEEDING = make_claiming_pod("p", hostNetwork=True, hostUsers=False)
PLAIN = make_claiming_pod("q")


def node(name: str, *features: str) -> NodeInfo:
    return msgspec.structs.replace(make_node_info(name), declared_features=features)


def test_nodes_must_declare_what_the_pod_needs() -> None:
    nodes = [node("n1", FEATURE, "Other"), node("n2", "Other"), node("n3")]
    assert filtered(NodeDeclaredFeatures(), NEEDING, nodes) == {
        "n1": None,
        "n2": (UNRESOLVABLE, [REASON]),
        "n3": (UNRESOLVABLE, [REASON]),
    }


def test_pods_that_need_nothing_are_not_looked_at() -> None:
    result = NodeDeclaredFeatures().pre_filter(PLAIN, make_cluster([]))
    assert result == PreFilterResult(SKIP)


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, node("n1", FEATURE), QueueingHint.QUEUE),
        (None, node("n1"), QueueingHint.SKIP),
        (node("n1"), node("n1", FEATURE), QueueingHint.QUEUE),
    ],
)
def test_a_node_that_declares_enough_is_a_reason_to_try_again(
    old: NodeInfo | None, new: NodeInfo, hint: QueueingHint
) -> None:
    registration, _ = NodeDeclaredFeatures().events_to_register()
    assert registration.event.matches(DECLARED)
    assert registration.hint is not None
    assert registration.hint(NEEDING, old, new) is hint


def test_the_pods_own_change_is_one_too() -> None:
    _, registration = NodeDeclaredFeatures().events_to_register()
    assert registration.hint is not None
    changed = make_claiming_pod("p")
    assert registration.hint(NEEDING, NEEDING, changed) is QueueingHint.QUEUE
    assert registration.hint(NEEDING, NEEDING, NEEDING) is QueueingHint.SKIP
    assert registration.hint(PLAIN, NEEDING, changed) is QueueingHint.SKIP
