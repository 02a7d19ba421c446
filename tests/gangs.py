"""PodGroups and their members for tests: say what matters, the rest is plain."""

from collections.abc import Sequence
from typing import Unpack

from scheduler_svc.core.annotated_objects import AnnotatedMeta
from scheduler_svc.core.group_objects import (
    PACK_BY_ANNOTATION,
    PACK_BY_MODE_ANNOTATION,
    POD_GROUP_LABEL,
    GroupApi,
    GroupName,
    PodGroup,
    PodGroupSpec,
)
from scheduler_svc.core.objects import QuantityText
from scheduler_svc.core.pods import PodInfo
from tests.builders import PodFields, make_pod_info


def make_group(
    name: str = "gang",
    min_count: int = 2,
    *,
    pack_by: str = "",
    pack_mode: str = "",
    min_resources: dict[str, QuantityText] | None = None,
    timeout_seconds: int | None = None,
) -> PodGroup:
    """Build a PodGroup of `scheduling.x-k8s.io` in the namespace default."""
    annotations = {PACK_BY_ANNOTATION: pack_by, PACK_BY_MODE_ANNOTATION: pack_mode}
    return PodGroup(
        metadata=AnnotatedMeta(
            name=name,
            namespace="default",
            annotations={key: value for key, value in annotations.items() if value} or None,
        ),
        spec=PodGroupSpec(min_count, min_resources, timeout_seconds),
    )


def group_named(name: str = "gang") -> GroupName:
    """Name such a group."""
    return GroupName(GroupApi.SCHEDULER_PLUGINS, "default", name)


def make_member(name: str, group: str = "gang", **fields: Unpack[PodFields]) -> PodInfo:
    """Build a Pod that is a member of a group."""
    fields["labels"] = {POD_GROUP_LABEL: group, **fields.get("labels", {})}
    return make_pod_info(name, **fields)


def make_members(count: int, group: str = "gang", **fields: Unpack[PodFields]) -> Sequence[PodInfo]:
    """Build members alike, named after the group with numbers."""
    return [make_member(f"{group}-{i}", group, **fields) for i in range(count)]
