"""What one state of a Pod tells about its way: marks, init containers' runs, the decision.

Each function looks at one state alone, so that states may come in any order, twice, or with
gaps between them.

Source: pkg/kubelet/status/generate.go, kubelet_pods.go (``convertStatusToAPIStatus``),
pkg/kubelet/config/config.go, apimachinery registry rest/delete.go (``BeforeDelete``: a grace
period that is shortened keeps the time of the first deletion), v1.36.3.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from node_agent.core.clock import NANOSECONDS
from node_agent.core.journey.marks import MarkKind
from node_agent.core.objects import ContainerStatus, Pod, PodSpec, PodStatus
from node_agent.core.operations import annotation
from node_agent.core.timestamps import unix_nanoseconds

DECIDED_AT: Final = "berthmaster.dev/decided-at"
QUEUE_WAIT: Final = "berthmaster.dev/queue-wait"
ATTEMPT: Final = "berthmaster.dev/attempt"
DECISION_ID: Final = "berthmaster.dev/decision-id"
"""The scheduler's annotations, as `kubeio.decision_annotations` writes them (a core imports
no other package; a test holds the two equal)."""

CLOCKS_APART_NANOSECONDS: Final = 300 * NANOSECONDS
"""The scheduler's clock and the API server's differ by less. A decision that is further outside
a Pod's way is another Pod's: somebody has made this one of that one's YAML, with annotations."""

TERMINAL_PHASES: Final = frozenset(("Succeeded", "Failed"))
MOST_INIT_RUNS: Final = 32
"""Runs of init containers that are kept for a Pod; one that fails for ever has no bound."""

_CONDITIONS: Final = {
    "PodReadyToStartContainers": (MarkKind.SANDBOX_READY_KUBELET, MarkKind.SANDBOX_READY_WATCH),
    "Initialized": (MarkKind.INITIALIZED_KUBELET, MarkKind.INITIALIZED_WATCH),
    "Ready": (MarkKind.READY_KUBELET, MarkKind.READY_WATCH),
}


class InitRun(msgspec.Struct, frozen=True, gc=False, order=True):
    """One run of an init container that ended; Unix nanoseconds of whole seconds."""

    started_nanoseconds: int
    finished_nanoseconds: int
    container: str


def pod_marks(pod: Pod, received_nanoseconds: int | None) -> dict[MarkKind, int]:
    """Read all marks of a state.

    Parameters
    ----------
    received_nanoseconds
        When the agent heard of this state; None where it does not tell when the state came
        about: the Pod was there before the agent was, or this is not from the watch.
    """
    marks = _bound_marks(pod)
    marks.update(_condition_marks(pod, received_nanoseconds))
    marks.update(_container_marks(pod, received_nanoseconds))
    marks.update(_deletion_marks(pod, received_nanoseconds))
    if received_nanoseconds is not None:
        marks[MarkKind.AGENT_SEEN] = received_nanoseconds
    return marks


def _bound_marks(pod: Pod) -> dict[MarkKind, int]:
    """Read what the API server and the scheduler wrote, and when the kubelet took the Pod."""
    times = {
        MarkKind.CREATED_API: unix_nanoseconds(pod.metadata.creation_timestamp),
        MarkKind.SYNC_STARTED_KUBELET: unix_nanoseconds(pod.status.start_time),
        MarkKind.BOUND_API: _condition_time(pod.status, "PodScheduled"),
    }
    decided, wait = _number(annotation(pod, DECIDED_AT)), _number(annotation(pod, QUEUE_WAIT))
    if decided is not None and _is_of_this_pod(decided, pod):
        times[MarkKind.DECIDED_SCHEDULER] = decided
        if wait is not None and _is_of_this_pod(decided - wait, pod):
            times[MarkKind.QUEUED_SCHEDULER] = decided - wait
    return {kind: at for kind, at in times.items() if at is not None}


def _is_of_this_pod(scheduler_nanoseconds: int, pod: Pod) -> bool:
    """Whether a time that an annotation tells can be between a Pod's creation and its binding."""
    created = unix_nanoseconds(pod.metadata.creation_timestamp)
    bound = _condition_time(pod.status, "PodScheduled")
    is_before = created is not None and scheduler_nanoseconds < created - CLOCKS_APART_NANOSECONDS
    is_after = bound is not None and scheduler_nanoseconds > bound + CLOCKS_APART_NANOSECONDS
    return not is_before and not is_after


def _condition_marks(pod: Pod, received: int | None) -> dict[MarkKind, int]:
    """Read the conditions that the kubelet sets, and that they hold by now."""
    marks = {}
    for name, (kind, watch_kind) in _CONDITIONS.items():
        if name == "Initialized" and not pod.spec.init_containers:
            continue
        at = _condition_time(pod.status, name)
        if at is None:
            continue
        marks[kind] = at
        if received is not None:
            marks[watch_kind] = received
    return marks


def is_born_bound(pod: Pod) -> bool:
    """Whether a Pod has a Node and was never bound to it: its specification named the Node.

    The kubelet then sets ``PodScheduled`` itself, when it first syncs, which tells nothing.
    """
    scheduled = any(c.type == "PodScheduled" for c in pod.status.conditions)
    return bool(pod.spec.node_name) and not scheduled


