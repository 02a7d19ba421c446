"""Groups of which too few Pods are there: their Pods are told, but not at once.

The Pods of a group are created one after the other, so for a moment every group lacks some; to
write that to each of them would be work for nothing. Who still waits after a while is told, and
has no room kept any more: nobody knows whether the group will ever be complete.
"""

from typing import Final

from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import Effect, PatchNomination, PatchPodCondition
from scheduler_svc.core.failure import UNSCHEDULABLE, failed_scheduling, reference
from scheduler_svc.core.group_members import GroupMembers
from scheduler_svc.core.group_objects import GroupName
from scheduler_svc.core.group_texts import group_message
from scheduler_svc.core.pod_groups.holds import Holds
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import Place, SchedulingQueue

TOLD_AFTER_SECONDS: Final = 5.0
_WAITING: Final = frozenset({Place.GATED, Place.UNSCHEDULABLE})


class IncompleteGroups:
    """Groups that were incomplete when something about them changed, until their Pods are told."""

    def __init__(self, groups: GroupMembers, queue: SchedulingQueue, holds: Holds) -> None:
        self._groups = groups
        self._queue = queue
        self._holds = holds
        self._nominations = holds.nominations
        # In the order of their times.
        self._due_seconds: dict[GroupName, float] = {}

    def note(self, name: GroupName, now: Now) -> None:
        """Take in that a group or its members have changed."""
        has_members = bool(self._groups.of(name))
        if has_members and name not in self._due_seconds and self._groups.obstacle(name):
            self._due_seconds[name] = now.monotonic_seconds + TOLD_AFTER_SECONDS

    def expire(self, now: Now) -> list[Effect]:
        """Tell the Pods of groups that are incomplete still. O(their Pods)."""
        effects: list[Effect] = []
        while self._due_seconds:
            name, due_seconds = next(iter(self._due_seconds.items()))
            if due_seconds > now.monotonic_seconds:
                break
            del self._due_seconds[name]
            obstacle = self._groups.obstacle(name)
            if obstacle:
                self._holds.stop_waiting(name, now)
                effects += self._tell(name, group_message(name.name, obstacle), now)
        return effects

    def _tell(self, name: GroupName, text: str, now: Now) -> list[Effect]:
        effects: list[Effect] = []
        nominated = self._nominations.nominator.node_names
        for uid, pod in self._groups.of(name).items():
            place = self._queue.place_of(uid)
            if place is Place.IN_FLIGHT and uid in nominated:
                # Pods are being evicted for it; it is looked at again when it may have come back.
                self.note(name, now)
            waiting = self._queue.get(uid) if place in _WAITING else None
            if waiting is None or pod.scheduling_gates:
                continue
            nomination = self._end_nomination(pod, now)
            if waiting.ask_condition((UNSCHEDULABLE, text), pod):
                patch = PatchPodCondition(
                    pod=reference(pod),
                    reason=UNSCHEDULABLE,
                    message=text,
                    nominated_node_name=nomination,
                    generation=pod.generation,
                    is_transition=pod.condition is None,
                )
                effects += [failed_scheduling(pod, text), patch]
            elif nomination is not None:
                effects.append(PatchNomination(reference(pod), nomination))
        return effects

    def _end_nomination(self, pod: PodInfo, now: Now) -> str | None:
        """Give up the room that a Pod was promised; gives what its status is to show then."""
        if pod.uid not in self._nominations.nominator.node_names:
            return None
        self._nominations.end(pod, now)
        return "" if self._nominations.ask(pod, "") else None

    def next_deadline(self) -> float | None:
        """Give the monotonic second at which `expire` has something to do."""
        return next(iter(self._due_seconds.values()), None)
