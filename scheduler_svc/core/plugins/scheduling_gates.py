"""SchedulingGates: a Pod with gates does not enter the queue.

Source: pkg/scheduler/framework/plugins/schedulinggates, v1.36.3.
"""

from collections.abc import Sequence

from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    EventRegistration,
    own_update,
)
from scheduler_svc.core.framework.interface import EnqueueExtensions, PreEnqueuePlugin
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SUCCESS, Code, Status


class SchedulingGates(PreEnqueuePlugin, EnqueueExtensions):
    """Keeps a Pod out until all of its `spec.schedulingGates` are gone."""

    name = "SchedulingGates"

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Reject a Pod with gates; the reason lists them in the Pod's order."""
        if not pod.scheduling_gates:
            return SUCCESS
        reason = f"waiting for scheduling gates: [{' '.join(pod.scheduling_gates)}]"
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when the last gate goes."""
        return [own_update(ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)]
