"""What can happen in a cluster that may let a rejected Pod fit: the events and their matching.

Plugins register the events that may undo a rejection of theirs, each with an optional
hint that looks closer. An event is as specific as its source can tell: a Node update
arrives as one event for each changed part, never as a plain Update if a part is known.

Source: staging/src/k8s.io/kube-scheduler/framework/types.go and
pkg/scheduler/framework/{types,events}.go, v1.36.3.
"""

from collections.abc import Callable
from enum import Enum, IntFlag, StrEnum, auto
from typing import Any, Final

import msgspec

from scheduler_svc.core.pods import PodInfo


class EventResource(StrEnum):
    """The kinds of objects that events are about; the texts are upstream's metric labels.
    `NAMESPACE`, which upstream hears nothing of, is ours.

    `ASSIGNED_POD` and `UNSCHEDULABLE_POD` only occur in events that happened; plugins
    register `POD`, which covers both. A plugin may use a kind of its own as plain text.
    Upstream has no events of Services and controllers.
    """

    POD = "Pod"
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULABLE_POD = "UnschedulablePod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    SERVICE = "Service"
    REPLICATION_CONTROLLER = "ReplicationController"
    REPLICA_SET = "apps/ReplicaSet"
    STATEFUL_SET = "apps/StatefulSet"
    POD_GROUP = "scheduling.k8s.io/PodGroup"
    NAMESPACE = "Namespace"
    WILDCARD = "*"


class ActionType(IntFlag):
    """What happened to the object; registrations may combine several.

    `UPDATE` covers every specific update. `UPDATE_NODE_TAINT` includes un-cordoning,
    `UPDATE_POD_SCALE_DOWN` is a lower request for any resource,
    `UPDATE_POD_SCHEDULING_GATES_ELIMINATED` the loss of the last gate.
    """

    ADD = auto()
    DELETE = auto()
    UPDATE_NODE_ALLOCATABLE = auto()
    UPDATE_NODE_LABEL = auto()
    UPDATE_NODE_TAINT = auto()
    UPDATE_NODE_CONDITION = auto()
    UPDATE_NODE_ANNOTATION = auto()
    UPDATE_NODE_DECLARED_FEATURE = auto()
    UPDATE_POD_LABEL = auto()
    UPDATE_POD_SCALE_DOWN = auto()
    UPDATE_POD_TOLERATION = auto()
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = auto()
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = auto()
    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_CONDITION
        | UPDATE_NODE_ANNOTATION
        | UPDATE_NODE_DECLARED_FEATURE
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_TOLERATION
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_POD_GENERATED_RESOURCE_CLAIM
    )
    ALL = ADD | DELETE | UPDATE

    @property
    def text(self) -> str:
        """The name upstream prints, as in UpdateNodeLabel; combinations are joined by `|`."""
        name = self.name or ""
        return "|".join(
            "".join(word.capitalize() for word in part.split("_")) for part in name.split("|")
        )


class ClusterEvent(msgspec.Struct, frozen=True):
    """A kind of event: an object's kind and what happened to it.

    `label` is the `event` label of metrics: the resource and action, if not given.
    """

    resource: str
    action: ActionType
    label: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            msgspec.structs.force_setattr(self, "label", f"{self.resource}{self.action.text}")

    @property
    def is_wildcard(self) -> bool:
        """Whether it stands for everything: such an event moves Pods without asking hints."""
        return self.resource == EventResource.WILDCARD and self.action == ActionType.ALL

    def matches(self, incoming: "ClusterEvent") -> bool:
        """Whether this registered event is the same as, or more general than, the incoming one.

        A registered UpdateNodeLabel does not match an incoming Update, which says that
        the change was none of the specific ones. A wildcard that comes in is matched
        only by a registered wildcard.

        Source: framework/types.go `MatchClusterEvents`; its numeric comparison gives
        the same as the subset test here for every event that can come in.
        """
        if self.is_wildcard:
            return True
        resource_matches = self.resource in {EventResource.WILDCARD, incoming.resource} or (
            self.resource == EventResource.POD and incoming.resource in _POD_KINDS
        )
        return resource_matches and incoming.action & self.action == incoming.action


_POD_KINDS: Final = frozenset({EventResource.ASSIGNED_POD, EventResource.UNSCHEDULABLE_POD})


class Occurrence(msgspec.Struct, frozen=True):
    """An event that happened: its kind, and the object before and after.

    `old` is None for an Add, `new` for a Delete. Their type depends on the event. `uid`
    names the Pod if the event concerns that one alone, such as its own update.
    """

    event: ClusterEvent
    old: Any = None
    new: Any = None
    uid: str | None = None


class QueueingHint(Enum):
    """A hint's answer: whether the event may let the Pod pass the plugin that rejected it."""

    QUEUE = auto()
    SKIP = auto()


# (Pod in question, object before, object after), the objects as in `Occurrence`.
QueueingHintFunction = Callable[[PodInfo, Any, Any], QueueingHint]


def queue_own_update(pod: PodInfo, _old: PodInfo, new: PodInfo) -> QueueingHint:
    """Hint for events that only matter where they are about the waiting Pod itself."""
    return QueueingHint.QUEUE if new.uid == pod.uid else QueueingHint.SKIP


class EventRegistration(msgspec.Struct, frozen=True):
    """One event that may undo a plugin's rejections; without a hint it always does.

    `is_by_shape`: of the Pod the hint reads its shape alone, so of Pods alike one is asked.
    """

    event: ClusterEvent
    hint: QueueingHintFunction | None = None
    is_by_shape: bool = False


def own_update(action: ActionType) -> EventRegistration:
    """Register a change of the waiting Pod itself.

    Not of Pods on Nodes: the API server labels each when it is bound, and nobody is meant.
    """
    return EventRegistration(
        ClusterEvent(EventResource.UNSCHEDULABLE_POD, action), queue_own_update
    )


EVERY_EVENT: Final = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, "*")

ASSIGNED_POD_ADD: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_UPDATE: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE)
ASSIGNED_POD_DELETE: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
UNSCHEDULED_POD_ADD: Final = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.ADD)
UNSCHEDULED_POD_UPDATE: Final = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE)
UNSCHEDULED_POD_DELETE: Final = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.DELETE)

# Synthetic events: the queue itself is their source.
UNSCHEDULABLE_TIMEOUT: Final = ClusterEvent(
    EventResource.WILDCARD, ActionType.ALL, "UnschedulableTimeout"
)
FORCE_ACTIVATE: Final = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, "ForceActivate")
PROFILE_CHANGE: Final = ClusterEvent(
    EventResource.WILDCARD, ActionType.ALL, "SchedulerProfileChange"
)

# Causes of a move that are no event; they only occur as metric labels.
BACKOFF_COMPLETE: Final = "BackoffComplete"
POP_FROM_BACKOFF_Q: Final = "PopFromBackoffQ"
SCHEDULE_ATTEMPT_FAILURE: Final = "ScheduleAttemptFailure"
