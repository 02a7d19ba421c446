"""What changed in a Node or Pod, as the events that plugins register for.

Source: pkg/scheduler/framework/events.go (`NodeSchedulingPropertiesChange`,
`PodSchedulingPropertiesChange`), v1.36.3.
"""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.resources import Requests

NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_DELETE = ClusterEvent(EventResource.NODE, ActionType.DELETE)


EVENT_RESOURCES: Final = MappingProxyType(
    {
        ObjectKind.NAMESPACE: EventResource.NAMESPACE,
        ObjectKind.SERVICE: EventResource.SERVICE,
        ObjectKind.REPLICATION_CONTROLLER: EventResource.REPLICATION_CONTROLLER,
        ObjectKind.REPLICA_SET: EventResource.REPLICA_SET,
        ObjectKind.STATEFUL_SET: EventResource.STATEFUL_SET,
        ObjectKind.PERSISTENT_VOLUME: EventResource.PERSISTENT_VOLUME,
        ObjectKind.PERSISTENT_VOLUME_CLAIM: EventResource.PERSISTENT_VOLUME_CLAIM,
        ObjectKind.STORAGE_CLASS: EventResource.STORAGE_CLASS,
        ObjectKind.CSI_NODE: EventResource.CSI_NODE,
        ObjectKind.CSI_DRIVER: EventResource.CSI_DRIVER,
        ObjectKind.CSI_STORAGE_CAPACITY: EventResource.CSI_STORAGE_CAPACITY,
        ObjectKind.VOLUME_ATTACHMENT: EventResource.VOLUME_ATTACHMENT,
        ObjectKind.RESOURCE_CLAIM: EventResource.RESOURCE_CLAIM,
        ObjectKind.RESOURCE_SLICE: EventResource.RESOURCE_SLICE,
        ObjectKind.DEVICE_CLASS: EventResource.DEVICE_CLASS,
    }
)
"""The kinds that plugins may register for; a change of any other moves no Pod."""

_NOT_OF_ATTEMPTS: Final = tuple(
    field
    for field in PodInfo.__struct_fields__
    if field not in ("resource_version", "condition", "nominated_node_name")
)


def node_changes(old: NodeInfo, new: NodeInfo) -> list[ClusterEvent]:
    """Give one event for each part that changed; images are no reason to try again."""
    actions = []
    if old.allocatable != new.allocatable:
        actions.append(ActionType.UPDATE_NODE_ALLOCATABLE)
    if old.labels != new.labels:
        actions.append(ActionType.UPDATE_NODE_LABEL)
    if old.taints != new.taints or old.unschedulable != new.unschedulable:
        actions.append(ActionType.UPDATE_NODE_TAINT)
    if old.declared_features != new.declared_features:
        actions.append(ActionType.UPDATE_NODE_DECLARED_FEATURE)
    return [ClusterEvent(EventResource.NODE, action) for action in actions]


def pod_changes(old: PodInfo, new: PodInfo, resource: EventResource) -> Sequence[ClusterEvent]:
    """Give one event for each part that changed; a plain update where it is none of them."""
    actions = []
    if old.labels != new.labels:
        actions.append(ActionType.UPDATE_POD_LABEL)
    if _scaled_down(old.requests, new.requests):
        actions.append(ActionType.UPDATE_POD_SCALE_DOWN)
    if old.shape.tolerations != new.shape.tolerations:
        actions.append(ActionType.UPDATE_POD_TOLERATION)
    if old.scheduling_gates and not new.scheduling_gates:
        actions.append(ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    if old.claims != new.claims:
        actions.append(ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    return [ClusterEvent(resource, action) for action in actions or [ActionType.UPDATE]]


def is_word_of_attempt(old: PodInfo, new: PodInfo) -> bool:
    """Whether a pending Pod tells only how its last attempt ended, which calls nobody.

    We write that ourselves: a plugin that wants all updates would have the Pod tried again for
    each attempt. Difference: upstream takes it for an update like any other.
    """
    return old.condition != new.condition and all(
        getattr(old, field) == getattr(new, field) for field in _NOT_OF_ATTEMPTS
    )


def _scaled_down(old: Requests, new: Requests) -> bool:
    if old == new:
        return False
    remaining = dict(new.scalars)
    return (
        new.milli_cpu < old.milli_cpu
        or new.memory_bytes < old.memory_bytes
        or new.ephemeral_storage_bytes < old.ephemeral_storage_bytes
        or any(remaining.get(name, 0) < amount for name, amount in old.scalars)
    )


def object_change(kind: ObjectKind, old: Any, new: Any) -> ClusterEvent | None:
    """Give the event of an object that came, changed or went; None if no plugin may want it."""
    resource = EVENT_RESOURCES.get(kind)
    if resource is None:
        return None
    if new is None:
        return ClusterEvent(resource, ActionType.DELETE)
    return ClusterEvent(resource, ActionType.ADD if old is None else ActionType.UPDATE)
