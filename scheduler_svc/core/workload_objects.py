"""Services and the controllers of Pods, as far as scheduling cares: which Pods are theirs."""

import msgspec

from scheduler_svc.core.affinity_objects import LabelSelector
from scheduler_svc.core.objects import ObjectMeta


class LabelsSpec(msgspec.Struct, frozen=True, gc=False):
    """A specification that names its Pods by labels alone."""

    selector: dict[str, str] | None = None


class SelectorSpec(msgspec.Struct, frozen=True, gc=False):
    """A specification that names its Pods by a selector."""

    selector: LabelSelector | None = None


class Service(msgspec.Struct, frozen=True, gc=False):
    """A Service; one without a selector has no Pods."""

    metadata: ObjectMeta
    spec: LabelsSpec = LabelsSpec()


class ReplicationController(msgspec.Struct, frozen=True, gc=False):
    """A ReplicationController."""

    metadata: ObjectMeta
    spec: LabelsSpec = LabelsSpec()


class ReplicaSet(msgspec.Struct, frozen=True, gc=False):
    """A ReplicaSet."""

    metadata: ObjectMeta
    spec: SelectorSpec = SelectorSpec()


class StatefulSet(msgspec.Struct, frozen=True, gc=False):
    """A StatefulSet."""

    metadata: ObjectMeta
    spec: SelectorSpec = SelectorSpec()
