"""When a Pod that waits for devices is looked at again."""

import pytest

from scheduler_svc.core.device_objects import ResourceClaim
from scheduler_svc.core.framework.cluster_events import (
    ASSIGNED_POD_DELETE,
    ActionType,
    ClusterEvent,
    EventResource,
    QueueingHint,
)
from scheduler_svc.core.plugins.dynamic_resources import DynamicResources
from scheduler_svc.core.pods import PodInfo
from tests.builders import make_node_info
from tests.device_builders import (
    allocation,
    device,
    device_cluster,
    make_claim,
    make_claiming_pod,
    make_slice,
    result,
    used_by,
)
from tests.unit.scheduler_svc.core.plugins.dynamic_resources.staging import Stage

GIVEN = {"allocation": allocation(result("d0"))}
POD = make_claiming_pod("p", "c")
CLAIM = EventResource.RESOURCE_CLAIM
NAMED = ClusterEvent(
    EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM
)


def ask(
    here: Stage, event: ClusterEvent, pod: PodInfo, old: object, new: object
) -> list[QueueingHint]:
    """Give the hints of all registrations that match."""
    return [
        QueueingHint.QUEUE if one.hint is None else one.hint(pod, old, new)
        for one in here.plugin.events_to_register()
        if one.event.matches(event)
    ]


@pytest.mark.parametrize(
    ("resource", "action", "matches"),
    [
        (EventResource.NODE, ActionType.ADD, True),
        (EventResource.NODE, ActionType.UPDATE_NODE_LABEL, True),
        (EventResource.NODE, ActionType.UPDATE_NODE_ALLOCATABLE, True),
        (EventResource.NODE, ActionType.UPDATE_NODE_TAINT, False),
        (EventResource.DEVICE_CLASS, ActionType.ADD, True),
        (EventResource.DEVICE_CLASS, ActionType.UPDATE, True),
        (EventResource.RESOURCE_SLICE, ActionType.ADD, True),
        (EventResource.RESOURCE_SLICE, ActionType.UPDATE, True),
        # An old slice that goes may be what a pool was incomplete for.
        (EventResource.RESOURCE_SLICE, ActionType.DELETE, True),
        (EventResource.POD, ActionType.ADD, False),
    ],
)
def test_events_that_may_always_help(
    resource: EventResource, action: ActionType, matches: bool
) -> None:
    event = ClusterEvent(resource, action)
    hints = ask(Stage(device_cluster([])), event, POD, None, None)
    assert hints == ([QueueingHint.QUEUE] if matches else [])


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        (None, make_claim("c"), True),
        (None, make_claim("other"), False),
        (None, make_claim("c", metadata={"namespace": "elsewhere"}), False),
        (make_claim("c"), make_claim("c", metadata={"labels": {"a": "b"}}), False),
        (make_claim("c"), make_claim("c", status=GIVEN), True),
        (make_claim("other"), make_claim("other", status=GIVEN), False),
        # Devices that others give back may be what the Pod needs.
        (make_claim("other", status=GIVEN), make_claim("other"), True),
        (make_claim("other", status=GIVEN), None, True),
        (make_claim("other"), None, False),
        (make_claim("c", status=GIVEN | {"reservedFor": used_by("q")}), make_claim("c"), True),
    ],
)
def test_changes_of_claims(
    old: ResourceClaim | None, new: ResourceClaim | None, helps: bool
) -> None:
    action = ActionType.ADD if old is None else ActionType.UPDATE
    event = ClusterEvent(CLAIM, ActionType.DELETE if new is None else action)
    here = Stage(device_cluster([], make_claim("c")))
    expected = QueueingHint.QUEUE if helps else QueueingHint.SKIP
    assert ask(here, event, POD, old, new) == [expected]


def test_nothing_helps_while_a_claim_is_missing() -> None:
    here = Stage(device_cluster([]))
    event = ClusterEvent(CLAIM, ActionType.UPDATE)
    freed = (make_claim("other", status=GIVEN), make_claim("other"))
    assert ask(here, event, POD, *freed) == [QueueingHint.SKIP]
    # Without a cluster to look them up in, claims are taken to be there.
    lonely = DynamicResources()
    (registration,) = [r for r in lonely.events_to_register() if r.event.matches(event)]
    assert registration.hint is not None
    assert registration.hint(POD, *freed) is QueueingHint.QUEUE


def test_the_pods_own_claims_are_named() -> None:
    owner = {"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    here = Stage(device_cluster([], make_claim("made", metadata={"ownerReferences": [owner]})))
    waiting = make_claiming_pod("p", generated={"g": "?"})
    named = make_claiming_pod("p", generated={"g": "made"})
    assert ask(here, NAMED, waiting, waiting, named) == [QueueingHint.QUEUE]
    assert ask(here, NAMED, waiting, waiting, waiting) == [QueueingHint.SKIP]
    other = make_claiming_pod("q", generated={"g": "?"})
    assert ask(here, NAMED, other, waiting, named) == [QueueingHint.SKIP]


def test_devices_that_a_pod_gives_back_before_anybody_saw_them_taken() -> None:
    local = make_slice("n1", [device("d0")], nodeName="n1")
    here = Stage(device_cluster([make_node_info("n1")], local, make_claim("c"), make_claim("d")))
    first, second = make_claiming_pod("p", "c"), make_claiming_pod("q", "d")
    here.plugin.reserve(first, "n1", here.cluster)
    assert ask(here, ASSIGNED_POD_DELETE, second, first, None) == [QueueingHint.SKIP]
    here.plugin.unreserve(first, "n1", here.cluster)
    assert ask(here, ASSIGNED_POD_DELETE, second, first, None) == [QueueingHint.QUEUE]
    assert ask(here, ASSIGNED_POD_DELETE, first, first, None) == [QueueingHint.SKIP]
