"""Pods that are being scheduled or bound, and the events they may have missed.

An attempt works on what was known when it began. If an event during it would
have let the Pod pass, the Pod must not sit in the unschedulable pool waiting
for the next such event. So while any Pod is in flight the events are logged, and
a Pod that comes back is shown those that happened after its own start.

The log is as long as the slowest attempt needs: events before the start of
the oldest one are dropped.

Source: pkg/scheduler/backend/queue/active_queue.go, v1.36.3 (one list there of both Pods and
events). Difference: an event that concerns one Pod only, such as its own update, is
shown to that Pod only, as it would be if the Pod were waiting.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping

import msgspec

from scheduler_svc.core.framework.cluster_events import Occurrence
from scheduler_svc.core.pods import PodInfo


class InFlightPod(msgspec.Struct):
    """A Pod's newest version, the position of its start in the log, whether it is gone since."""

    pod: PodInfo
    start: int
    is_deleted: bool = False


class InFlight:
    """The Pods in flight in the order of their starts, and the log of events."""

    def __init__(self) -> None:
        self._position = 0
        self._pods: OrderedDict[str, InFlightPod] = OrderedDict()
        self._events: deque[tuple[int, Occurrence]] = deque()
        self._counts: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[str]:
        """Give the uids."""
        return iter(self._pods)

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    @property
    def event_counts(self) -> Mapping[str, int]:
        """How many logged events there are of each label."""
        return self._counts

    def start(self, pod: PodInfo) -> None:
        """Note that an attempt begins."""
        self._pods[pod.uid] = InFlightPod(pod, self._position)

    def get(self, uid: str) -> InFlightPod | None:
        """Find a Pod."""
        return self._pods.get(uid)

    def replace(self, pod: PodInfo) -> bool:
        """Take a newer version of a Pod; False if it is not in flight."""
        attempt = self._pods.get(pod.uid)
        if attempt is None:
            return False
        attempt.pod = pod
        attempt.is_deleted = False
        return True

    def mark_deleted(self, uid: str) -> bool:
        """Note that a Pod is gone; False if it is not in flight."""
        attempt = self._pods.get(uid)
        if attempt is None:
            return False
        attempt.is_deleted = True
        return True

    def record(self, occurrence: Occurrence) -> None:
        """Log an event, if there is anyone to be shown it later."""
        if not self._pods:
            return
        self._position += 1
        self._events.append((self._position, occurrence))
        label = occurrence.event.label
        self._counts[label] = self._counts.get(label, 0) + 1

    def events_since_start(self, uid: str) -> list[Occurrence]:
        """Give the events during the attempt that concern the Pod, oldest first; none after it."""
        occurrences: list[Occurrence] = []
        attempt = self._pods.get(uid)
        start = self._position if attempt is None else attempt.start
        for position, occurrence in reversed(self._events):
            if position <= start:
                break
            if occurrence.uid in {None, uid}:
                occurrences.append(occurrence)
        occurrences.reverse()
        return occurrences

    def finish(self, uid: str) -> None:
        """Note that an attempt is over, and drop the events that nobody needs any more."""
        self._pods.pop(uid, None)
        events, counts = self._events, self._counts
        if not events:
            return
        oldest = next(iter(self._pods.values()), None)
        keep_after = self._position if oldest is None else oldest.start
        while events and events[0][0] <= keep_after:
            _, occurrence = events.popleft()
            counts[occurrence.event.label] -= 1

    def find_fault(self) -> str | None:
        """Look for events that nobody needs, or counts that are wrong. Cost: O(log)."""
        first_start = min((pod.start for pod in self._pods.values()), default=self._position)
        if any(position <= first_start for position, _ in self._events):
            return "the log of events begins before the oldest attempt"
        if sum(self._counts.values()) != len(self._events):
            return f"{len(self._events)} events are logged, {self._counts} counted"
        return None
