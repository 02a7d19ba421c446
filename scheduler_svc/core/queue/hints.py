"""Whether an event makes a rejected Pod worth another attempt: the registered hints, asked.

Source: pkg/scheduler/backend/queue/scheduling_queue.go `isPodWorthRequeuing` and
pkg/scheduler/scheduler.go `buildQueueingHintMap`, v1.36.3.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final

import msgspec

from scheduler_svc.core.framework.cluster_events import (
    EVERY_EVENT,
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    Occurrence,
    QueueingHint,
    QueueingHintFunction,
)
from scheduler_svc.core.framework.stopwatch import Measuring
from scheduler_svc.core.queue.queued_pod import QueuedPodInfo
from scheduler_svc.core.queue.unschedulable_pods import RejectorKey

# By scheduler name, then by plugin name.
Registrations = Mapping[str, Mapping[str, Sequence[EventRegistration]]]

_NODE_TAINT_UPDATE: Final = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
_KEPT_ERRORS: Final = 100


class QueueingStrategy(IntEnum):
    """What is to become of a rejected Pod; a greater value wins."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class HintError(msgspec.Struct, frozen=True):
    """A hint that raised: whose, at which event, for which Pod, and what it said."""

    plugin: str
    event_label: str
    pod_key: str
    message: str


class Interest(msgspec.Struct, frozen=True):
    """Who registered an event: `keys` for the pool's index, `hints` by scheduler name.

    The hints of a profile are (plugin, hint) in the order of registration. `by_shape` has the
    hints of those plugins of which none looks at more than the shape of a Pod.
    """

    keys: tuple[RejectorKey, ...]
    hints: Mapping[str, tuple[tuple[str, QueueingHintFunction | None], ...]]
    by_shape: Mapping[RejectorKey, tuple[QueueingHintFunction | None, ...]]


