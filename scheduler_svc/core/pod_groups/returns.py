"""Members that go back to the queue: with what text, and what calls them again.

Whoever comes back first brings the others along, so of a group that does not fit only the members
that found no Node wait for events; the others wait for those.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import Effect
from scheduler_svc.core.failure import FailureHandler, Rejectors
from scheduler_svc.core.group_objects import GroupName
from scheduler_svc.core.group_texts import group_message
from scheduler_svc.core.pod_groups.hindrance import shorten, shortfall
from scheduler_svc.core.pod_groups.holds import Holds
from scheduler_svc.core.pod_groups.trial import Unplaced
from scheduler_svc.core.pod_groups.tried_group import TriedGroup
from scheduler_svc.core.queue import QueuedPodInfo

PLUGIN: Final = "GangScheduling"
OWN: Final = Rejectors(frozenset({PLUGIN}))
# What they wait for covers all that makes room in a domain, or in all Nodes together.
_ROOM: Final = frozenset(
    {"NodeResourcesFit", "NodeUnschedulable", "TaintToleration", "NodeAffinity"}
)
ROOM: Final = Rejectors(_ROOM | OWN.unschedulable)


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
        return self._reject_all(tried, text, {tried.members[0].pod.uid: ROOM}, now)

    def reject_short(
        self, tried: TriedGroup, placed_count: int, unplaced: Sequence[Unplaced], now: Now
    ) -> list[Effect]:
        """Put members back since too few of them fit at the same time."""
        fitting_count = placed_count + len(tried.placed_rows)
        hindrances = [u.hindrance for u in unplaced]
        reason = shortfall(tried.group.min_count, fitting_count, hindrances)
        rejectors: dict[str, Rejectors] = {}
        packing = tried.group.packing
        if packing is not None and packing.is_required:
            key = shorten(packing.topology_key)
            reason += f" (in one {key})" if placed_count or unplaced else f": no Node has {key}"
            rejectors[tried.members[0].pod.uid] = ROOM
        text = group_message(tried.name.name, reason, [h.message for h in hindrances])
        for u in unplaced:
            if u.hindrance.rejectors is None:
                # Something went wrong, and no event tells when it is right again.
                return [e for m in tried.members for e in self._failures.fail(m, text, now)]
            rejectors.setdefault(u.queued.pod.uid, u.hindrance.rejectors)
        return self._reject_all(tried, text, rejectors, now)

    def _reject_all(
        self, tried: TriedGroup, text: str, rejectors: dict[str, Rejectors], now: Now
    ) -> list[Effect]:
        # Room that is kept stays so while the group is tried in vain.
        nomination = None if self._holds.keeps_room_for(tried.name) else ""
        effects: list[Effect] = []
        for member in tried.members:
            known = rejectors.get(member.pod.uid, OWN)
            joined = Rejectors(known.unschedulable | OWN.unschedulable, known.pending)
            effects += self._failures.reject(member, text, now, joined, nomination=nomination)
        return effects

    def reject_alone(self, unplaced: Unplaced, now: Now) -> list[Effect]:
        """Put back a member that its group does without."""
        found = unplaced.hindrance
        if found.rejectors is None:
            return self._failures.fail(unplaced.queued, found.message, now)
        return self._failures.reject(
            unplaced.queued, found.message, now, found.rejectors, nomination=""
        )
