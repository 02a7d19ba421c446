"""The steps of a Pod's way, and every kind of evidence for each.

A step that nobody has told of is absent; nothing is derived from a neighbour. The order of
steps is that of the kubelet's first sync: data directory, volumes, pull secrets, log
directory, sandbox with its network, init containers, then for each container its image, its
log directory, its start.

Source: pkg/kubelet/kubelet.go (``SyncPod``), kuberuntime/kuberuntime_manager.go
(``SyncPod``), kuberuntime_container.go (``startContainer``), config/config.go,
status/generate.go, v1.36.3.
"""

from enum import Enum, StrEnum
from typing import Final

import msgspec

from node_agent.core.clock import NANOSECONDS

LAG_LIMIT_NANOSECONDS: Final = 3 * NANOSECONDS
"""A receipt, or an Event about a Binding, that is later than other evidence by more is late, not
exact: a second is lost to rounding, two are granted for the kubelet's write and the watch."""


class Step(StrEnum):
    """What happens to a Pod, in order; names appear in metrics and JSON.

    `QUEUED` is when it began to wait for the attempt that gave it a Node: the scheduler had
    heard of it, or the attempt before had failed. Waiting for scheduling gates comes after it;
    nothing tells when the last gate went. `VOLUMES_MOUNTED` is when everything that comes
    before the sandbox is done. `INITIALIZED` is a step only of Pods with init containers: those
    that must end have ended, and sidecars have started.
    `FINISHED`: no container runs any more, and none will.
    """

    CREATED = "created"
    QUEUED = "queued"
    DECIDED = "decided"
    BOUND = "bound"
    KUBELET_SEEN = "kubelet_seen"
    AGENT_SEEN = "agent_seen"
    SYNC_STARTED = "sync_started"
    VOLUMES_MOUNTED = "volumes_mounted"
    SANDBOX_READY = "sandbox_ready"
    INITIALIZED = "initialized"
    IMAGES_PULLED = "images_pulled"
    CONTAINERS_STARTED = "containers_started"
    READY = "ready"
    DELETED = "deleted"
    FINISHED = "finished"
    GONE = "gone"


class MarkSource(StrEnum):
    """Who tells of a step.

    `WATCH` is the moment the agent heard of it, which includes the way there; all others are
    what the source itself wrote.
    """

    API = "api"
    SCHEDULER = "scheduler"
    KUBELET = "kubelet"
    FILES = "files"
    EVENTS = "events"
    WATCH = "watch"


class Clock(StrEnum):
    """Whose clock a time is of. The kubelet, the files and the agent share the node's."""

    API_SERVER = "api_server"
    SCHEDULER = "scheduler"
    NODE = "node"


class MarkDefinition(msgspec.Struct, frozen=True, gc=False):
    """A kind of evidence: of which step, by whom, on which clock, how fine.

    A mark at t with a resolution r says that it happened in [t, t + r).
    """

    step: Step
    source: MarkSource
    clock: Clock
    resolution_nanoseconds: int


_S: Final = NANOSECONDS


