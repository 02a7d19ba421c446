"""What happens to groups and their members, and whom it calls.

A member that comes may complete its group, a group that comes or changes may ask for fewer: then
those that were kept out of the queue are let in; one that somebody else has bound is one that need
not fit. A member that is being deleted, or gone at once, leaves a place; one less may leave the
others of a group that is to be packed another domain, and smaller ones the room it would have
taken.
"""

from collections.abc import Iterable
from typing import Any

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from scheduler_svc.core.group_members import GroupMembers, group_name, is_candidate
from scheduler_svc.core.group_objects import Group, GroupName
from scheduler_svc.core.plugins.gang_scheduling import PACKING
from scheduler_svc.core.pod_groups.holds import Holds
from scheduler_svc.core.pod_groups.incomplete import IncompleteGroups
from scheduler_svc.core.pod_groups.returns import PLUGIN
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import SchedulingQueue

_MEMBER_ADD = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.ADD)
_MEMBER_DELETE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)


class GroupEvents:
    """Keeps the members up to date, and calls groups; `incomplete` tells those that wait.

    `found_bound` are groups of which somebody else has bound a member, to be looked at.
    """

    def __init__(self, cache: Cache, queue: SchedulingQueue, holds: Holds) -> None:
        self._cache = cache
        self._groups: GroupMembers = cache.cluster.groups
        self._queue = queue
        self._holds = holds
        self.found_bound: set[GroupName] = set()
        self.incomplete = IncompleteGroups(self._groups, queue, holds)

    def note(self, pod: PodInfo, now: Now) -> GroupName | None:
        """Take in a Pod before anyone else does; gives its group if that is to be called after."""
        if self._groups.has_left(pod):
            self._leave(pod.uid, now)
        old, name = self._groups.note(pod), pod.group
        if name is None:
            return None
        if pod.is_finished:
            self._leave(pod.uid, now)
            return None
        if old is not None and pod.is_terminating and not old.is_terminating:
            self._lose(pod, name, now)
        is_news = pod.node_name and (old is None or not old.node_name)
        is_found = is_news and pod.uid not in self._cache
        if is_found:
            self.found_bound.add(name)
        if old is not None and is_candidate(pod) == is_candidate(old):
            return name if is_found else None
        self.incomplete.note(name, now)
        return name

    def _lose(self, pod: PodInfo, name: GroupName, now: Now) -> None:
        """Keep the place of a member that goes, if the group runs and too few are left."""
        group = self._groups.group(name)
        left = [m for m in self._groups.of(name).values() if not m.is_terminating]
        placed_count = sum(member.uid in self._cache for member in left)
        if group is None or not left:
            self._holds.leave(name, now)
        elif not placed_count:
            self._holds.give_places_up(name, now)
        elif pod.node_name and placed_count < group.min_count:
            self._holds.keep_place(pod, name, now)

    def drop(self, uid: str, now: Now) -> None:
        """Take in that a Pod is gone."""
        pod = self._leave(uid, now)
        if pod is not None and pod.group is not None and not pod.is_terminating:
            self._lose(pod, pod.group, now)

    def _leave(self, uid: str, now: Now) -> PodInfo | None:
        """Take in that a Pod is no member any more; gives it if it was one."""
        pod = self._groups.drop(uid)
        if pod is None or pod.group is None:
            return None
        self.incomplete.note(pod.group, now)
        left = self._groups.of(pod.group)
        if not left:
            self.found_bound.discard(pod.group)
            self._holds.leave(pod.group, now)
        elif all(member.node_name for member in left.values()):
            self._holds.stop_waiting(pod.group, now)
        elif not pod.is_terminating:
            also = _concerned((pod, *left.values()))
            self.call(pod.group, now, _MEMBER_DELETE, also=also)
        return pod

    def call(
        self,
        name: GroupName,
        now: Now,
        event: ClusterEvent = _MEMBER_ADD,
        *,
        also: str = "",
    ) -> None:
        """Let members in that were kept out, if enough are there. O(members).

        Those that were tried and rejected as `also`, too; by default those that a member more or
        less concerns.
        """
        if not self._groups.obstacle(name):
            members = self._groups.of(name)
            also = also or _concerned(members.values())
            self._queue.recheck(members, PLUGIN, event.label, now, also=also)

    def change_group(self, kind: ObjectKind, old: Any, new: Any, now: Now) -> None:
        """Take in that an object, which may be a group, came, changed or went."""
        metadata = (new or old).metadata
        name = group_name(kind, metadata.namespace, metadata.name)
        if name is None:
            return
        self.incomplete.note(name, now)
        if new is None:
            self._holds.leave(name, now)
            return
        if old is not None and _demands(old) == _demands(new):
            return
        action = ActionType.ADD if old is None else ActionType.UPDATE
        self.call(name, now, ClusterEvent(EventResource.POD_GROUP, action), also=PLUGIN)


def _concerned(members: Iterable[PodInfo]) -> str:
    """Say as what those are rejected to whom a member more or less makes a difference.

    To all that were tried where members of several kinds are in one another's way.
    """
    return PLUGIN if len({member.shape for member in members}) > 1 else PACKING


def _demands(group: Group) -> tuple[object, ...]:
    return group.min_count, group.packing, group.min_resources