class QueueingHints:
    """The plugins' registrations, looked up by event and asked about Pods.

    A plugin that is not among the registrations wants every event, one with an
    empty list wants none. The answer to "who registered this" is computed once an event.
    `measuring` is told how long each hint takes.
    """

    def __init__(self, registrations: Registrations, *, measuring: Measuring | None = None) -> None:
        self._registrations: dict[str, dict[str, Sequence[EventRegistration]]] = {}
        self._interests: dict[ClusterEvent, Interest] = {}
        for scheduler_name, plugins in registrations.items():
            self.register(scheduler_name, plugins)
        self._results: dict[tuple[str, str, str], int] = {}
        self._errors: deque[HintError] = deque(maxlen=_KEPT_ERRORS)
        self._measuring = measuring

    def register(
        self, scheduler_name: str, plugins: Mapping[str, Sequence[EventRegistration]]
    ) -> None:
        """Take a profile's registrations, in the place of those it had."""
        self._registrations[scheduler_name] = {
            plugin: _with_taint_update(events) for plugin, events in plugins.items()
        }
        self._interests.clear()

    def unregister(self, scheduler_name: str) -> None:
        """Forget a profile that is served no more."""
        self._registrations.pop(scheduler_name, None)
        self._interests.clear()

    def interest(self, event: ClusterEvent) -> Interest:
        """Give who registered the event. Cost: one look-up, after the first time."""
        interest = self._interests.get(event)
        if interest is None:
            interest = self._interests[event] = self._find_interest(event)
        return interest

    def know_rejectors(self, queued: QueuedPodInfo) -> None:
        """Register every event for those rejectors of the Pod that registered nothing."""
        plugins = self._registrations.setdefault(queued.pod.scheduler_name, {})
        for plugin in sorted(queued.rejectors - plugins.keys()):
            plugins[plugin] = (EventRegistration(EVERY_EVENT),)
            self._interests.clear()

    def concerns(self, occurrence: Occurrence, key: RejectorKey, queued: QueuedPodInfo) -> bool:
        """Whether a plugin may want Pods back that are of the shape of one that it rejected.

        False only if its hints look at nothing but the shape, and all of them say no.
        """
        hints = self.interest(occurrence.event).by_shape.get(key)
        if hints is None:
            return True
        return any(self._wants(key[1], hint, queued, occurrence) for hint in hints)

    def strategy(self, queued: QueuedPodInfo, occurrence: Occurrence) -> QueueingStrategy:
        """Ask the Pod's rejectors about the event.

        Without rejectors, or for a wildcard, it is always another attempt. A plugin in
        whose hands the Pod is pending may call it back at once; any other one after
        its backoff. A hint that raises counts as QUEUE: a Pod that is tried in vain
        costs little, one that is forgotten is lost.
        """
        if occurrence.event.is_wildcard or not queued.rejectors:
            return QueueingStrategy.AFTER_BACKOFF
        strategy = QueueingStrategy.SKIP
        hints = self.interest(occurrence.event).hints.get(queued.pod.scheduler_name, ())
        for plugin, hint in hints:
            if plugin in queued.pending_plugins:
                if self._wants(plugin, hint, queued, occurrence):
                    return QueueingStrategy.IMMEDIATELY
            elif strategy is QueueingStrategy.SKIP and plugin in queued.unschedulable_plugins:
                if not self._wants(plugin, hint, queued, occurrence):
                    continue
                strategy = QueueingStrategy.AFTER_BACKOFF
                if not queued.pending_plugins:
                    break
        return strategy

    def replay(self, queued: QueuedPodInfo, occurrences: Sequence[Occurrence]) -> QueueingStrategy:
        """Ask the Pod's rejectors about events in the past; the best answer counts."""
        if not queued.rejectors:
            return QueueingStrategy.AFTER_BACKOFF
        best = QueueingStrategy.SKIP
        for occurrence in occurrences:
            best = max(best, self.strategy(queued, occurrence))
            if best is QueueingStrategy.IMMEDIATELY or (best and not queued.pending_plugins):
                break
        return best

    def drain_results(self) -> dict[tuple[str, str, str], int]:
        """Give the number of hints asked since the last call, by (plugin, event label, result).

        The results are upstream's label values: Queue, QueueSkip, Error.
        """
        results, self._results = self._results, {}
        return results

    def drain_errors(self) -> list[HintError]:
        """Give the last hints that raised, at most 100; `drain_results` counts all."""
        errors = list(self._errors)
        self._errors.clear()
        return errors

    def _wants(
        self,
        plugin: str,
        hint: QueueingHintFunction | None,
        queued: QueuedPodInfo,
        occurrence: Occurrence,
    ) -> bool:
        label = occurrence.event.label
        result, measuring = "Queue", self._measuring
        start = 0.0 if measuring is None else measuring.read()
        if hint is not None:
            try:
                if hint(queued.pod, occurrence.old, occurrence.new) is QueueingHint.SKIP:
                    result = "QueueSkip"
            except Exception as error:  # noqa: BLE001 - a faulty plugin must not strand the Pod
                result = "Error"
                self._errors.append(HintError(plugin, label, queued.pod.key, repr(error)))
        if measuring is not None:
            measuring.note_hint(plugin, label, result, measuring.read() - start)
        key = (plugin, label, result)
        self._results[key] = self._results.get(key, 0) + 1
        return result != "QueueSkip"

    def _find_interest(self, event: ClusterEvent) -> Interest:
        keys: list[RejectorKey] = []
        hints: dict[str, tuple[tuple[str, QueueingHintFunction | None], ...]] = {}
        by_shape: dict[RejectorKey, tuple[QueueingHintFunction | None, ...]] = {}
        for scheduler_name, plugins in self._registrations.items():
            of_profile: list[tuple[str, QueueingHintFunction | None]] = []
            for plugin, events in plugins.items():
                matching = [r for r in events if r.event.matches(event)]
                if not matching:
                    continue
                key = (scheduler_name, plugin)
                keys.append(key)
                of_profile += [(plugin, registration.hint) for registration in matching]
                if all(registration.is_by_shape for registration in matching):
                    by_shape[key] = tuple(registration.hint for registration in matching)
            hints[scheduler_name] = tuple(of_profile)
        return Interest(tuple(keys), hints, by_shape)


def _with_taint_update(events: Sequence[EventRegistration]) -> tuple[EventRegistration, ...]:
    """Let a plugin that waits for new Nodes see them untainted, too.

    A Node often comes with a taint that is lifted a moment later; to a plugin that asks
    for Node Add alone the Node would be lost if its Add is told while it is tainted.
    """
    actions = [r.event.action for r in events if r.event.resource == EventResource.NODE]
    sees_add = any(action & ActionType.ADD for action in actions)
    sees_taint = any(action & ActionType.UPDATE_NODE_TAINT for action in actions)
    if sees_add and not sees_taint:
        return (*events, EventRegistration(_NODE_TAINT_UPDATE))
    return tuple(events)
