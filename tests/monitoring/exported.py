"""The samples that our processes export, with their labels, from their own tables."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector

from kubeio import metric_table as shared
from kubeio.instruments import Definition, Kind
from node_agent.shell import metric_table as agent
from node_agent.shell.journey import metric_table as journeys
from node_agent.shell.kubelet import metric_table as kubelet
from node_agent.shell.kubelet.start_metrics import START_HISTOGRAMS
from scheduler_svc.controller import metric_table as controller
from scheduler_svc.shell.custom_plugins import watching
from scheduler_svc.shell.metrics import metric_table as scheduler
from scheduler_svc.shell.metrics import plugin_metric_table as plugins

TARGET_LABELS: Final = frozenset(
    {"cluster", "namespace", "release", "job", "instance", "pod", "node"}
)
"""Labels of targets: ``cluster`` is given by whoever runs several, the others by the chart."""

Samples = dict[str, frozenset[str]]


def scheduler_samples() -> Samples:
    """Give the names of the scheduler's samples and the labels of each, without the target's."""
    return _of_every_process() | _defined_in(shared, scheduler, plugins, watching)


def controller_samples() -> Samples:
    """Give the same of the controller's."""
    election = _parts(scheduler.LEADER.name, scheduler.LEADER.kind, scheduler.LEADER.labels)
    return _of_every_process() | _defined_in(shared, controller) | election


def agent_samples() -> Samples:
    """Give the same of the agent's."""
    theirs = [
        _parts(f"{kubelet.START_PREFIX}{name}", Kind.HISTOGRAM, ()) for name in START_HISTOGRAMS
    ]
    defined = _defined_in(shared, agent, journeys, kubelet)
    return _of_every_process() | defined | {k: v for part in theirs for k, v in part.items()}


def _defined_in(*modules: ModuleType) -> Samples:
    definitions = [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, Definition)
    ]
    samples: Samples = {}
    for definition in definitions:
        samples |= _parts(definition.name, definition.kind, definition.labels)
    return samples


def _parts(name: str, kind: Kind, labels: tuple[str, ...]) -> Samples:
    found = frozenset(labels)
    if kind is not Kind.HISTOGRAM:
        return {name: found}
    return {f"{name}_bucket": found | {"le"}, f"{name}_sum": found, f"{name}_count": found}


def _of_every_process() -> Samples:
    """Give ``up``, which Prometheus writes, and prometheus-client's own."""
    none: frozenset[str] = frozenset()
    collected = ProcessCollector(registry=CollectorRegistry()).collect()
    return {"up": none} | {sample.name: none for family in collected for sample in family.samples}
