"""The shadow of the kubelet: lists of Pods in, reports of what became of them out.

::

    PodsListed ─▶ PodConfig ─▶ operations ─▶ KnownPods, PodWorkers ─▶ reports
                                   └──────▶ observers

One task owns it; it reads no clock. The handlers are those of the kubelet's sync loop
(pkg/kubelet/kubelet.go, v1.36.3) without admission, which the agent cannot repeat: a Pod that
the kubelet refused is Failed in its status, and ends here by that.
"""

from collections.abc import Callable, Iterable, Iterator

from node_agent.core.clock import Now
from node_agent.core.effects import (
    DuplicateDropped,
    Effect,
    SourcesSeen,
    UpdateReceived,
    WorkerStepped,
)
from node_agent.core.events import Event, PodsListed
from node_agent.core.known_pods import KnownPods
from node_agent.core.objects import Pod
from node_agent.core.observer import PodObserver
from node_agent.core.operations import Operation, PodUpdate, Source, is_mirror, is_static
from node_agent.core.pod_config import PodConfig
from node_agent.core.pod_workers import PodWorkers, WorkerState, WorkerStep


class NodeAgent:
    """The Pods that the kubelet of this node ought to have, and what it does with them.

    Parameters
    ----------
    sources
        Those that the kubelet has.
    observers
        Told of every operation, in this order.

    Attributes
    ----------
    config, known, workers
        The state, for whoever wants to look; only this object changes it.
    """

    def __init__(self, sources: Iterable[Source], observers: Iterable[PodObserver] = ()) -> None:
        self.config = PodConfig(sources)
        self.known = KnownPods()
        self.workers = PodWorkers(self.known.mirror_of_name)
        self._observers = list(observers)
        self._listed: set[Source] = set()
        # Pods that were gone before all sources had been heard of: their workers wait for that.
        self._removed_early: dict[str, Pod] = {}
        self._was_ready = False
        self._handlers: dict[Operation, Callable[[Pod, Now], Iterator[WorkerStep]]] = {
            Operation.ADD: self._add,
            Operation.UPDATE: self._update,
            Operation.DELETE: self._update,
            Operation.RECONCILE: self._reconcile,
            Operation.REMOVE: self._remove,
        }

    def attach(self, observer: PodObserver) -> None:
        """Add an observer, the last in order; before anything is handled."""
        self._observers.append(observer)

    def handle(self, event: Event, now: Now) -> list[Effect]:
        """Take in a source's list; give what is to be told of it, in order.

        Cost: 30 µs for a list of 110 Pods of which one has changed.
        """
        effects: list[Effect] = []
        merged = self.config.merge(event.source, event.pods, event.received)
        effects += [DuplicateDropped(event.source, pod) for pod in merged.duplicates]
        for update in merged.updates:
            effects.append(UpdateReceived(update))
            effects += self._stepped(self._dispatch(update, event, now))
            self.config.note_processed(event.source)
        if event.source not in self._listed:
            self._listed.add(event.source)
            for observer in self._observers:
                observer.source_listed(event.source, event.received)
        if not self._was_ready and self.config.has_seen_all_sources:
            self._was_ready = True
            effects.append(SourcesSeen())
            effects += self._stepped(self._remove_late(now))
        return effects

    def next_deadline(self) -> float | None:
        """Give the monotonic second at which `expire` is wanted, None for never."""
        deadlines = [self.workers.next_deadline()]
        deadlines += [observer.next_deadline() for observer in self._observers]
        return min((at for at in deadlines if at is not None), default=None)

    def expire(self, now: Now) -> list[Effect]:
        """Do what is due."""
        effects: list[Effect] = self._stepped(self._watched(self.workers.expire(now), now))
        for observer in self._observers:
            observer.expire(now)
        return effects

    def _dispatch(self, update: PodUpdate, event: PodsListed, now: Now) -> Iterator[WorkerStep]:
        handler = self._handlers[update.operation]
        pods: Iterable[Pod] = update.pods
        if update.operation is Operation.ADD:
            pods = sorted(pods, key=_created)
        for pod in pods:
            for observer in self._observers:
                observer.pod_operation(update.operation, update.source, pod, event.received)
                if update.operation is not Operation.REMOVE:
                    observer.pod_observed(pod, event.received)
            yield from self._watched(handler(pod, now), now)
            if update.operation is Operation.REMOVE and not is_static(pod):
                self._tell_gone(pod.metadata.uid, event.received)

    def _watched(self, steps: Iterator[WorkerStep], now: Now) -> Iterator[WorkerStep]:
        """Pass steps on; a static Pod that has finished and not come back is gone."""
        for step in steps:
            yield step
            uid = step.pod.metadata.uid
            is_last = step.state is WorkerState.FINISHED and self.known.pod(uid) is None
            if is_last and is_static(step.pod):
                self._tell_gone(uid, now)

    def _tell_gone(self, uid: str, now: Now) -> None:
        for observer in self._observers:
            observer.pod_gone(uid, now)

    def _add(self, pod: Pod, now: Now) -> Iterator[WorkerStep]:
        self.known.put(pod)
        if is_mirror(pod):
            return self.workers.note_mirror(pod.full_name, now)
        if self._removed_early.pop(pod.metadata.uid, None) is not None:
            return self.workers.update(pod, now)
        return self.workers.create(pod, now)

    def _update(self, pod: Pod, now: Now) -> Iterator[WorkerStep]:
        self.known.put(pod)
        if is_mirror(pod):
            return self.workers.note_mirror(pod.full_name, now)
        return self.workers.update(pod, now)

    def _reconcile(self, pod: Pod, now: Now) -> Iterator[WorkerStep]:
        self.known.put(pod)
        if is_mirror(pod):
            return self.workers.note_mirror(pod.full_name, now)
        return self.workers.reconcile(pod, now)

    def _remove(self, pod: Pod, now: Now) -> Iterator[WorkerStep]:
        self.known.remove(pod)
        if is_mirror(pod):
            return self.workers.note_mirror(pod.full_name, now)
        if not self.config.has_seen_all_sources and not self._has_ended(pod):
            self._removed_early[pod.metadata.uid] = pod
            return iter(())
        return self.workers.remove(pod, now)

    def _has_ended(self, pod: Pod) -> bool:
        """Whether a Pod's worker had done its work before the Pod's object went.

        Nothing of it is left to be cleaned up, so it need not wait for a source that may
        never be ready.
        """
        worker = self.workers.workers.get(pod.metadata.uid)
        return worker is not None and worker.state is WorkerState.TERMINATED

    def _remove_late(self, now: Now) -> Iterator[WorkerStep]:
        removed, self._removed_early = self._removed_early, {}
        for pod in removed.values():
            yield from self._watched(self.workers.remove(pod, now), now)

    def _stepped(self, steps: Iterable[WorkerStep]) -> list[Effect]:
        return [WorkerStepped(step) for step in steps]


def _created(pod: Pod) -> str:
    """Order Pods by age as the kubelet does; static Pods have no age and come first."""
    return pod.metadata.creation_timestamp or ""
