"""Changes nominations, and calls the Pods that had to leave room for one that ends.

Source: pkg/scheduler/eventhandlers.go (`hasNominatedNodeNameChanged`,
`getLEPriorityPreCheck`), v1.36.3. Differences: a nomination that was never written to the
Pod's status counts, too, and so does one whose Pod is placed elsewhere; who is nominated counts
by its labels on its Node, so others are told when they change.
"""

from typing import Final

import msgspec

from scheduler_svc.core.clock import Now
from scheduler_svc.core.framework.cluster_events import (
    ASSIGNED_POD_DELETE,
    ActionType,
    ClusterEvent,
    EventResource,
)
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import SchedulingQueue

_RELABELLED: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_LABEL)


class Nominations:
    """The nominator, and the queue that must hear of nominations that end.

    What a Pod's status says of its nomination is written behind the decisions and told by the
    watch still later, so it is remembered what was asked for last.
    """

    def __init__(self, nominator: Nominator, queue: SchedulingQueue) -> None:
        self.nominator = nominator
        self._queue = queue
        self._asked: dict[str, str] = {}

    def ask(self, pod: PodInfo, node_name: str) -> bool:
        """Note that a Pod's status is to show a nomination; whether that has to be written."""
        shown = pod.nominated_node_name
        if shown == node_name == self._asked.get(pod.uid, shown):
            return False
        self._asked[pod.uid] = node_name
        return True

    def leave(self, pod: PodInfo, now: Now, *, placed_on: str = "") -> None:
        """Take in that a Pod is gone, or has a Node according to the watch."""
        self._asked.pop(pod.uid, None)
        self.end(pod, now, placed_on=placed_on)

    def set(self, pod: PodInfo, node_name: str, now: Now) -> str:
        """Nominate a Pod, "" for nowhere; gives the Node it was nominated to before."""
        former = self.nominator.nominate(pod, node_name)
        self._call_others(pod, former, node_name, now)
        return former

    def update(self, old: PodInfo | None, new: PodInfo, now: Now) -> None:
        """Take in a pending Pod as the watch tells it."""
        self.note_shown(new)
        if new.nominated_node_name or self.nominator.node_names:
            former = self.nominator.update(old, new)
            node_name = self.nominator.node_name_of(new.uid)
            self._call_others(old or new, former, node_name, now)
            if node_name and old is not None and old.labels != new.labels:
                self._tell_labels(old, new, node_name, now)

    def note_shown(self, pod: PodInfo) -> None:
        """Take in what the watch tells of the status, if that is what was asked for."""
        if self._asked and self._asked.get(pod.uid) == pod.nominated_node_name:
            del self._asked[pod.uid]

    def end(self, pod: PodInfo, now: Now, *, placed_on: str = "") -> None:
        """Take in that a Pod needs its nomination no more; it may have a Node."""
        if self.nominator.node_names:
            self._call_others(pod, self.nominator.forget(pod.uid), placed_on, now)

    def cancel(self, pod: PodInfo, now: Now) -> None:
        """Drop a nomination whose room is another's now; the Pod itself is called, too."""
        self._call(pod, self.nominator.forget(pod.uid), now, with_itself=True)

    def _call_others(self, pod: PodInfo, former: str, node_name: str, now: Now) -> None:
        if former and former != node_name:
            self._call(pod, former, now, with_itself=False)

    def _call(self, pod: PodInfo, former: str, now: Now, *, with_itself: bool) -> None:
        """Call Pods of the same or a lower priority, as if the Pod had been on the Node."""
        gone = msgspec.structs.replace(pod, nominated_node_name=former)
        self._queue.move_on_event(
            ASSIGNED_POD_DELETE,
            gone,
            None,
            now,
            eligible=lambda other: (
                other.priority <= pod.priority and (with_itself or other.uid != pod.uid)
            ),
        )

    def _tell_labels(self, old: PodInfo, new: PodInfo, node_name: str, now: Now) -> None:
        """Call Pods of the same or a lower priority, as if the Pod were on the Node already."""
        before, after = (
            msgspec.structs.replace(pod, nominated_node_name=node_name) for pod in (old, new)
        )
        self._queue.move_on_event(
            _RELABELLED,
            before,
            after,
            now,
            eligible=lambda other: other.priority <= new.priority and other.uid != new.uid,
        )
