"""What a scrape shows, computed from who knows it at that moment."""

import platform
from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client import Metric

from kubeio import metric_table as shared
from kubeio.instruments import (
    Counter,
    LabelValues,
    counter,
    gauge,
)
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.shell.lease import LeaseElection
from scheduler_svc.shell.metrics import metric_table as table
from scheduler_svc.shell.metrics.plugin_metric_table import PLUGIN_EVALUATIONS
from scheduler_svc.shell.writes.binder import Binder
from scheduler_svc.shell.writes.condition_patcher import ConditionPatcher
from scheduler_svc.shell.writes.event_recorder import EventRecorder

_NO_LABELS: Final[LabelValues] = ()


class CoreMetrics:
    """The queue, the cache and the evaluations that are kept."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._incoming = Counter(table.INCOMING_PODS)
        self._hints = Counter(table.HINTS)
        self._evaluations = Counter(PLUGIN_EVALUATIONS)

    def collect(self) -> list[Metric]:
        """Give the families; counts since the last scrape are drained from the core."""
        for labels, count in self._scheduler.queue.drain_incoming().items():
            self._incoming.add(labels, count)
        for hint, count in self._scheduler.queue.hints.drain_results().items():
            self._hints.add(hint, count)
        for evaluated, count in self._scheduler.drain_plugin_evaluations().items():
            self._evaluations.add(evaluated, count)
        statistics = self._scheduler.statistics()
        queue = statistics.queue
        pending = {
            "active": queue.active_count,
            "backoff": queue.backoff_count,
            "unschedulable": queue.unschedulable_count,
            "gated": queue.gated_count,
        }
        sizes = {
            "nodes": statistics.node_count,
            "pods": statistics.pod_count,
            "assumed_pods": statistics.assumed_pod_count,
        }
        in_flight = {**queue.in_flight_events, "PodPopped": queue.in_flight_count}
        rejected = {
            (plugin, profile): count for (profile, plugin), count in queue.rejected_counts.items()
        }
        return [
            gauge(table.PENDING_PODS, _labelled(pending.items())),
            self._incoming.collect(),
            self._hints.collect(),
            self._evaluations.collect(),
            gauge(table.INFLIGHT_EVENTS, _labelled(in_flight.items())),
            gauge(table.GOROUTINES, [(("binding",), statistics.binding_count)]),
            gauge(table.UNSCHEDULABLE_PODS, rejected.items()),
            gauge(table.CACHE_SIZE, _labelled(sizes.items())),
            gauge(table.PARKED_PODS, [(_NO_LABELS, statistics.parked_count)]),
            gauge(table.WITHHELD_NODES, [(_NO_LABELS, statistics.withheld_node_count)]),
            gauge(table.WAITING_GROUPS, [(_NO_LABELS, statistics.waiting_group_count)]),
            gauge(table.HELD_GROUPS, [(_NO_LABELS, statistics.held_group_count)]),
            gauge(table.CLASSES, [(_NO_LABELS, statistics.class_count)]),
            gauge(table.CLASS_BYTES, [(_NO_LABELS, statistics.class_size_bytes)]),
        ]


class WriteMetrics:
    """Bindings, events and conditions on their way to the API server."""

    def __init__(self, binder: Binder, patcher: ConditionPatcher, recorder: EventRecorder) -> None:
        self._binder = binder
        self._patcher = patcher
        self._recorder = recorder

    def collect(self) -> list[Metric]:
        """Give the families."""
        bindings = self._binder.statistics()
        events = self._recorder.statistics()
        conditions = self._patcher.statistics()
        states = {"queued": bindings.queued_count, "in_flight": bindings.in_flight_count}
        return [
            gauge(table.BINDINGS, _labelled(states.items())),
            gauge(table.BIND_CONCURRENCY, [(_NO_LABELS, bindings.concurrency_limit)]),
            counter(table.BINDINGS_RETRIED, [(_NO_LABELS, bindings.retried_count)]),
            counter(table.BINDINGS_LOOKED_UP, [(_NO_LABELS, bindings.looked_count)]),
            gauge(table.EVENTS_QUEUED, [(_NO_LABELS, events.queued_count)]),
            gauge(table.EVENTS_OLDEST, [(_NO_LABELS, events.oldest_seconds)]),
            counter(table.EVENTS_WRITTEN, _labelled(events.written_counts.items())),
            counter(table.EVENTS_FOLDED, [(_NO_LABELS, events.folded_count)]),
            counter(table.EVENTS_DROPPED, _labelled(events.dropped_counts.items())),
            counter(table.CONDITIONS_WRITTEN, [(_NO_LABELS, conditions.written_count)]),
            counter(table.CONDITIONS_DROPPED, _labelled(conditions.dropped_counts.items())),
        ]


class ProcessMetrics:
    """What runs, and whether it leads."""

    def __init__(self, version: str, election: LeaseElection | None) -> None:
        self._version = version
        self._election = election

    def collect(self) -> list[Metric]:
        """Give the families; without an election nobody is master of a Lease."""
        build = gauge(shared.BUILD, [((self._version, platform.python_version()), 1)])
        if self._election is None:
            return [build]
        leads = [((self._election.name,), float(self._election.is_leader))]
        return [build, gauge(table.LEADER, leads)]


def _labelled(items: Iterable[tuple[str, float]]) -> Iterator[tuple[LabelValues, float]]:
    return (((label,), value) for label, value in items)
