"""Members that go back to the queue: with what text, and what calls them again.

Whoever comes back first brings the others along, so of a group that does not fit only the members
that found no Node wait for events; the others wait for those.
"""

from collections.abc import Iterable
from typing import Final

from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import Effect
from scheduler_svc.core.failure import FailureHandler, Rejectors
from scheduler_svc.core.group_objects import GroupName
from scheduler_svc.core.group_texts import group_message
from scheduler_svc.core.plugins.gang_scheduling import MIN_RESOURCES, PACKING, GangScheduling
from scheduler_svc.core.pod_groups.hindrance import shorten, shortfall
from scheduler_svc.core.pod_groups.holds import Holds
from scheduler_svc.core.pod_groups.trial import Closest, Unplaced
from scheduler_svc.core.pod_groups.tried_group import TriedGroup
from scheduler_svc.core.queue import QueuedPodInfo

PLUGIN: Final = GangScheduling.name
OWN: Final = Rejectors(frozenset({PLUGIN}))
# What these wait for covers all that makes room for a Pod.
_ROOM: Final = frozenset(
    {"NodeResourcesFit", "NodeUnschedulable", "TaintToleration", "NodeAffinity"}
)
ROOM: Final = Rejectors(_ROOM | OWN.unschedulable)
_DOMAIN: Final = Rejectors(ROOM.unschedulable | {PACKING})
_TOTAL_ROOM: Final = Rejectors(OWN.unschedulable | {MIN_RESOURCES})


class GroupReturns:
    """Puts members back."""

    def __init__(self, failures: FailureHandler, holds: Holds) -> None:
        self._failures = failures
        self._holds = holds

    def reject(
        self,
        members: Iterable[QueuedPodInfo],
        name: GroupName,
        reason: str,
        now: Now,
        *,
        rejectors: Rejectors = OWN,
        nomination: str | None = "",
    ) -> list[Effect]:
        """Put members back until somebody calls the group, or what `rejectors` wait for does."""
        text = group_message(name.name, reason)
        return [
            effect
            for member in members
            for effect in self._failures.reject(member, text, now, rejectors, nomination=nomination)
        ]

    def reject_for_resources(self, tried: TriedGroup, lacking: str, now: Now) -> list[Effect]:
        """Put members back since all Nodes together have too little of the resources named."""
        text = group_message(tried.name.name, f"minResources: too little {lacking}")
        return self._reject_all(tried, text, {tried.members[0].pod.uid: _TOTAL_ROOM}, now)

    def reject_short(self, tried: TriedGroup, closest: Closest, now: Now) -> list[Effect]:
        """Put members back since too few of them fit at the same time."""
        fitting_count = closest.placed_count + len(tried.placed)
        hindrances = [u.hindrance for u in closest.unplaced]
        reason = shortfall(tried.group.min_count, fitting_count, hindrances)
        packing = tried.group.packing
        if packing is not None and tried.is_packed:
            key = shorten(packing.topology_key)
            was_tried = closest.placed_count or closest.unplaced
            reason += f" (in one {key})" if was_tried else f": no Node has the label {key}"
        text = group_message(tried.name.name, reason, [h.message for h in hindrances])
        rejectors: dict[str, Rejectors] = {}
        for u in closest.unplaced:
            if u.hindrance.rejectors is None:
                # Something went wrong, and no event tells when it is right again.
                return [e for m in tried.members for e in self._failures.fail(m, text, now)]
            rejectors[u.queued.pod.uid] = u.hindrance.rejectors
        one_of_each = {member.pod.shape: member.pod.uid for member in tried.members}
        if tried.is_packed or len(one_of_each) > 1:
            # Another Node for any of them may do: it then leaves its place to one that has none.
            room = _DOMAIN if tried.is_packed else ROOM
            for shape, uid in one_of_each.items():
                elsewhere = _join(Rejectors(closest.restricting.get(shape, frozenset())), room)
                rejectors[uid] = _join(rejectors.get(uid, OWN), elsewhere)
        return self._reject_all(tried, text, rejectors, now)

    def _reject_all(
        self, tried: TriedGroup, text: str, rejectors: dict[str, Rejectors], now: Now
    ) -> list[Effect]:
        # Room that is kept stays so while the group is tried in vain.
        nomination = None if self._holds.keeps_room_for(tried.name) else ""
        effects: list[Effect] = []
        for member in tried.members:
            joined = _join(rejectors.get(member.pod.uid, OWN), OWN)
            effects += self._failures.reject(member, text, now, joined, nomination=nomination)
        return effects

    def reject_alone(self, unplaced: Unplaced, tried: TriedGroup, now: Now) -> list[Effect]:
        """Put back a member that its group does without."""
        found = unplaced.hindrance
        if found.rejectors is None:
            return self._failures.fail(unplaced.queued, found.message, now)
        rejectors = _join(found.rejectors, _DOMAIN) if tried.is_packed else found.rejectors
        return self._failures.reject(unplaced.queued, found.message, now, rejectors, nomination="")


def _join(one: Rejectors, other: Rejectors) -> Rejectors:
    return Rejectors(one.unschedulable | other.unschedulable, one.pending | other.pending)
