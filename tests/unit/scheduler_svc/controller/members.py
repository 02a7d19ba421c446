"""Members and objects for tests of the controller, in few words."""

from collections.abc import Mapping
from itertools import count
from typing import Any

from scheduler_svc.controller.custom_resources import POD_GROUPS, CustomResource, ObjectKey
from scheduler_svc.controller.holdings import HeldObject
from scheduler_svc.controller.pod_groups.members import Member

GROUP = ObjectKey(POD_GROUPS, "default", "train")
_uids = count()


def _member(**fields: Any) -> Member:
    return Member(uid=f"pod-{next(_uids)}", groups=(GROUP,), **fields)


def pending(number: int = 1) -> list[Member]:
    """Give members that nobody has tried yet."""
    return [_member() for _ in range(number)]


def gated(number: int = 1) -> list[Member]:
    return [_member(obstacle="SchedulingGated") for _ in range(number)]


def stuck(number: int = 1, message: str = "pod group: needs 8, 6 fit") -> list[Member]:
    """Give members that do not fit."""
    return [_member(obstacle="Unschedulable", message=message) for _ in range(number)]


def erring(number: int = 1) -> list[Member]:
    return [_member(obstacle="SchedulerError", message="boom") for _ in range(number)]


def placed(number: int = 1) -> list[Member]:
    """Give members that have a Node and do not run yet."""
    return [_member(has_node=True) for _ in range(number)]


def running(number: int = 1) -> list[Member]:
    return [_member(has_node=True, phase="Running") for _ in range(number)]


def evicted(number: int = 1) -> list[Member]:
    """Give members that run and are being ended."""
    return [_member(has_node=True, phase="Running", is_terminating=True) for _ in range(number)]


def succeeded(number: int = 1) -> list[Member]:
    return [_member(has_node=True, phase="Succeeded") for _ in range(number)]


def failed(number: int = 1) -> list[Member]:
    return [_member(has_node=True, phase="Failed") for _ in range(number)]


def held(
    name: str = "train",
    *,
    resource: CustomResource = POD_GROUPS,
    namespace: str = "default",
    uid: str = "uid-1",
    version: int = 1,
    generation: int = 1,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> HeldObject:
    """Give an object as it is held."""
    return HeldObject(
        key=ObjectKey(resource, namespace, name),
        uid=uid,
        resource_version=str(version),
        generation=generation,
        created_at="2026-11-29T12:00:00Z",
        spec=spec or {},
        status=status or {},
        annotations=annotations or {},
    )
