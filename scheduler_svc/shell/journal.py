"""What operators can read of each step of a Pod: log lines, metrics, remembered decisions.

One line for each step, with the Pod's key and uid, at the verbosity that kube-scheduler
has for it. Cost for a scheduled Pod with no line wanted: under 5 µs.
"""

import asyncio
import logging
from typing import Final

from kubeio.logs import V2, V3, fields
from scheduler_svc.core.effects import (
    AttemptResult,
    BindPod,
    ReportAttempt,
    ReportBound,
    ReportRefusal,
)
from scheduler_svc.core.events import BindFailed, BindFailure
from scheduler_svc.core.framework.diagnosis import NO_NODES_TEXT
from scheduler_svc.core.queue.hints import QueueingHints
from scheduler_svc.core.status import Code
from scheduler_svc.shell.clock import read_monotonic_seconds
from scheduler_svc.shell.explain.memory import DecisionMemory
from scheduler_svc.shell.metrics.attempt_metrics import AttemptMetrics
from scheduler_svc.shell.metrics.plugin_metrics import SAMPLE, PluginMetrics

_HINTS_LOG_SECONDS: Final = 10.0

_logger = logging.getLogger(__name__)

BOUND: Final = "Successfully bound pod to node"
BOUND_IN_DRY_RUN: Final = "Would have bound pod to node"
WHAT_NEXT: Final = {
    BindFailure.GONE: "nothing: the Pod is gone",
    BindFailure.BOUND_ELSEWHERE: "nothing: somebody else has bound it",
    BindFailure.NODE_GONE: "retry after its backoff",
    BindFailure.NOT_LEADER: "left to the leader",
    BindFailure.REFUSED: "retry after its backoff",
}


class Journal:
    """Notes what happens to Pods; in a dry run they are bound in name only."""

    def __init__(
        self,
        metrics: AttemptMetrics,
        *,
        plugins: PluginMetrics | None = None,
        memory: DecisionMemory | None = None,
        dry_run: bool = False,
    ) -> None:
        self._metrics = metrics
        self._plugins = plugins or PluginMetrics()
        self._bound_count = 0
        self._memory = memory
        self._bound_text = BOUND_IN_DRY_RUN if dry_run else BOUND
        # Those on their way to being bound, with the monotonic second of the decision.
        self._binding: dict[str, tuple[BindPod, float]] = {}

    def decided(self, effect: BindPod) -> None:
        """Note that a Pod has a Node, and is about to be bound."""
        self._binding[effect.pod.uid] = (effect, read_monotonic_seconds())
        self._metrics.decided(effect)
        if self._memory is not None:
            self._memory.decided(effect)
        if _logger.isEnabledFor(V3):
            pod, uid, node = effect.pod.key, effect.pod.uid, effect.node_name
            _logger.log(
                V3,
                "Attempting to schedule pod",
                extra=fields(pod=pod, uid=uid, attempt=effect.attempt),
            )
            _logger.log(V3, "Assumed pod", extra=fields(pod=pod, uid=uid, node=node))
            _logger.log(
                V3,
                "Attempting to bind pod to node",
                extra=fields(pod=pod, uid=uid, node=node, decision=effect.decision_id),
            )

    def bound(self, effect: ReportBound) -> None:
        """Note that a Pod is bound."""
        binding, decided_seconds = self._binding.pop(effect.pod.uid, (None, 0.0))
        self._bound_count += 1
        if self._bound_count % SAMPLE == 0 and binding is not None and binding.plugin:
            self._plugins.bound(binding, read_monotonic_seconds() - decided_seconds)
        self._metrics.bound(effect)
        if _logger.isEnabledFor(V2):
            _logger.log(
                V2,
                self._bound_text,
                extra=fields(
                    pod=effect.pod.key,
                    uid=effect.pod.uid,
                    node=effect.node_name,
                    attempt=effect.attempt,
                    binding_seconds=round(effect.binding_seconds, 6),
                ),
            )

    def bind_failed(self, event: BindFailed) -> None:
        """Note that a Pod was not bound, and what follows."""
        binding, decided_seconds = self._binding.pop(event.uid, (None, 0.0))
        if binding is None:
            return
        seconds = read_monotonic_seconds() - decided_seconds
        self._metrics.bind_failed(event.failure, seconds)
        if binding.plugin:
            self._plugins.bound(binding, seconds, Code.ERROR.text)
        # That a Pod is deleted meanwhile is nobody's mistake.
        level = V2 if event.failure is BindFailure.GONE else logging.ERROR
        _logger.log(
            level,
            "Failed to bind pod",
            extra=fields(
                pod=binding.pod.key,
                uid=event.uid,
                node=binding.node_name,
                failure=event.failure.value,
                err=event.message,
                next=WHAT_NEXT[event.failure],
            ),
        )

    def attempt_failed(self, effect: ReportAttempt) -> None:
        """Note an attempt that gave the Pod no Node, or lost it again."""
        seconds = read_monotonic_seconds() - effect.begun_at_seconds
        self._metrics.attempt_failed(effect, seconds)
        if self._memory is not None:
            self._memory.failed(effect)
        pod, uid = effect.pod.key, effect.pod.uid
        if _logger.isEnabledFor(V3) and not effect.node_name:
            _logger.log(
                V3,
                "Attempting to schedule pod",
                extra=fields(pod=pod, uid=uid, attempt=effect.attempt),
            )
        said = fields(pod=pod, uid=uid, attempt=effect.attempt, err=effect.message)
        if effect.result is AttemptResult.ERROR:
            _logger.error("Error scheduling pod; retrying", extra=said)
        elif effect.message == NO_NODES_TEXT:
            _logger.log(
                V2,
                "Unable to schedule pod; no nodes are registered to the cluster; waiting",
                extra=said,
            )
        else:
            _logger.log(V2, "Unable to schedule pod; no fit; waiting", extra=said)

    def refused(self, effect: ReportRefusal) -> None:
        """Note that a kubelet has refused a Pod that was bound to it."""
        self._metrics.refused(effect.reason)
        _logger.warning(
            "A kubelet refused a pod that was bound to it",
            extra=fields(
                pod=effect.pod.key,
                uid=effect.pod.uid,
                node=effect.node_name,
                reason=effect.reason,
                err=effect.message,
                withheld=effect.withheld,
            ),
        )


async def log_hint_errors(hints: QueueingHints) -> None:
    """Tell, every few seconds until cancelled, which plugins' queueing hints have raised."""
    while True:
        for error in hints.drain_errors():
            _logger.error(
                "A queueing hint failed; the pod is tried again as if it had said yes",
                extra=fields(
                    plugin=error.plugin,
                    event=error.event_label,
                    pod=error.pod_key,
                    err=error.message,
                ),
            )
        await asyncio.sleep(_HINTS_LOG_SECONDS)
