"""Pending Pods that none of our profiles is for: other schedulers', and those a profile has left.

Kept so that a profile that comes while we run finds the Pods that waited for it: the watch
tells of a Pod once. Cost: half a KiB for a Pod whose shape others have, 1.4 KiB for any other.
"""

from collections.abc import Iterable

from scheduler_svc.core.effects import EventType, PodReference, RecordEvent
from scheduler_svc.core.pods import PodInfo

PROFILE_DELETED = "SchedulerProfileDeleted"


class UnservedPods:
    """By uid, in the order in which they came; none until `keeps` says that they are kept.

    `causes` says, by scheduler name, why a profile that was served is served no more.
    """

    def __init__(self) -> None:
        self.keeps = False
        self._pods: dict[str, PodInfo] = {}
        self.causes: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def note(self, pod: PodInfo) -> None:
        """Take in a Pod that is new, or has changed."""
        if self.keeps:
            self._pods[pod.uid] = pod

    def forget(self, uid: str) -> None:
        """Take in that a Pod is gone, or pending no more."""
        self._pods.pop(uid, None)

    def take(self, scheduler_name: str) -> list[PodInfo]:
        """Give up the Pods of one scheduler name. O(Pods)."""
        taken = [pod for pod in self._pods.values() if pod.scheduler_name == scheduler_name]
        for pod in taken:
            del self._pods[pod.uid]
        return taken

    def farewell(self, pod: PodInfo, served: Iterable[str]) -> RecordEvent:
        """Tell a Pod's users that it will not be scheduled, and what they can do."""
        names = ", ".join(sorted(served))
        note = (
            f"{self.causes[pod.scheduler_name]}: no profile serves schedulerName "
            f'"{pod.scheduler_name}" any more. Create one that does, or create the Pod anew with '
            f"a schedulerName that is served: {names}"
        )
        return RecordEvent(
            pod=PodReference(pod.namespace, pod.name, pod.uid),
            scheduler_name=pod.scheduler_name,
            type=EventType.WARNING,
            reason=PROFILE_DELETED,
            action="Scheduling",
            note=note,
        )
