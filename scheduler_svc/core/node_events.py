"""What the watch says of Nodes, what their kubelets refuse, and whom a change may help.

Source: pkg/scheduler/eventhandlers.go, v1.36.3; it knows nothing of refusals.
"""

from typing import Final

from scheduler_svc.core.binding_cycle import BindingCycles
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import (
    Effect,
    EventType,
    PodReference,
    RecordEvent,
    ReportRefusal,
)
from scheduler_svc.core.events import PodRefused
from scheduler_svc.core.failure import event_note
from scheduler_svc.core.framework.cluster_changes import NODE_ADD, NODE_DELETE, node_changes
from scheduler_svc.core.framework.cluster_events import ClusterEvent
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import SchedulingQueue
from scheduler_svc.core.resources import CPU
from scheduler_svc.core.withheld_room import WITHHELD_SECONDS, WithheldRoom

REFUSED: Final = "RefusedByKubelet"
_LACK_OF_ROOM: Final = "OutOf"


class NodeEvents:
    """Keeps the Nodes, and of each what its kubelet really has.

    Refused Pods are told of by who bound them: `instance` is this scheduler's, the beginning of
    its decision ids. `heard` takes upstream's names of what happens.
    """

    def __init__(
        self,
        instance: str,
        cache: Cache,
        queue: SchedulingQueue,
        bindings: BindingCycles,
        heard: list[str],
    ) -> None:
        self._instance = instance
        self._cache = cache
        self._queue = queue
        self._bindings = bindings
        self._heard = heard
        self.withheld = WithheldRoom(cache)

    def upsert(self, node: NodeInfo, now: Now) -> None:
        """Take in a new or changed Node."""
        self._store(self.withheld.offered(node), now)

    def delete(self, name: str, now: Now) -> list[Effect]:
        """Take in that a Node is gone."""
        self.withheld.forget(name)
        removed = self._cache.remove_node(name)
        if removed is None:
            return []
        self._hear(NODE_DELETE, removed, None, now)
        return self._bindings.leave_node(name, now)

    def arrive(self, pod: PodInfo, now: Now) -> None:
        """Take in a Pod on a Node, before anybody else does."""
        node = self.withheld.arrive(pod)
        if node is not None:
            self._store(node, now)

    def refuse(self, event: PodRefused, now: Now) -> list[Effect]:
        """Take in that a kubelet has refused a Pod; its end is told by itself."""
        learned = self.withheld.learn(event, now)
        amount = ""
        if learned is not None:
            node, resource, missing = learned
            amount = f"{missing}m {resource}" if resource == CPU else f"{missing} {resource}"
            self._store(node, now)
        if not event.decision_id.startswith(f"{self._instance}-"):
            return []
        pod = PodReference(event.namespace, event.name, event.uid)
        report = ReportRefusal(
            pod=pod,
            scheduler_name=event.scheduler_name,
            node_name=event.node_name,
            reason=event.reason,
            message=event.message,
            withheld=amount,
        )
        told = RecordEvent(
            pod=pod,
            scheduler_name=event.scheduler_name,
            type=EventType.WARNING,
            reason=REFUSED,
            action="Scheduling",
            note=event_note(_explained(event, amount)),
        )
        return [report, told]

    def expire(self, now: Now) -> None:
        """Do what is due at `next_deadline`."""
        for node in self.withheld.expire(now):
            self._store(node, now)

    def next_deadline(self) -> float | None:
        """Give the monotonic second at which `expire` is due."""
        return self.withheld.next_deadline()

    def _store(self, node: NodeInfo, now: Now) -> None:
        old = self._cache.set_node(node)
        if old is None:
            self._hear(NODE_ADD, None, node, now)
            return
        for change in node_changes(old, node):
            self._hear(change, old, node, now)

    def _hear(
        self, change: ClusterEvent, old: NodeInfo | None, new: NodeInfo | None, now: Now
    ) -> None:
        self._heard.append(change.label)
        self._queue.move_on_event(change, old, new, now)


def _explained(event: PodRefused, withheld: str) -> str:
    if withheld:
        what = (
            f"Its kubelet has {withheld} less than the pods here add up to: no pod is sent there "
            f"for it until that is accounted for, {WITHHELD_SECONDS:.0f} s at most."
        )
    elif event.reason.startswith(_LACK_OF_ROOM):
        what = "Others took the room first, and are counted by now."
    else:
        what = "What the kubelet goes by is not known here."
    return f"Node {event.node_name} refused the pod: {event.reason}. {what}"
