"""PodGroups, of both APIs that there are: Pods that start together or not at all.

Sources: sigs.k8s.io/scheduler-plugins apis/scheduling/v1alpha1/types.go (`PodGroup`), v0.34.7;
staging/src/k8s.io/api/scheduling/v1alpha2/types.go (`PodGroup`), v1.36.3.
"""

from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from scheduler_svc.core.annotated_objects import AnnotatedMeta
from scheduler_svc.core.objects import ApiStruct, ResourceList

POD_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
"""Names, on a Pod, the PodGroup of the first API that it is a member of."""

PACK_BY_ANNOTATION: Final = "berthmaster.dev/pack-by"
"""Names, on a PodGroup, the label of Nodes whose value all members are to share."""

PACK_BY_MODE_ANNOTATION: Final = "berthmaster.dev/pack-by-mode"
PREFERRED: Final = "Preferred"
"""The mode in which a group may be spread over several values where none has the room."""


class GroupApi(StrEnum):
    """Whose PodGroups they are; the values are the APIs' groups."""

    SCHEDULER_PLUGINS = "scheduling.x-k8s.io"
    BUILT_IN = "scheduling.k8s.io"


class GroupName(NamedTuple):
    """Which group."""

    api: GroupApi
    namespace: str
    name: str

    @property
    def key(self) -> str:
        """The group's name for people: namespace/name."""
        return f"{self.namespace}/{self.name}"


class Packing(msgspec.Struct, frozen=True):
    """Where all members are to be: on Nodes with one value of the label `topology_key`."""

    topology_key: str
    is_required: bool = True


class Group(Protocol):
    """A PodGroup as decisions need it, whichever API it is of."""

    @property
    def min_count(self) -> int:
        """How many members have to fit at the same time; at least 1."""

    @property
    def packing(self) -> Packing | None:
        """Where the members are to be; None for anywhere."""

    @property
    def min_resources(self) -> ResourceList | None:
        """What has to be free in all before the group is tried; None for nothing."""

    @property
    def hold_seconds(self) -> int | None:
        """How long room may be kept for the group while it does not fit; None: not said."""


class PodGroupSpec(ApiStruct, frozen=True):
    """What a group asks for."""

    min_member: int = 1
    min_resources: ResourceList | None = None
    schedule_timeout_seconds: int | None = None


class PodGroup(ApiStruct, frozen=True):
    """A PodGroup of `scheduling.x-k8s.io/v1alpha1`."""

    metadata: AnnotatedMeta
    spec: PodGroupSpec = PodGroupSpec()

    @property
    def min_count(self) -> int:
        """How many members have to fit at the same time."""
        return max(self.spec.min_member, 1)

    @property
    def packing(self) -> Packing | None:
        """What the annotations say."""
        annotations = self.metadata.annotations or {}
        key = annotations.get(PACK_BY_ANNOTATION, "")
        if not key:
            return None
        return Packing(key, annotations.get(PACK_BY_MODE_ANNOTATION) != PREFERRED)

    @property
    def min_resources(self) -> ResourceList | None:
        """What has to be free in all."""
        return self.spec.min_resources

    @property
    def hold_seconds(self) -> int | None:
        """The time for which members may hold room without running."""
        return self.spec.schedule_timeout_seconds


class GangPolicy(ApiStruct, frozen=True):
    """So many at the same time."""

    min_count: int = 1


class SchedulingPolicy(ApiStruct, frozen=True):
    """All or nothing with `gang`, each on its own with `basic`."""

    basic: dict[str, Any] | None = None
    gang: GangPolicy | None = None


class TopologyConstraint(ApiStruct, frozen=True):
    """All on Nodes with one value of the label `key`."""

    key: str


class SchedulingConstraints(ApiStruct, frozen=True):
    """Where the members are to be; the first of `topology` counts."""

    topology: tuple[TopologyConstraint, ...] = ()


class BuiltInPodGroupSpec(ApiStruct, frozen=True):
    """What a group asks for."""

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None


class BuiltInPodGroup(ApiStruct, frozen=True):
    """A PodGroup of `scheduling.k8s.io/v1alpha2`."""

    metadata: AnnotatedMeta
    spec: BuiltInPodGroupSpec = BuiltInPodGroupSpec()

    @property
    def min_count(self) -> int:
        """How many members have to fit at the same time; 1 without a gang."""
        gang = self.spec.scheduling_policy.gang
        return 1 if gang is None else max(gang.min_count, 1)

    @property
    def packing(self) -> Packing | None:
        """The first constraint, which is required."""
        constraints = self.spec.scheduling_constraints
        if constraints is None or not constraints.topology:
            return None
        return Packing(constraints.topology[0].key)

    @property
    def min_resources(self) -> ResourceList | None:
        """Nothing: the API has no such field."""
        return None

    @property
    def hold_seconds(self) -> int | None:
        """Not said: the API has no such field."""
        return None
