"""Which Pods are members of which group, pending and on Nodes.

Kept of what the watch tells; a Pod that is only assumed to be on a Node is pending here.
"""

from collections.abc import Mapping
from typing import Final

from scheduler_svc.core.cluster_objects import ClusterObjects, ObjectKind
from scheduler_svc.core.group_objects import Group, GroupApi, GroupName
from scheduler_svc.core.pods import PodInfo

_KINDS: Final = {
    GroupApi.SCHEDULER_PLUGINS: ObjectKind.POD_GROUP,
    GroupApi.BUILT_IN: ObjectKind.BUILT_IN_POD_GROUP,
}
_APIS: Final = {kind: api for api, kind in _KINDS.items()}
_NOBODY: Final[Mapping[str, PodInfo]] = {}


class GroupMembers:
    """The members of all groups, by uid. O(1) a Pod; Pods of no group cost a comparison."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._objects = objects
        self._groups: dict[GroupName, dict[str, PodInfo]] = {}
        self._group_of: dict[str, GroupName] = {}
        self._candidate_counts: dict[GroupName, int] = {}

    def __contains__(self, uid: str) -> bool:
        """Whether a Pod is a member of any group."""
        return uid in self._group_of

    def __len__(self) -> int:
        """Count the groups that have members."""
        return len(self._groups)

    def group(self, name: GroupName) -> Group | None:
        """Give the PodGroup; None if there is none of that name."""
        group: Group | None = self._objects[_KINDS[name.api]].get(name.namespace, name.name)
        return group

    def of(self, name: GroupName) -> Mapping[str, PodInfo]:
        """Give the members that are known, by uid, in the order in which they came."""
        return self._groups.get(name, _NOBODY)

    def has_left(self, pod: PodInfo) -> bool:
        """Whether a Pod was a member of another group than its newest version says. O(1)."""
        former = self._group_of.get(pod.uid)
        return former is not None and former != pod.group

    def note(self, pod: PodInfo) -> PodInfo | None:
        """Take in a new or changed Pod; gives what was known of it as a member of its group."""
        if pod.group is None and not self._group_of:
            return None
        if self.has_left(pod):
            self.drop(pod.uid)
        if pod.group is None:
            return None
        self._group_of[pod.uid] = pod.group
        members = self._groups.setdefault(pod.group, {})
        old = members.get(pod.uid)
        members[pod.uid] = pod
        change = is_candidate(pod) - (old is not None and is_candidate(old))
        self._candidate_counts[pod.group] = self._candidate_counts.get(pod.group, 0) + change
        return old

    def drop(self, uid: str) -> PodInfo | None:
        """Take in that a Pod is gone; gives it if it was a member."""
        name = self._group_of.pop(uid, None)
        if name is None:
            return None
        members = self._groups[name]
        pod = members.pop(uid)
        self._candidate_counts[name] -= is_candidate(pod)
        if not members:
            del self._groups[name]
            del self._candidate_counts[name]
        return pod

    def obstacle(self, name: GroupName) -> str:
        """Say why no member may be tried yet, that too few are there; "" if nothing is. O(1)."""
        group = self.group(name)
        if group is None:
            return f"PodGroup {name.key} does not exist"
        count = self._candidate_counts.get(name, 0)
        if count >= group.min_count:
            return ""
        return f"needs {group.min_count} Pods, has {count}"


def is_candidate(pod: PodInfo) -> bool:
    """Whether a member counts: it is on a Node, or may be tried."""
    return not pod.is_terminating and (bool(pod.node_name) or not pod.scheduling_gates)


def group_name(kind: ObjectKind, namespace: str, name: str) -> GroupName | None:
    """Give the group that an object of a kind is; None if that is no kind of groups."""
    api = _APIS.get(kind)
    return None if api is None else GroupName(api, namespace, name)
