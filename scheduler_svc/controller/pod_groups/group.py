"""A PodGroup as its status is judged, whichever API it is of."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from scheduler_svc.controller.conditions import Verdict, read_verdict
from scheduler_svc.controller.custom_resources import POD_GROUPS, CustomResource
from scheduler_svc.controller.pod_groups.annotations import VALID

SCHEDULED = "PodGroupScheduled"
"""The type of the condition, in both APIs."""
NO_ANNOTATIONS: Final[Mapping[str, str]] = MappingProxyType({})


class GroupStatus(NamedTuple):
    """The fields of ``scheduling.x-k8s.io`` but for the conditions; "" and 0 are not written.

    `scheduled` counts members that have a Node, whatever has become of them.
    """

    phase: str = ""
    occupied_by: str = ""
    scheduled: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    schedule_start_time: str = ""


class Group(NamedTuple):
    """What a group asks for, and what its status says now.

    Attributes
    ----------
    min_member
        How many have to have a Node at the same time; at least 1.
    told, told_valid
        What the conditions PodGroupScheduled and Valid say; None where they were never written.
    annotations
        Those in our name; the built-in API has none.
    is_built_in
        Whether it is of the built-in API: it has a condition only, which stays True once it is.
    """

    min_member: int
    status: GroupStatus = GroupStatus()
    told: Verdict | None = None
    is_built_in: bool = False
    told_valid: Verdict | None = None
    annotations: Mapping[str, str] = NO_ANNOTATIONS


def read_group(
    resource: CustomResource,
    spec: Mapping[str, Any],
    status: Mapping[str, Any],
    annotations: Mapping[str, str] = NO_ANNOTATIONS,
) -> Group:
    """Read a group; what is not as its schema has it counts as absent."""
    conditions = status.get("conditions")
    told = read_verdict(conditions, SCHEDULED)
    if resource == POD_GROUPS:
        return Group(
            _count(spec.get("minMember")),
            _status(status),
            told,
            told_valid=read_verdict(conditions, VALID),
            annotations=annotations,
        )
    policy = _mapping(spec.get("schedulingPolicy"))
    gang = _mapping(policy.get("gang"))
    return Group(_count(gang.get("minCount")), told=told, is_built_in=True)


def _status(status: Mapping[str, Any]) -> GroupStatus:
    def text(name: str) -> str:
        value = status.get(name)
        return value if isinstance(value, str) else ""

    def number(name: str) -> int:
        value = status.get(name)
        return value if isinstance(value, int) else 0

    return GroupStatus(
        phase=text("phase"),
        occupied_by=text("occupiedBy"),
        scheduled=number("scheduled"),
        running=number("running"),
        succeeded=number("succeeded"),
        failed=number("failed"),
        schedule_start_time=text("scheduleStartTime"),
    )


def _count(value: object) -> int:
    return max(value, 1) if isinstance(value, int) else 1


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
