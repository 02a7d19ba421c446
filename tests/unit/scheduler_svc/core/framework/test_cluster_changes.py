"""What changed in a Node or Pod, in the words that plugins register for."""

import msgspec
import pytest

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.framework.cluster_changes import (
    node_changes,
    object_change,
    pod_changes,
)
from scheduler_svc.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from scheduler_svc.core.objects import ContainerImage, Taint, Toleration
from tests.builders import GPU, NodeFields, PodFields, make_node_info, make_pod_info
from tests.device_builders import make_claiming_pod

NODE = EventResource.NODE
POD = EventResource.UNSCHEDULABLE_POD


@pytest.mark.parametrize(
    ("fields", "actions"),
    [
        ({}, []),
        ({"images": [ContainerImage(("app:1",), 5)]}, []),
        ({"cpu": 5}, [ActionType.UPDATE_NODE_ALLOCATABLE]),
        ({"labels": {"zone": "a"}}, [ActionType.UPDATE_NODE_LABEL]),
        ({"taints": [Taint("a", "NoSchedule")]}, [ActionType.UPDATE_NODE_TAINT]),
        ({"unschedulable": True}, [ActionType.UPDATE_NODE_TAINT]),
        (
            {"pods": 1, "labels": {"zone": "a"}, "unschedulable": True},
            [
                ActionType.UPDATE_NODE_ALLOCATABLE,
                ActionType.UPDATE_NODE_LABEL,
                ActionType.UPDATE_NODE_TAINT,
            ],
        ),
    ],
)
def test_node_changes(fields: NodeFields, actions: list[ActionType]) -> None:
    changes = node_changes(make_node_info(), make_node_info(**fields))
    assert changes == [ClusterEvent(NODE, action) for action in actions]


AMOUNTS: PodFields = {"requests": {"cpu": 1, "memory": 10, "ephemeral-storage": 10, GPU: 2}}


@pytest.mark.parametrize(
    ("old", "new", "actions"),
    [
        ({}, {}, [ActionType.UPDATE]),
        ({}, {"nominated": "n1"}, [ActionType.UPDATE]),
        ({}, {"labels": {"app": "web"}}, [ActionType.UPDATE_POD_LABEL]),
        ({}, {"tolerations": [Toleration()]}, [ActionType.UPDATE_POD_TOLERATION]),
        ({"gates": ["a", "b"]}, {"gates": ["b"]}, [ActionType.UPDATE]),
        ({"gates": ["a"]}, {}, [ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED]),
        (
            {"gates": ["a"]},
            {"labels": {"app": "web"}, "tolerations": [Toleration()]},
            [
                ActionType.UPDATE_POD_LABEL,
                ActionType.UPDATE_POD_TOLERATION,
                ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
            ],
        ),
        (AMOUNTS, AMOUNTS, [ActionType.UPDATE]),
        ({}, AMOUNTS, [ActionType.UPDATE]),
        (AMOUNTS, {}, [ActionType.UPDATE_POD_SCALE_DOWN]),
    ],
)
def test_pod_changes(old: PodFields, new: PodFields, actions: list[ActionType]) -> None:
    changes = pod_changes(make_pod_info(**old), make_pod_info(**new), POD)
    assert list(changes) == [ClusterEvent(POD, action) for action in actions]


@pytest.mark.parametrize(
    ("resource", "amount", "is_scale_down"),
    [
        ("cpu", "900m", True),
        ("cpu", "1100m", False),
        ("memory", 9, True),
        ("memory", 11, False),
        ("ephemeral-storage", 9, True),
        ("ephemeral-storage", 11, False),
        (GPU, 1, True),
        (GPU, 3, False),
    ],
)
def test_a_lower_request_of_any_resource_is_a_scale_down(
    resource: str, amount: str | int, is_scale_down: bool
) -> None:
    requests = {**AMOUNTS["requests"], resource: amount}
    changes = pod_changes(make_pod_info(**AMOUNTS), make_pod_info(requests=requests), POD)
    action = ActionType.UPDATE_POD_SCALE_DOWN if is_scale_down else ActionType.UPDATE
    assert list(changes) == [ClusterEvent(POD, action)]


def test_changes_of_objects() -> None:
    claim = EventResource.PERSISTENT_VOLUME_CLAIM
    kind = ObjectKind.PERSISTENT_VOLUME_CLAIM
    assert object_change(kind, None, "new") == ClusterEvent(claim, ActionType.ADD)
    assert object_change(kind, "old", "new") == ClusterEvent(claim, ActionType.UPDATE)
    assert object_change(kind, "old", None) == ClusterEvent(claim, ActionType.DELETE)
    assert object_change(ObjectKind.POD_DISRUPTION_BUDGET, None, "new") is None


def test_other_features_of_a_node() -> None:
    old = make_node_info()
    new = msgspec.structs.replace(old, declared_features=("Feature",))
    assert node_changes(old, new) == [ClusterEvent(NODE, ActionType.UPDATE_NODE_DECLARED_FEATURE)]


def test_claims_that_are_named() -> None:
    old = make_claiming_pod("p", generated={"gpu": "?"})
    new = make_claiming_pod("p", generated={"gpu": "p-gpu-1"})
    named = ClusterEvent(POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    assert pod_changes(old, new, POD) == [named]
