"""Expected labels and matches are those of pkg/scheduler/framework/types_test.go, v1.36.3."""

import pytest

from scheduler_svc.core.framework import cluster_events
from scheduler_svc.core.framework.cluster_events import ActionType, ClusterEvent, EventResource

POD, NODE, ANY = EventResource.POD, EventResource.NODE, EventResource.WILDCARD
ASSIGNED, UNSCHEDULABLE = EventResource.ASSIGNED_POD, EventResource.UNSCHEDULABLE_POD
ADD, DELETE, UPDATE, ALL = ActionType.ADD, ActionType.DELETE, ActionType.UPDATE, ActionType.ALL
NODE_LABEL, NODE_TAINT = ActionType.UPDATE_NODE_LABEL, ActionType.UPDATE_NODE_TAINT
POD_LABEL = ActionType.UPDATE_POD_LABEL


def test_action_bits_are_upstreams() -> None:
    singles = [action.value for action in ActionType]
    assert singles == [1 << bit for bit in range(13)]
    assert [ADD.value, DELETE.value, ActionType.UPDATE_NODE_ALLOCATABLE.value] == [1, 2, 4]
    assert ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM.value == 1 << 12
    assert UPDATE.value == (1 << 13) - 1 - 3
    assert ALL == ADD | DELETE | UPDATE


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (ClusterEvent(NODE, ADD), "NodeAdd"),
        (ClusterEvent(NODE, NODE_LABEL), "NodeUpdateNodeLabel"),
        (ClusterEvent(NODE, UPDATE), "NodeUpdate"),
        (
            ClusterEvent(UNSCHEDULABLE, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),
            "UnschedulablePodUpdatePodSchedulingGatesEliminated",
        ),
        (ClusterEvent(EventResource.CSI_NODE, ADD), "storage.k8s.io/CSINodeAdd"),
        (ClusterEvent("widgets.example.com", ADD | DELETE), "widgets.example.comAdd|Delete"),
        (cluster_events.ASSIGNED_POD_ADD, "AssignedPodAdd"),
        (cluster_events.ASSIGNED_POD_UPDATE, "AssignedPodUpdate"),
        (cluster_events.ASSIGNED_POD_DELETE, "AssignedPodDelete"),
        (cluster_events.UNSCHEDULED_POD_ADD, "UnschedulablePodAdd"),
        (cluster_events.UNSCHEDULED_POD_UPDATE, "UnschedulablePodUpdate"),
        (cluster_events.UNSCHEDULED_POD_DELETE, "UnschedulablePodDelete"),
        (cluster_events.UNSCHEDULABLE_TIMEOUT, "UnschedulableTimeout"),
        (cluster_events.FORCE_ACTIVATE, "ForceActivate"),
    ],
)
def test_labels_are_those_of_upstreams_metrics(event: ClusterEvent, label: str) -> None:
    assert event.label == label


@pytest.mark.parametrize(
    ("registered", "incoming", "matches"),
    [
        (ClusterEvent(NODE, ADD), ClusterEvent(NODE, ADD), True),
        (ClusterEvent(NODE, ADD), ClusterEvent(POD, ADD), False),
        (ClusterEvent(NODE, ADD | NODE_TAINT), ClusterEvent(NODE, NODE_TAINT), True),
        (ClusterEvent(NODE, ADD | NODE_LABEL), ClusterEvent(NODE, NODE_TAINT), False),
        # The registered event may be more general than the incoming one, not the other way.
        (ClusterEvent(NODE, UPDATE), ClusterEvent(NODE, NODE_LABEL), True),
        (ClusterEvent(NODE, NODE_LABEL), ClusterEvent(NODE, UPDATE), False),
        (ClusterEvent(POD, ALL), ClusterEvent(POD, POD_LABEL), True),
        # Pod covers both kinds of Pods; they do not cover one another.
        (ClusterEvent(POD, POD_LABEL), ClusterEvent(ASSIGNED, POD_LABEL), True),
        (ClusterEvent(POD, UPDATE), ClusterEvent(UNSCHEDULABLE, UPDATE), True),
        (ClusterEvent(ASSIGNED, ADD), ClusterEvent(UNSCHEDULABLE, ADD), False),
        (ClusterEvent(ASSIGNED, ADD), ClusterEvent(POD, ADD), False),
        (ClusterEvent(NODE, DELETE), ClusterEvent(ASSIGNED, DELETE), False),
        # Any resource, but only the named action.
        (ClusterEvent(ANY, NODE_LABEL), ClusterEvent(NODE, NODE_LABEL), True),
        (ClusterEvent(ANY, NODE_LABEL), ClusterEvent(NODE, NODE_TAINT), False),
        # A registered wildcard matches everything; an incoming one is matched by nothing else.
        (cluster_events.EVERY_EVENT, ClusterEvent(NODE, ADD), True),
        (cluster_events.EVERY_EVENT, cluster_events.UNSCHEDULABLE_TIMEOUT, True),
        (ClusterEvent(NODE, ALL), cluster_events.UNSCHEDULABLE_TIMEOUT, False),
        (ClusterEvent(ANY, ADD), cluster_events.FORCE_ACTIVATE, False),
    ],
)
def test_matching(registered: ClusterEvent, incoming: ClusterEvent, matches: bool) -> None:
    assert registered.matches(incoming) is matches


@pytest.mark.parametrize(
    ("event", "is_wildcard"),
    [
        (cluster_events.FORCE_ACTIVATE, True),
        (ClusterEvent(ANY, ADD), False),
        (ClusterEvent(NODE, ALL), False),
    ],
)
def test_wildcard_means_any_resource_and_any_action(event: ClusterEvent, is_wildcard: bool) -> None:
    assert event.is_wildcard is is_wildcard
