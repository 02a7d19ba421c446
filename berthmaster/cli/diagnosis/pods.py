"""What is kept of Pods: of those that run only what they request, of the others how they stand."""

from collections import defaultdict
from typing import Final

import msgspec

from berthmaster.cli.diagnosis import wire
from berthmaster.cli.diagnosis.amounts import requests_of
from berthmaster.cli.diagnosis.daemons import AGENT, SCHEDULER, component_of, daemon_pod
from berthmaster.cli.diagnosis.facts import DaemonPod, PendingPod, Scope, StoppedPod
from berthmaster.cli.diagnosis.wire import seconds_of
from node_agent.core.divergence.causes import Cause, diagnose
from node_agent.core.objects import WirePod, read_pod
from scheduler_svc.core.errors import InputError
from scheduler_svc.core.objects import Pod as ScheduledPod

MIRROR: Final = "kubernetes.io/config.mirror"
"""Annotation of a Pod that its kubelet made itself: nobody has scheduled it."""
_PENDING: Final = "Pending"
_PREEMPTED: Final = "PreemptionByScheduler"
_decode: Final = msgspec.json.Decoder(wire.Pod).decode
_decode_scheduled: Final = msgspec.json.Decoder(ScheduledPod).decode
_decode_whole: Final = msgspec.json.Decoder(WirePod).decode


class Pods:
    """Sorts Pods as they come, one at a time; keeps nothing of those that are well.

    Parameters
    ----------
    scope
        Which Pods are judged; the room that all take is counted.

    Attributes
    ----------
    used
        By Node, what its Pods request, by resource.
    judged_names
        schedulerNames of Pods that somebody has judged, and when that was last; 0.0 where no Pod
        says when.
    evicting_nodes
        Where Pods are that preemption has chosen as victims.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._messages: dict[str, str] = {}
        self.pending: list[PendingPod] = []
        self.stopped: list[StoppedPod] = []
        self.bound_count = 0
        self.used: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.judged_names: dict[str, float] = {}
        self.evicting_nodes: set[str] = set()
        self.schedulers: list[DaemonPod] = []
        self.agents: list[DaemonPod] = []

    def add(self, raw: msgspec.Raw) -> None:
        """Take in an unfinished Pod. Cost: 30 µs for one that runs.

        A Pod that cannot be read is left out: the API server has let nothing in that no
        scheduler understands, so it is of a version that is not known here.
        """
        try:
            self._add(raw)
        except (msgspec.ValidationError, InputError):
            return

    def add_failed(self, raw: msgspec.Raw) -> None:
        """Take in a Pod that has failed: of interest if its kubelet refused it."""
        try:
            pod = _decode(raw)
            if pod.spec.node_name and self._is_judged(pod):
                self._add_stopped(pod, raw)
        except (msgspec.ValidationError, InputError):
            return

    def _add(self, raw: msgspec.Raw) -> None:
        pod = _decode(raw)
        self._add_daemon(pod, raw)
        scheduled = pod.condition("PodScheduled")
        name = pod.spec.scheduler_name
        if MIRROR not in (pod.metadata.annotations or ()) and (
            pod.spec.node_name or (scheduled is not None and scheduled.reason != "SchedulingGated")
        ):
            since = seconds_of(scheduled.last_transition_time) if scheduled else None
            self.judged_names[name] = max(self.judged_names.get(name, 0.0), since or 0.0)
        if not pod.spec.node_name:
            if self._is_judged(pod) and pod.metadata.deletion_timestamp is None:
                self._add_pending(pod, scheduled, raw)
            return
        used = self.used[pod.spec.node_name]
        for resource, amount in requests_of(_decode_scheduled(raw)).items():
            used[resource] += amount
        if _is_victim(pod):
            self.evicting_nodes.add(pod.spec.node_name)
        if self._is_judged(pod):
            self.bound_count += 1
            ready = pod.condition("Ready")
            if ready is None or ready.status != "True":
                self._add_stopped(pod, raw)

    def _is_judged(self, pod: wire.Pod) -> bool:
        return self._scope.has(pod.metadata.namespace, pod.spec.scheduler_name)

    def _add_daemon(self, pod: wire.Pod, raw: msgspec.Raw) -> None:
        component = component_of(pod.metadata.labels)
        if component is None:
            return
        daemon = daemon_pod(msgspec.json.decode(raw, type=wire.Daemon))
        if daemon is not None and component == SCHEDULER:
            self.schedulers.append(daemon)
        elif daemon is not None and component == AGENT:
            self.agents.append(daemon)

    def _add_pending(
        self, pod: wire.Pod, scheduled: wire.Condition | None, raw: msgspec.Raw
    ) -> None:
        is_judged = scheduled is not None and scheduled.status != "True"
        message = scheduled.message if scheduled is not None and is_judged else ""
        requests = requests_of(_decode_scheduled(raw))
        self.pending.append(
            PendingPod(
                namespace=pod.metadata.namespace,
                name=pod.metadata.name,
                scheduler_name=pod.spec.scheduler_name,
                created=seconds_of(pod.metadata.creation_timestamp) or 0.0,
                reason=scheduled.reason if scheduled is not None and is_judged else "",
                message=self._messages.setdefault(message, message),
                since=seconds_of(scheduled.last_transition_time) if scheduled else None,
                gates=tuple(gate.name for gate in pod.spec.scheduling_gates or ()),
                nominated_node=pod.status.nominated_node_name,
                requests=tuple(sorted(requests.items())),
            )
        )

    def _add_stopped(self, pod: wire.Pod, raw: msgspec.Raw) -> None:
        diagnosis = diagnose(read_pod(_decode_whole(raw)))
        if diagnosis is None:
            return
        if diagnosis.cause is Cause.UNKNOWN and pod.status.phase != _PENDING:
            return  # some of its containers have ended well, as a Job's do
        self.stopped.append(
            StoppedPod(
                namespace=pod.metadata.namespace,
                name=pod.metadata.name,
                node_name=pod.spec.node_name,
                scheduler_name=pod.spec.scheduler_name,
                cause=diagnosis.cause.value,
                detail=diagnosis.detail,
                since=_stopped_since(pod),
            )
        )


def _is_victim(pod: wire.Pod) -> bool:
    """Whether a scheduler has chosen a Pod to make room for another, as it says in its status."""
    target = pod.condition("DisruptionTarget")
    return target is not None and target.status == "True" and target.reason == _PREEMPTED


def _stopped_since(pod: wire.Pod) -> float | None:
    """Give since when it is not ready: what is told of that, else of its binding."""
    for kind in ("Ready", "PodScheduled"):
        condition = pod.condition(kind)
        since = seconds_of(condition.last_transition_time) if condition is not None else None
        if since is not None:
            return since
    return seconds_of(pod.status.start_time) or seconds_of(pod.metadata.creation_timestamp)
