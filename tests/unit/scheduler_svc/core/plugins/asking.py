"""Asks one plugin about Nodes and events, as the framework would."""

from collections.abc import Iterable
from typing import Any

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventResource,
    QueueingHint,
)
from scheduler_svc.core.framework.interface import (
    EnqueueExtensions,
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.verdict import Verdict, judge
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code
from tests.builders import make_cluster, make_profile

UNSCHEDULABLE = Code.UNSCHEDULABLE
UNRESOLVABLE = Code.UNSCHEDULABLE_AND_UNRESOLVABLE

NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_ALLOCATABLE = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_ALLOCATABLE)
NODE_LABEL = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)
NODE_TAINT = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
POD_TOLERATION = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE_POD_TOLERATION)
POD_GATES = ClusterEvent(
    EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
)
POD_SCALE_DOWN = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_DOWN)
POD_DELETE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)

EVENTS = {
    "Node add": NODE_ADD,
    "Node delete": ClusterEvent(EventResource.NODE, ActionType.DELETE),
    "Node allocatable": NODE_ALLOCATABLE,
    "Node label": NODE_LABEL,
    "Node taint": NODE_TAINT,
    "Pod add": ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD),
    "Pod label": ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_LABEL),
    "Pod scale-down": POD_SCALE_DOWN,
    "Pod delete": POD_DELETE,
    "Pod toleration": POD_TOLERATION,
    "Pod gates": POD_GATES,
}


def _judge(plugin: Plugin, pod: PodInfo, cluster: Cluster) -> Verdict:
    points: dict[str, type[Plugin]] = {
        "preFilter": PreFilterPlugin,
        "filter": FilterPlugin,
        "preScore": PreScorePlugin,
        "score": ScorePlugin,
    }
    own = {p: [plugin] for p, contract in points.items() if isinstance(plugin, contract)}
    return judge(prepare(make_profile(own), pod, cluster), cluster.columns)


def filtered(
    plugin: Plugin, pod: PodInfo, nodes: Iterable[NodeInfo], pods: Iterable[PodInfo] = ()
) -> dict[str, tuple[Code, list[str]] | None]:
    """Give by Node the code and reasons of a rejection, None where the Pod may run."""
    cluster = make_cluster(nodes, pods)
    columns = cluster.columns
    verdict = _judge(plugin, pod, cluster)
    result: dict[str, tuple[Code, list[str]] | None] = {
        columns.names[row]: None for row in verdict.rows
    }
    for group in verdict.diagnosis.groups:
        assert group.status.plugin == plugin.name
        for row in group.rows:
            result[columns.names[row]] = group.status.code, list(group.status.reasons)
    return result


def passing(
    plugin: Plugin, pod: PodInfo, nodes: Iterable[NodeInfo], pods: Iterable[PodInfo] = ()
) -> set[str]:
    """Give the Nodes on which the Pod may run."""
    verdicts = filtered(plugin, pod, nodes, pods)
    return {name for name, rejection in verdicts.items() if rejection is None}


def scored(
    plugin: Plugin, pod: PodInfo, nodes: Iterable[NodeInfo], pods: Iterable[PodInfo] = ()
) -> dict[str, int] | None:
    """Give the score of each feasible Node; None if the plugin is skipped."""
    cluster = make_cluster(nodes, pods)
    columns = cluster.columns
    verdict = _judge(plugin, pod, cluster)
    if plugin.name not in verdict.shares:
        return None
    shares = verdict.shares[plugin.name].tolist()
    return {columns.names[row]: share for row, share in zip(verdict.rows, shares, strict=True)}


def registered(plugin: EnqueueExtensions) -> set[str]:
    """Give the events of `EVENTS` that the plugin wants to hear of."""
    registrations = plugin.events_to_register()
    return {
        name for name, event in EVENTS.items() if any(r.event.matches(event) for r in registrations)
    }


def is_queued(
    plugin: EnqueueExtensions, event: ClusterEvent, pod: PodInfo, old: Any, new: Any
) -> bool:
    """Whether the plugin's hint calls the Pod; an event without a hint always does."""
    hints = [r.hint for r in plugin.events_to_register() if r.event.matches(event)]
    assert hints, f"{plugin.name} does not want to hear of {event.label}"
    return any(hint is None or hint(pod, old, new) is QueueingHint.QUEUE for hint in hints)