class MarkKind(Enum):
    """Every kind of evidence; of each step the better comes first."""

    CREATED_API = MarkDefinition(Step.CREATED, MarkSource.API, Clock.API_SERVER, _S)
    QUEUED_SCHEDULER = MarkDefinition(Step.QUEUED, MarkSource.SCHEDULER, Clock.SCHEDULER, 1)
    DECIDED_SCHEDULER = MarkDefinition(Step.DECIDED, MarkSource.SCHEDULER, Clock.SCHEDULER, 1)
    BOUND_EVENTS = MarkDefinition(Step.BOUND, MarkSource.EVENTS, Clock.SCHEDULER, 1000)
    BOUND_API = MarkDefinition(Step.BOUND, MarkSource.API, Clock.API_SERVER, _S)
    KUBELET_SEEN = MarkDefinition(Step.KUBELET_SEEN, MarkSource.KUBELET, Clock.NODE, 1)
    AGENT_SEEN = MarkDefinition(Step.AGENT_SEEN, MarkSource.WATCH, Clock.NODE, 1)
    SYNC_STARTED_FILES = MarkDefinition(Step.SYNC_STARTED, MarkSource.FILES, Clock.NODE, 1)
    SYNC_STARTED_KUBELET = MarkDefinition(Step.SYNC_STARTED, MarkSource.KUBELET, Clock.NODE, _S)
    VOLUMES_MOUNTED_FILES = MarkDefinition(Step.VOLUMES_MOUNTED, MarkSource.FILES, Clock.NODE, 1)
    SANDBOX_READY_WATCH = MarkDefinition(Step.SANDBOX_READY, MarkSource.WATCH, Clock.NODE, 1)
    SANDBOX_READY_KUBELET = MarkDefinition(Step.SANDBOX_READY, MarkSource.KUBELET, Clock.NODE, _S)
    INITIALIZED_WATCH = MarkDefinition(Step.INITIALIZED, MarkSource.WATCH, Clock.NODE, 1)
    INITIALIZED_KUBELET = MarkDefinition(Step.INITIALIZED, MarkSource.KUBELET, Clock.NODE, _S)
    IMAGES_PULLED_FILES = MarkDefinition(Step.IMAGES_PULLED, MarkSource.FILES, Clock.NODE, 1)
    IMAGES_PULLED_EVENTS = MarkDefinition(Step.IMAGES_PULLED, MarkSource.EVENTS, Clock.NODE, _S)
    STARTED_WATCH = MarkDefinition(Step.CONTAINERS_STARTED, MarkSource.WATCH, Clock.NODE, 1)
    STARTED_KUBELET = MarkDefinition(Step.CONTAINERS_STARTED, MarkSource.KUBELET, Clock.NODE, _S)
    READY_WATCH = MarkDefinition(Step.READY, MarkSource.WATCH, Clock.NODE, 1)
    READY_KUBELET = MarkDefinition(Step.READY, MarkSource.KUBELET, Clock.NODE, _S)
    DELETED_WATCH = MarkDefinition(Step.DELETED, MarkSource.WATCH, Clock.NODE, 1)
    DELETED_API = MarkDefinition(Step.DELETED, MarkSource.API, Clock.API_SERVER, _S)
    FINISHED_WATCH = MarkDefinition(Step.FINISHED, MarkSource.WATCH, Clock.NODE, 1)
    FINISHED_KUBELET = MarkDefinition(Step.FINISHED, MarkSource.KUBELET, Clock.NODE, _S)
    GONE_WATCH = MarkDefinition(Step.GONE, MarkSource.WATCH, Clock.NODE, 1)


KINDS_BY_STEP: Final[dict[Step, tuple[MarkKind, ...]]] = {
    step: tuple(kind for kind in MarkKind if kind.value.step is step) for step in Step
}


_AFTERWARDS: Final = frozenset(
    kind
    for kind in MarkKind
    if kind.value.source is MarkSource.WATCH or kind is MarkKind.BOUND_EVENTS
)
"""Evidence that is stamped after the fact."""


class Mark(msgspec.Struct, frozen=True, gc=False):
    """A step's evidence: what kind, and when (Unix nanoseconds, as its source told it)."""

    kind: MarkKind
    at_nanoseconds: int

    @property
    def step(self) -> Step:
        """The step it is evidence of."""
        return self.kind.value.step

    @property
    def middle_nanoseconds(self) -> int:
        """The middle of the time in which it happened: the estimate that has no bias."""
        return self.at_nanoseconds + self.kind.value.resolution_nanoseconds // 2


def best_mark(step: Step, marks: dict[MarkKind, int]) -> Mark | None:
    """Choose a step's evidence: the finest that other evidence does not contradict.

    Parameters
    ----------
    marks
        All that is known of the Pod.

    Returns
    -------
    Mark or None
        None where nobody told of the step. A receipt, or an Event about a Binding, that is
        more than `LAG_LIMIT_NANOSECONDS` later than other evidence, is passed over.
    """
    known = [Mark(kind, marks[kind]) for kind in KINDS_BY_STEP[step] if kind in marks]
    if not known:
        return None
    first = known[0]
    if first.kind in _AFTERWARDS and len(known) > 1:
        lag = first.at_nanoseconds - known[1].at_nanoseconds
        return known[1] if lag > LAG_LIMIT_NANOSECONDS else first
    return first


def best_marks(marks: dict[MarkKind, int]) -> dict[Step, Mark]:
    """Give the best mark of every known step, in the order of steps. Cost: about 10 µs."""
    best = {}
    for step in Step:
        mark = best_mark(step, marks)
        if mark is not None:
            best[step] = mark
    return best


def merge_marks(marks: dict[MarkKind, int], more: dict[MarkKind, int]) -> bool:
    """Take in more evidence, the earliest of each kind; tell whether anything changed."""
    has_changed = False
    for kind, at_nanoseconds in more.items():
        known = marks.get(kind)
        if known is None or at_nanoseconds < known:
            marks[kind] = at_nanoseconds
            has_changed = True
    return has_changed
