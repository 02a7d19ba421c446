"""What operators can read of each step of a Pod on its node: log lines and counts.

The messages of operations are the kubelet's own (``SyncLoop ADD`` …) with its fields, so that
both logs can be laid side by side; those of workers say that they are inferred. Each at the
verbosity at which the kubelet has it.

Source: pkg/kubelet/kubelet.go (syncLoopIteration), v1.36.3.
"""

import logging
from collections.abc import Iterable
from typing import Final

from prometheus_client import Metric

from kubeio.instruments import Counter, Histogram
from kubeio.logs import V2, V3, V4, fields
from node_agent.core.effects import (
    DuplicateDropped,
    Effect,
    SourcesSeen,
    UpdateReceived,
    WorkerStepped,
)
from node_agent.core.objects import Pod
from node_agent.core.operations import Operation, PodUpdate, Source
from node_agent.core.pod_workers import WorkerState, WorkerStep
from node_agent.shell import metric_table as table

_SHOWN_PODS: Final = 20
_STEPS: Final = {
    WorkerState.WAITING: "Pod worker waits (inferred)",
    WorkerState.SYNC: "Pod worker syncs (inferred)",
    WorkerState.TERMINATING: "Pod worker terminates (inferred)",
    WorkerState.TERMINATED: "Pod worker has terminated (inferred)",
    WorkerState.FINISHED: "Pod worker has finished (inferred)",
}

_logger = logging.getLogger(__name__)


class Journal:
    """Tells what the core reports."""

    def __init__(self) -> None:
        self._operations = Counter(table.UPDATES)
        self._duplicates = Counter(table.DUPLICATES)
        self._seconds = Histogram(table.SYNC_SECONDS)

    def handled(self, source: Source, effects: Iterable[Effect], seconds: float) -> None:
        """Note what a list of a source came to, and how long that took."""
        self._seconds.series((source.value,)).observe(seconds)
        self.note(effects)

    def note(self, effects: Iterable[Effect]) -> None:
        """Note effects, in order."""
        for effect in effects:
            match effect:
                case UpdateReceived(update):
                    self._note_update(update)
                case WorkerStepped(step):
                    _note_step(step)
                case DuplicateDropped(source, pod):
                    self._note_duplicate(source, pod)
                case SourcesSeen():
                    _logger.info("All sources of Pods have been heard of")

    def collect(self) -> list[Metric]:
        """Give the metrics."""
        return [self._operations.collect(), self._duplicates.collect(), self._seconds.collect()]

    def _note_update(self, update: PodUpdate) -> None:
        labels = (update.source.value, update.operation.value)
        self._operations.add(labels, len(update.pods))
        level = V4 if update.operation is Operation.RECONCILE else V2
        if _logger.isEnabledFor(level):
            _logger.log(
                level,
                f"SyncLoop {update.operation.value}",
                extra=fields(source=update.source.value, pods=_shown_pods(update.pods)),
            )

    def _note_duplicate(self, source: Source, pod: Pod) -> None:
        self._duplicates.add((source.value,))
        _logger.warning(
            "Pod left out: another of its source has its name",
            extra=fields(source=source.value, pod=_key(pod), uid=pod.metadata.uid),
        )


def _note_step(step: WorkerStep) -> None:
    if _logger.isEnabledFor(V3):
        _logger.log(
            V3,
            _STEPS[step.state],
            extra=fields(pod=_key(step.pod), uid=step.pod.metadata.uid, reason=step.reason),
        )


def _shown_pods(pods: tuple[Pod, ...]) -> str:
    shown = [_key(pod) for pod in pods[:_SHOWN_PODS]]
    if len(pods) > _SHOWN_PODS:
        shown.append(f"and {len(pods) - _SHOWN_PODS} more")
    return f"[{','.join(shown)}]"


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
