"""Groups of which too few Pods are there: their Pods are told, but not at once.

The Pods of a group are created one after the other, so for a moment every group lacks some; to
write that to each of them would be work for nothing. Who still waits after a while is told.
"""

from typing import Final

from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import Effect, PatchPodCondition
from scheduler_svc.core.failure import UNSCHEDULABLE, failed_scheduling, reference
from scheduler_svc.core.group_members import GroupMembers
from scheduler_svc.core.group_objects import GroupName
from scheduler_svc.core.group_texts import group_message
from scheduler_svc.core.queue import Place, SchedulingQueue

TOLD_AFTER_SECONDS: Final = 5.0
_WAITING: Final = frozenset({Place.GATED, Place.UNSCHEDULABLE})


class IncompleteGroups:
    """Groups that were incomplete when something about them changed, until their Pods are told."""

    def __init__(self, groups: GroupMembers, queue: SchedulingQueue) -> None:
        self._groups = groups
        self._queue = queue
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
                effects += self._tell(name, group_message(name.name, obstacle))
        return effects

    def _tell(self, name: GroupName, text: str) -> list[Effect]:
        effects: list[Effect] = []
        for uid, pod in self._groups.of(name).items():
            is_told = pod.scheduling_gates or pod.condition == (UNSCHEDULABLE, text)
            if is_told or self._queue.place_of(uid) not in _WAITING:
                continue
            effects += [
                failed_scheduling(pod, text),
                PatchPodCondition(
                    pod=reference(pod),
                    reason=UNSCHEDULABLE,
                    message=text,
                    generation=pod.generation,
                    is_transition=pod.condition is None,
                ),
            ]
        return effects

    def next_deadline(self) -> float | None:
        """Give the monotonic second at which `expire` has something to do."""
        return next(iter(self._due_seconds.values()), None)
