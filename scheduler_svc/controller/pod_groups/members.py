"""Pods as members of groups: what is read of one, and who is in which group.

Of a Pod as little is kept as its group's status needs, about 0.5 KiB: a group may have
thousands, and messages of a scheduler are long and alike.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from kubeio.changes import Deleted, Listed, ReflectorEvent, Upserted
from kubeio.decoding import Query
from kubeio.resources import ResourcePath
from scheduler_svc.controller.custom_resources import BUILT_IN_POD_GROUPS, POD_GROUPS, ObjectKey
from scheduler_svc.controller.pod_groups.reasons import shorten_message

POD_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
PODS: Final = ResourcePath("", "v1", "pods")
_SCHEDULED: Final = "PodScheduled"
_NOBODY: Final[Mapping[str, "Member"]] = {}


class _Labels(msgspec.Struct, frozen=True, gc=False):
    pod_group: str = msgspec.field(name=POD_GROUP_LABEL, default="")


class _Owner(msgspec.Struct, frozen=True, gc=False):
    name: str = ""


class _Metadata(msgspec.Struct, rename="camel", frozen=True, gc=False):
    name: str
    uid: str
    namespace: str = ""
    resource_version: str = ""
    deletion_timestamp: str = ""
    labels: _Labels = _Labels()
    owner_references: tuple[_Owner, ...] = ()


class _SchedulingGroup(msgspec.Struct, rename="camel", frozen=True, gc=False):
    pod_group_name: str = ""


class _Spec(msgspec.Struct, rename="camel", frozen=True, gc=False):
    node_name: str = ""
    scheduler_name: str = ""
    scheduling_group: _SchedulingGroup = _SchedulingGroup()


class _Condition(msgspec.Struct, frozen=True, gc=False):
    type: str
    status: str
    reason: str = ""
    message: str = ""


class _Status(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""
    conditions: tuple[_Condition, ...] = ()


class WirePod(msgspec.Struct, frozen=True, gc=False):
    """What is decoded of a Pod."""

    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class Member(msgspec.Struct, frozen=True, gc=False):
    """What is kept of a Pod.

    Attributes
    ----------
    groups
        That it belongs to: none, one, or one of each API.
    phase
        ``Pending``, ``Running``, ``Succeeded``, ``Failed``.
    obstacle
        Reason of the condition that says it is not scheduled; "" where there is none.
    message
        Of that condition, shortened.
    owners
        Who it belongs to, ``namespace/name`` each, joined by commas.
    """

    uid: str
    groups: tuple[ObjectKey, ...] = ()
    phase: str = "Pending"
    has_node: bool = False
    is_terminating: bool = False
    obstacle: str = ""
    message: str = ""
    scheduler_name: str = ""
    owners: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def is_live(self) -> bool:
        """Whether it runs, or may yet run."""
        return not (self.is_over or self.is_terminating)


def read_member(pod: WirePod) -> Member:
    """Make a member of a Pod as it was decoded."""
    metadata, spec = pod.metadata, pod.spec
    groups = _groups(
        metadata.namespace, metadata.labels.pod_group, spec.scheduling_group.pod_group_name
    )
    if not groups:
        return Member(metadata.uid)
    obstacle = next(
        (each for each in pod.status.conditions if each.type == _SCHEDULED), _NO_CONDITION
    )
    is_stopped = obstacle.status == "False" and not spec.node_name
    return Member(
        uid=metadata.uid,
        groups=groups,
        phase=sys.intern(pod.status.phase or "Pending"),
        has_node=bool(spec.node_name),
        is_terminating=bool(metadata.deletion_timestamp),
        obstacle=sys.intern(obstacle.reason) if is_stopped else "",
        message=shorten_message(obstacle.message) if is_stopped else "",
        scheduler_name=sys.intern(spec.scheduler_name),
        owners=_owners(
            metadata.namespace, tuple(owner.name for owner in metadata.owner_references)
        ),
    )


_NO_CONDITION: Final = _Condition(_SCHEDULED, "")


@lru_cache(maxsize=4096)
def _groups(namespace: str, label: str, built_in: str) -> tuple[ObjectKey, ...]:
    named = ((POD_GROUPS, label), (BUILT_IN_POD_GROUPS, built_in))
    return tuple(ObjectKey(resource, namespace, name) for resource, name in named if name)


@lru_cache(maxsize=4096)
def _owners(namespace: str, names: tuple[str, ...]) -> str:
    return ",".join(sorted(f"{namespace}/{name}" for name in names))


def members_query(*, with_built_in: bool) -> Query[Member]:
    """Give which Pods are watched.

    A field of the spec can't be selected by: where groups of the built-in API are served, all
    Pods are watched, and of those in no group only that they are there is kept.
    """
    return Query[Member](
        resource=PODS,
        object_type=WirePod,
        convert=read_member,
        label_selector="" if with_built_in else POD_GROUP_LABEL,
    )


class MemberIndex:
    """Who is in which group, kept of what the reflector tells. O(1) an event.

    Parameters
    ----------
    on_change
        Is told of each group that may be another now.
    on_listed
        Is told when all members are known.
    """

    def __init__(
        self, on_change: Callable[[ObjectKey], None], on_listed: Callable[[], None]
    ) -> None:
        self._on_change = on_change
        self._on_listed = on_listed
        self._members: dict[str, Member] = {}
        self._groups: dict[ObjectKey, dict[str, Member]] = {}

    def __len__(self) -> int:
        return len(self._members)

    def of(self, group: ObjectKey) -> Iterable[Member]:
        """Give a group's members."""
        return self._groups.get(group, _NOBODY).values()

    def all(self) -> Iterable[Member]:
        """Give the members of all groups."""
        return self._members.values()

    def clear(self) -> None:
        """Forget all, and tell nobody: a list follows."""
        self._members.clear()
        self._groups.clear()

    def deliver(self, change: ReflectorEvent[Member]) -> None:
        """Take in what the reflector tells."""
        match change:
            case Upserted(member):
                self._put(member)
            case Deleted():
                self._remove(change.uid, keeping=())
            case Listed():
                self._on_listed()

    def _put(self, member: Member) -> None:
        if self._members.get(member.uid) == member:
            return
        self._remove(member.uid, keeping=member.groups)
        if not member.groups:
            return
        self._members[member.uid] = member
        for group in member.groups:
            self._groups.setdefault(group, {})[member.uid] = member
            self._on_change(group)

    def _remove(self, uid: str, *, keeping: tuple[ObjectKey, ...]) -> None:
        """Forget a member; of the groups that it stays in, nobody is told."""
        member = self._members.pop(uid, None)
        if member is None:
            return
        for group in member.groups:
            members = self._groups[group]
            del members[uid]
            if not members:
                del self._groups[group]
            if group not in keeping:
                self._on_change(group)
