"""What the kubelet's worker for each Pod is likely doing, inferred from what can be seen.

::

    (waiting) ─▶ sync ─▶ terminating ─▶ terminated ─▶ finished: forgotten

The kubelet's workers start and stop containers and know when they are done. These only
observe: a Pod is terminating once it is deleted, has left its source or is Succeeded or Failed;
terminated once its status says that no container runs any more; finished once its object is
gone. A static Pod has no object but its mirror: it is finished when the mirror it had is gone
or replaced, or, without a mirror to look at, `UNSEEN_SECONDS` after its grace period.

Static Pods of one full name run one at a time; the next waits until the one before is finished.

Source: pkg/kubelet/pod_workers.go, v1.36.3. Differences: nothing is synced again by time, since
nothing would come of it; a waiting static Pod starts at once, not at its next try 10 s later.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from node_agent.core.clock import Now
from node_agent.core.objects import ContainerStatus, Pod
from node_agent.core.operations import MIRROR_ANNOTATION, annotation, is_static

UNSEEN_SECONDS: Final = 10.0
"""How long stopping may take after the grace period, where nothing tells of its end."""
TERMINAL_PHASES: Final = frozenset(("Succeeded", "Failed"))


class WorkerState(StrEnum):
    """Where a worker is; `WAITING` for another static Pod of the same full name."""

    WAITING = "waiting"
    SYNC = "sync"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    FINISHED = "finished"


class WorkerStep(msgspec.Struct, frozen=True, gc=False):
    """A worker has done something; `reason` is for people."""

    pod: Pod
    state: WorkerState
    reason: str


class Worker(msgspec.Struct, gc=False):
    """What is known of one Pod's worker; times in monotonic seconds.

    Attributes
    ----------
    full_name
        The Pod's when the worker began, under which static Pods wait for each other; a
        manifest that gives its uid may be renamed.
    mirror_hash
        Of a static Pod's mirror, as it was last while the Pod was meant to run.
    is_removed
        Whether the Pod has left its source.
    restarts_as
        The Pod that came back under this uid while the worker was ending.
    """

    pod: Pod
    state: WorkerState
    synced_at: float
    full_name: str
    started_at: float | None = None
    terminating_at: float | None = None
    terminated_at: float | None = None
    is_removed: bool = False
    mirror_hash: str | None = None
    restarts_as: Pod | None = None


class PodWorkers:
    """A worker for each Pod that is no mirror.

    Every method gives the steps that follow from what it is told, in order.

    Parameters
    ----------
    mirror_of_name
        Gives the mirror of a full name as it is now, None if there is none.
    """

    def __init__(self, mirror_of_name: Callable[[str], Pod | None]) -> None:
        self._mirror_of_name = mirror_of_name
        self._workers: dict[str, Worker] = {}
        self._started_static: dict[str, str] = {}
        self._waiting_static: dict[str, list[str]] = {}
        self._deadlines: dict[str, float] = {}

    @property
    def workers(self) -> Mapping[str, Worker]:
        """All workers that have not finished, by uid."""
        return self._workers

    def create(self, pod: Pod, now: Now) -> Iterator[WorkerStep]:
        """Take in a Pod that has come."""
        uid = pod.metadata.uid
        worker = self._workers.get(uid)
        if worker is not None:
            if worker.is_removed:
                worker.restarts_as = pod
                self._set_deadline(worker, now)
            else:
                yield from self.update(pod, now)
            return
        worker = self._workers[uid] = _new_worker(pod, now)
        name = worker.full_name
        if is_static(pod) and self._started_static.setdefault(name, uid) != uid:
            self._waiting_static.setdefault(name, []).append(uid)
            yield WorkerStep(pod, WorkerState.WAITING, "another static Pod of this name runs")
            return
        yield from self._start(worker, now)

    def update(self, pod: Pod, now: Now) -> Iterator[WorkerStep]:
        """Take in a Pod's change of more than its status."""
        worker = self._workers.get(pod.metadata.uid)
        if worker is None:
            return
        worker.pod = pod
        if worker.state is WorkerState.SYNC and not _why_ending(worker, pod):
            yield WorkerStep(pod, WorkerState.SYNC, "updated")
        yield from self._observe(worker, now)

    def reconcile(self, pod: Pod, now: Now) -> Iterator[WorkerStep]:
        """Take in a Pod's change of status."""
        worker = self._workers.get(pod.metadata.uid)
        if worker is not None:
            worker.pod = pod
            yield from self._observe(worker, now)

    def remove(self, pod: Pod, now: Now) -> Iterator[WorkerStep]:
        """Take in that a Pod has left its source: its object or its manifest is gone."""
        worker = self._workers.get(pod.metadata.uid)
        if worker is None:
            return
        if worker.restarts_as is not None:
            worker.restarts_as = None
            return
        worker.is_removed = True
        if not is_static(worker.pod):
            yield from self._finish(worker, "its object is gone", now)
        elif worker.state in (WorkerState.WAITING, WorkerState.TERMINATED):
            yield from self._finish(worker, "its manifest is gone", now)
        else:
            self._set_deadline(worker, now)
            yield from self._observe(worker, now)

    def note_mirror(self, full_name: str, now: Now) -> Iterator[WorkerStep]:
        """Look again at a full name's mirror, which has come, changed or gone."""
        worker = self._workers.get(self._started_static.get(full_name, ""))
        if worker is None:
            return
        mirror = self._mirror_of_name(full_name)
        if not worker.is_removed:
            worker.mirror_hash = _hash_of(mirror) or worker.mirror_hash
            yield from self._observe(worker, now)
        elif worker.mirror_hash is not None and _hash_of(mirror) != worker.mirror_hash:
            yield from self._finish(worker, "its mirror is gone", now)
        else:
            yield from self._observe(worker, now)

    def next_deadline(self) -> float | None:
        """Give the monotonic second at which `expire` is wanted."""
        return min(self._deadlines.values(), default=None)

    def expire(self, now: Now) -> Iterator[WorkerStep]:
        """End the workers that nothing will tell of any more."""
        due = [uid for uid, at in self._deadlines.items() if at <= now.monotonic_seconds]
        for uid in due:
            yield from self._finish(
                self._workers[uid], "its grace period is over, and nothing tells of it", now
            )

    def _start(self, worker: Worker, now: Now) -> Iterator[WorkerStep]:
        worker.started_at = now.monotonic_seconds
        if is_static(worker.pod):
            worker.mirror_hash = _hash_of(self._mirror_of_name(worker.pod.full_name))
        seen = self._seen(worker)
        if seen.status.phase in TERMINAL_PHASES and _has_stopped(seen):
            worker.state = WorkerState.TERMINATED
            worker.terminating_at = worker.terminated_at = now.monotonic_seconds
            yield WorkerStep(worker.pod, WorkerState.TERMINATED, "it had ended before")
            return
        worker.state = WorkerState.SYNC
        yield WorkerStep(worker.pod, WorkerState.SYNC, "created")
        yield from self._observe(worker, now)

    def _observe(self, worker: Worker, now: Now) -> Iterator[WorkerStep]:
        """Go on as far as what is seen of the Pod allows."""
        seen = self._seen(worker)
        if worker.state is WorkerState.SYNC and (reason := _why_ending(worker, seen)):
            yield self._step(worker, WorkerState.TERMINATING, reason, now)
        if worker.state is WorkerState.TERMINATING and _has_stopped(seen):
            yield self._step(worker, WorkerState.TERMINATED, "no container runs", now)
            if worker.restarts_as is not None:
                yield from self._finish(worker, "it is to start again", now)

    def _finish(self, worker: Worker, reason: str, now: Now) -> Iterator[WorkerStep]:
        """End a worker, by way of the states it has not been in; what waited for it starts."""
        if worker.state is WorkerState.SYNC:
            yield self._step(worker, WorkerState.TERMINATING, reason, now)
        if worker.state is WorkerState.TERMINATING:
            yield self._step(worker, WorkerState.TERMINATED, reason, now)
        uid = worker.pod.metadata.uid
        worker.state = WorkerState.FINISHED
        del self._workers[uid]
        self._deadlines.pop(uid, None)
        yield WorkerStep(worker.pod, WorkerState.FINISHED, reason)
        yield from self._give_name_up(worker, now)
        if worker.restarts_as is not None:
            yield from self.create(worker.restarts_as, now)

    def _give_name_up(self, worker: Worker, now: Now) -> Iterator[WorkerStep]:
        """Let the next static Pod have a finished one's name."""
        uid, name = worker.pod.metadata.uid, worker.full_name
        waiting = self._waiting_static.get(name, [])
        if uid in waiting:
            waiting.remove(uid)
        elif self._started_static.get(name) == uid:
            del self._started_static[name]
            if waiting:
                next_uid = self._started_static[name] = waiting.pop(0)
                yield from self._start(self._workers[next_uid], now)
        if not waiting:
            self._waiting_static.pop(name, None)

    def _step(self, worker: Worker, state: WorkerState, reason: str, now: Now) -> WorkerStep:
        worker.state = state
        if state is WorkerState.TERMINATING:
            worker.terminating_at = now.monotonic_seconds
        else:
            worker.terminated_at = now.monotonic_seconds
        return WorkerStep(worker.pod, state, reason)

    def _set_deadline(self, worker: Worker, now: Now) -> None:
        """End a removed static Pod by time, where no mirror will tell that it has ended."""
        mirror = self._mirror_of_name(worker.pod.full_name)
        is_told = worker.mirror_hash is not None and _hash_of(mirror) == worker.mirror_hash
        if is_told and worker.restarts_as is None:
            return
        grace_seconds = worker.pod.spec.termination_grace_period_seconds
        began_at = worker.terminating_at or now.monotonic_seconds
        self._deadlines[worker.pod.metadata.uid] = began_at + grace_seconds + UNSEEN_SECONDS

    def _seen(self, worker: Worker) -> Pod:
        """Give whose status tells of a Pod: its own, or its mirror's if it is static."""
        if not is_static(worker.pod):
            return worker.pod
        mirror = self._mirror_of_name(worker.pod.full_name)
        if mirror is None or _hash_of(mirror) != worker.mirror_hash:
            return worker.pod
        return mirror


def _new_worker(pod: Pod, now: Now) -> Worker:
    return Worker(pod, WorkerState.WAITING, now.monotonic_seconds, pod.full_name)


def _why_ending(worker: Worker, seen: Pod) -> str:
    if worker.is_removed:
        return "its manifest is gone"
    if worker.pod.metadata.deletion_timestamp is not None:
        return "it is being deleted"
    if seen.status.phase in TERMINAL_PHASES:
        return f"its phase is {seen.status.phase}"
    return ""


def _has_stopped(pod: Pod) -> bool:
    """Whether a Pod's status says that none of its containers runs, nor will."""
    status = pod.status
    if any(
        _is_running(one) for one in (*status.container_statuses, *status.init_container_statuses)
    ):
        return False
    if status.phase in TERMINAL_PHASES:
        return True
    ended = [one.state.terminated is not None for one in status.container_statuses]
    return bool(ended) and all(ended)


def _is_running(container: ContainerStatus) -> bool:
    return container.state.running is not None


def _hash_of(mirror: Pod | None) -> str | None:
    return None if mirror is None else annotation(mirror, MIRROR_ANNOTATION)