def _condition_time(status: PodStatus, name: str) -> int | None:
    for condition in status.conditions:
        if condition.type == name and condition.status == "True":
            return unix_nanoseconds(condition.last_transition_time)
    return None


def _container_marks(pod: Pod, received: int | None) -> dict[MarkKind, int]:
    statuses = pod.status.container_statuses
    if not statuses or len(statuses) < len(pod.spec.containers):
        return {}
    marks = {}
    starts = [_first_start_nanoseconds(status) for status in statuses]
    if all(start is not None for start in starts):
        marks[MarkKind.STARTED_KUBELET] = max(start for start in starts if start is not None)
        if received is not None:
            marks[MarkKind.STARTED_WATCH] = received
    ends = [_finish_nanoseconds(status) for status in statuses]
    is_over = pod.status.phase in TERMINAL_PHASES or pod.metadata.deletion_timestamp is not None
    if is_over and all(end is not None for end in ends):
        marks[MarkKind.FINISHED_KUBELET] = max(end for end in ends if end is not None)
        if received is not None:
            marks[MarkKind.FINISHED_WATCH] = received
    return marks


def started_by_nanoseconds(pod: Pod) -> int | None:
    """Give when each container was running at the latest, in its first run or in a later one.

    None where nothing tells. What a Pod waited for at its first start was before.
    """
    starts = [start_nanoseconds(status) for status in pod.status.container_statuses]
    known = [start for start in starts if start is not None]
    return max(known) if known and len(known) == len(starts) else None


def has_started(pod: Pod) -> bool:
    """Whether each container has started at least once, be it that nothing tells when."""
    statuses = pod.status.container_statuses
    return 0 < len(pod.spec.containers) <= len(statuses) and all(
        status.restart_count > 0 or start_nanoseconds(status) is not None for status in statuses
    )


def start_nanoseconds(status: ContainerStatus) -> int | None:
    """Give a container's first start that its status still tells of; None if it has none."""
    return min(_start_times(status), default=None)


def _first_start_nanoseconds(status: ContainerStatus) -> int | None:
    """Give a container's first start; None where its status tells of later ones only."""
    times = _start_times(status)
    return min(times) if len(times) > status.restart_count else None


def _start_times(status: ContainerStatus) -> list[int]:
    """Give when the last two runs of a container began, as far as that is known."""
    times = []
    for state in (status.last_state, status.state):
        if state.terminated is not None:
            times.append(unix_nanoseconds(state.terminated.started_at))
        if state.running is not None:
            times.append(unix_nanoseconds(state.running.started_at))
    # The kubelet writes the year 1 (or 1970) where the runtime gave no time.
    return [time for time in times if time is not None and time > 0]


def _finish_nanoseconds(status: ContainerStatus) -> int | None:
    terminated = status.state.terminated
    return None if terminated is None else unix_nanoseconds(terminated.finished_at)


def _deletion_marks(pod: Pod, received: int | None) -> dict[MarkKind, int]:
    """Tell when deletion was asked for: the deadline less the grace period."""
    deadline = unix_nanoseconds(pod.metadata.deletion_timestamp)
    if deadline is None:
        return {}
    grace_seconds = pod.metadata.deletion_grace_period_seconds or 0
    marks = {MarkKind.DELETED_API: deadline - grace_seconds * NANOSECONDS}
    if received is not None:
        marks[MarkKind.DELETED_WATCH] = received
    return marks


def init_container_names(spec: PodSpec) -> tuple[str, ...]:
    """Name the init containers that must end; sidecars, which don't, are left out."""
    return tuple(c.name for c in spec.init_containers if c.restart_policy != "Always")


def sidecar_names(spec: PodSpec) -> tuple[str, ...]:
    """Name the init containers that go on running beside the others."""
    return tuple(c.name for c in spec.init_containers if c.restart_policy == "Always")


def init_runs(pod: Pod) -> Iterator[InitRun]:
    """Give the runs of init containers that have ended, as far as the status tells of them."""
    names = frozenset(init_container_names(pod.spec))
    for status in pod.status.init_container_statuses:
        if status.name not in names:
            continue
        for state in (status.last_state, status.state):
            ended = state.terminated
            if ended is None:
                continue
            started = unix_nanoseconds(ended.started_at)
            finished = unix_nanoseconds(ended.finished_at)
            if started is not None and finished is not None and started <= finished:
                yield InitRun(started, finished, status.name)


def union_nanoseconds(runs: Iterable[InitRun]) -> int:
    """Give how long at least one of the runs was going on."""
    total, covered_until = 0, 0
    for run in sorted(runs):
        begin = max(run.started_nanoseconds, covered_until)
        total += max(run.finished_nanoseconds - begin, 0)
        covered_until = max(covered_until, run.finished_nanoseconds)
    return total


def attempt(pod: Pod) -> int | None:
    """Give the number of the scheduling attempt that succeeded; None if nobody wrote it.

    As with its time, what was written on another Pod does not count.
    """
    decided = _number(annotation(pod, DECIDED_AT))
    if decided is not None and not _is_of_this_pod(decided, pod):
        return None
    return _number(annotation(pod, ATTEMPT))


def _number(text: str | None) -> int | None:
    """Read a number of at most 20 digits; None for anything else: anybody may annotate a Pod."""
    if text is None or len(text) > 20 or not (text.isascii() and text.isdecimal()):
        return None
    return int(text)
