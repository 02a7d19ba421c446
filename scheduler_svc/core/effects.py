"""Everything the core may ask for, carried out by the shell; imperative.

Whatever has an outcome that matters comes back as an event (`BindPod` as `BindSucceeded`
or `BindFailed`, `RunPreBind` as `PreBindFinished`, `EvictPods` as `EvictionFinished`,
`AskExtenders` as `ExtendersAnswered`, `AskAboutVictims` as `VictimsAnswered`).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec


class PodReference(msgspec.Struct, frozen=True, gc=False):
    """Which Pod an effect is about."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        """The Pod's name for people: namespace/name."""
        return f"{self.namespace}/{self.name}"


class BindPod(msgspec.Struct, frozen=True, gc=False):
    """Post a Binding. The rest becomes annotations of the Pod, in the same write.

    `decided_at_seconds` is wall time; `queue_wait_seconds` is how long the Pod waited in
    the queue before the attempt. `extender` is the number of the one that is to bind the Pod
    instead, None for nobody; else it was `plugin` that took the Pod.
    """

    pod: PodReference
    scheduler_name: str
    node_name: str
    decision_id: str
    attempt: int
    decided_at_seconds: float
    queue_wait_seconds: float
    extender: int | None = None
    plugin: str = ""


class AskExtenders(msgspec.Struct, frozen=True, gc=False):
    """Ask extenders, by their numbers, about Nodes on which a Pod fits.

    Those of `filters` are asked in turn, each about the Nodes that the one before left over,
    then those of `prioritizes` at once. The outcome is one `ExtendersAnswered` of that ticket.
    `pod_version` is the resourceVersion that the Pod is known in.
    """

    pod: PodReference
    scheduler_name: str
    ticket: int
    node_names: tuple[str, ...]
    filters: tuple[int, ...]
    prioritizes: tuple[int, ...]
    pod_version: str = ""


class NodeVictims(msgspec.Struct, frozen=True, gc=False):
    """The Pods that would have to go from a Node, and how many of them break a budget."""

    pods: tuple[PodReference, ...]
    violation_count: int


class AskAboutVictims(msgspec.Struct, frozen=True, gc=False):
    """Ask an extender on which Nodes, by name, Pods may be evicted for a Pod.

    The outcome is one `VictimsAnswered` of that ticket.
    """

    pod: PodReference
    scheduler_name: str
    ticket: int
    extender: int
    victims: Mapping[str, NodeVictims]


class RunPreBind(msgspec.Struct, frozen=True, gc=False):
    """Do a plugin's outside work before the Pod is bound; `payload` is the plugin's own."""

    pod: PodReference
    plugin: str
    node_name: str
    payload: Any


class WithdrawPreBind(msgspec.Struct, frozen=True, gc=False):
    """Do not begin outside work that has not begun yet; its outcome is that it failed."""

    pod: PodReference
    plugin: str


class RunCleanup(msgspec.Struct, frozen=True, gc=False):
    """Do a plugin's outside work that nobody waits for; its outcome shows in the objects."""

    pod: PodReference
    plugin: str
    payload: Any


class PatchPodCondition(msgspec.Struct, frozen=True, gc=False):
    """Set PodScheduled=False with a reason and a message.

    In the same write the Node that the Pod may hope for: "" for none, None leaves it.
    `generation` is that of the Pod that was tried, `is_transition` that its condition is not
    False already.
    """

    pod: PodReference
    reason: str
    message: str
    nominated_node_name: str | None = None
    generation: int = 0
    is_transition: bool = True


class PatchNomination(msgspec.Struct, frozen=True, gc=False):
    """Set the Node that a Pod may hope for in its status, "" for none."""

    pod: PodReference
    nominated_node_name: str


class EvictPods(msgspec.Struct, frozen=True):
    """Make room for a Pod: evict all victims but the last at once, then the last.

    `message` is for the victims' DisruptionTarget condition. The outcome is one
    `EvictionFinished` of that `eviction_id`.
    """

    pod: PodReference
    eviction_id: int
    message: str
    victims: tuple["Victim", ...]


class EventType(StrEnum):
    """The two types of Kubernetes events."""

    NORMAL = "Normal"
    WARNING = "Warning"


class RecordEvent(msgspec.Struct, frozen=True, gc=False):
    """Tell users what happened to a Pod; `related` is another one that had to do with it."""

    pod: PodReference
    scheduler_name: str
    type: EventType
    reason: str
    action: str
    note: str
    related: PodReference | None = None


class Victim(msgspec.Struct, frozen=True):
    """A Pod to be evicted, and what to tell its users once it is."""

    pod: PodReference
    event: RecordEvent
    generation: int = 0


class AttemptResult(StrEnum):
    """How an attempt ended; the `result` label of upstream's metrics."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


class ReportAttempt(msgspec.Struct, frozen=True, gc=False):
    """An attempt has failed, for the log and the metrics; `BindPod` stands for the others.

    `begun_at_seconds` is the monotonic second of its begin.
    """

    pod: PodReference
    scheduler_name: str
    result: AttemptResult
    attempt: int
    message: str
    node_name: str = ""
    queue_wait_seconds: float = 0
    begun_at_seconds: float = 0


class ReportBound(msgspec.Struct, frozen=True, gc=False):
    """A Pod has been bound.

    `sli_seconds` runs from the first attempt to now, `attempt_seconds` from the begin of this
    one, `binding_seconds` from the decision;
    `after_flush` says that nothing but the 5-minute flush had brought the Pod back.
    """

    pod: PodReference
    scheduler_name: str
    node_name: str
    attempt: int
    sli_seconds: float
    binding_seconds: float
    after_flush: bool
    attempt_seconds: float = 0


class ReportWait(msgspec.Struct, frozen=True, gc=False):
    """A Pod with a Node has waited: on Permit, or for the PreBind of a plugin.

    `plugin` is "" on Permit, where several may hold the Pod. `status` is upstream's word for
    how that ended, `message` what went wrong.
    """

    pod: PodReference
    scheduler_name: str
    extension_point: str
    plugin: str
    status: str
    seconds: float
    message: str = ""


class ReportPreemption(msgspec.Struct, frozen=True, gc=False):
    """A Pod that fits nowhere was looked at for preemption; without room made, of 0 victims."""

    pod: PodReference
    scheduler_name: str
    victim_count: int


class ReportRefusal(msgspec.Struct, frozen=True, gc=False):
    """A kubelet has refused a Pod that was bound by us, with its `reason` and `message`.

    `withheld` is what its Node counts as not having from now on, "" for nothing.
    """

    pod: PodReference
    scheduler_name: str
    node_name: str
    reason: str
    message: str
    withheld: str


Effect = (
    BindPod
    | AskExtenders
    | AskAboutVictims
    | RunPreBind
    | WithdrawPreBind
    | RunCleanup
    | PatchPodCondition
    | PatchNomination
    | EvictPods
    | RecordEvent
    | ReportAttempt
    | ReportBound
    | ReportWait
    | ReportPreemption
    | ReportRefusal
)
