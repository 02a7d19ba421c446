"""Members on their way to a Node: whoever is turned back there has its room kept for a while.

A Binding may be refused, or what comes before it fail, when the others are bound already. The
member is tried again after a backoff; without this a Pod of its priority that waits would be there
first, and the group short for as long as that runs. Room is kept once for each: who is turned back
again and again, by a webhook say, holds nothing for ever.
"""

from collections.abc import Sequence

import msgspec

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.group_objects import GroupName
from scheduler_svc.core.placement import Placement
from scheduler_svc.core.pod_groups.holds import Holds


class _Begun(msgspec.Struct, frozen=True):
    """Whose Binding has begun, and to which Node."""

    name: GroupName
    node_name: str


class BegunBindings:
    """The members, by uid, from the decision until the watch tells of their Node."""

    def __init__(self, cache: Cache, holds: Holds) -> None:
        self._cache = cache
        self._groups = cache.cluster.groups
        self._holds = holds
        self._begun: dict[str, _Begun] = {}
        self._kept: set[str] = set()

    def begin(self, name: GroupName, placed: Sequence[Placement]) -> None:
        """Take in that members of a group are about to be bound."""
        names = self._cache.columns.names
        for placement in placed:
            self._begun[placement.queued.pod.uid] = _Begun(name, names[placement.row])

    def review(self) -> None:
        """Keep the room of those that have been turned back. O(members on their way)."""
        for uid, begun in list(self._begun.items()):
            if self._cache.is_assumed(uid):
                continue
            del self._begun[uid]
            if uid not in self._cache:
                self._keep(uid, begun)

    def _keep(self, uid: str, begun: _Begun) -> None:
        members = self._groups.of(begun.name)
        group, pod = self._groups.group(begun.name), members.get(uid)
        if group is None or pod is None or pod.is_terminating or uid in self._kept:
            return
        placed_count = sum(
            member.uid in self._cache and not member.is_terminating for member in members.values()
        )
        if 0 < placed_count < group.min_count:
            self._kept = {known for known in self._kept if known in self._groups} | {uid}
            self._holds.keep_room(pod, begun.node_name, begun.name)
