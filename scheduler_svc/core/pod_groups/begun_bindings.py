"""Members on their way to a Node: whoever is turned back there has its room kept for a while.

A Binding may be refused, or what comes before it fail, when the others are bound already. The
member is tried again after a backoff; without this a Pod of its priority that waits would be there
first, and the group short for as long as that runs. Room is kept once for each: who is turned back
again and again, by a webhook say, holds nothing for ever.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from scheduler_svc.core.binding_cycle import BindingCycles
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.group_objects import GroupName
from scheduler_svc.core.placement import Placement
from scheduler_svc.core.pod_groups.holds import Holds

_SLACK: Final = 64


class _Begun(msgspec.Struct, frozen=True):
    """Whose Binding has begun, and to which Node."""

    name: GroupName
    node_name: str


class BegunBindings:
    """The members, by uid, from the decision until the watch tells of their Node.

    Who has arrived is forgotten by and by: when some have been turned back, or there are many.
    """

    def __init__(self, cache: Cache, bindings: BindingCycles, holds: Holds) -> None:
        self._cache = cache
        self._bindings = bindings
        self._released_count = 0
        self._limit = _SLACK
        self._groups = cache.cluster.groups
        self._holds = holds
        self._begun: dict[str, _Begun] = {}
        self._kept: set[str] = set()

    def __len__(self) -> int:
        """Count the members of which it is not known that they have arrived."""
        return len(self._begun)

    def begin(self, name: GroupName, placed: Sequence[Placement]) -> None:
        """Take in that members of a group are about to be bound. Each: O(1) amortized."""
        if len(self._begun) > self._limit:
            self._look()
            self._limit = 2 * len(self._begun) + _SLACK
        names = self._cache.columns.names
        for placement in placed:
            self._begun[placement.queued.pod.uid] = _Begun(name, names[placement.row])

    def review(self) -> None:
        """Keep the room of those that have been turned back.

        Cost: O(members on their way) after anybody was, else nothing: each attempt begins so.
        """
        if self._bindings.released_count != self._released_count:
            self._look()

    def _look(self) -> None:
        self._released_count = self._bindings.released_count
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
