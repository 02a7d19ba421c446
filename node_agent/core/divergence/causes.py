"""Why a bound Pod does not run, or is not ready, as far as it can be known.

The kubelet works in a fixed order (see `journey.marks`), so the first thing that is not done is
what the Pod waits for. Where two things look the same from outside, the cause says both.

Source: pkg/kubelet/kubelet_pods.go (waiting reasons), images/types.go, cri-api errors,
kuberuntime/kuberuntime_container.go, container/sync_result.go, events/event.go, v1.36.3.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

import msgspec

from node_agent.core.divergence.comparison import refusal_of
from node_agent.core.journey.evidence import start_nanoseconds
from node_agent.core.journey.journey import FileTimes
from node_agent.core.objects import ContainerStatus, Pod, PodStatus


class Cause(StrEnum):
    """What a Pod waits for; names appear in metrics and JSON.

    `KUBELET_SILENT`: the kubelet has reported nothing, and the agent may not ask it.
    `SYNC_NOT_STARTED`: the kubelet has seen the Pod and not begun with it.
    """

    KUBELET_UNREACHABLE = "kubelet_unreachable"
    KUBELET_SILENT = "kubelet_silent"
    NOT_SEEN = "not_seen"
    REFUSED = "refused"
    SYNC_NOT_STARTED = "sync_not_started"
    VOLUMES = "volumes"
    SANDBOX = "sandbox"
    VOLUMES_OR_SANDBOX = "volumes_or_sandbox"
    INIT_CONTAINER = "init_container"
    IMAGE_PULL = "image_pull"
    CONTAINER_CREATION = "container_creation"
    IMAGE_PULL_OR_CREATION = "image_pull_or_creation"
    CRASH_LOOP = "crash_loop"
    STARTUP_PROBE = "startup_probe"
    READINESS_PROBE = "readiness_probe"
    READINESS_GATE = "readiness_gate"
    UNKNOWN = "unknown"


class Diagnosis(msgspec.Struct, frozen=True, gc=False):
    """A cause, and a sentence about it."""

    cause: Cause
    detail: str


class KubeletEvidence(msgspec.Struct, frozen=True, gc=False):
    """What is known beside the Pod's own status.

    Attributes
    ----------
    is_reachable
        None where the agent does not ask the kubelet.
    has_seen
        Whether the kubelet shows the Pod; None where that is not known.
    files
        Times of the kubelet's directories; None where they may not be read.
    event_reasons
        Of the Events about the Pod.
    """

    is_reachable: bool | None = None
    has_seen: bool | None = None
    files: FileTimes | None = None
    event_reasons: frozenset[str] = frozenset()


NO_EVIDENCE: Final = KubeletEvidence()
_IMAGE_REASONS: Final = frozenset(
    (
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    )
)
_CREATION_REASONS: Final = frozenset(
    (
        "CreateContainerConfigError",
        "CreateContainerError",
        "PostStartHookError",
        "PreCreateHookError",
        "PreStartHookError",
        "RunContainerError",
    )
)
_CRASH_REASON: Final = "CrashLoopBackOff"
_VOLUME_EVENTS: Final = frozenset(("FailedAttachVolume", "FailedMapVolume", "FailedMount"))
_SANDBOX_EVENTS: Final = frozenset(("FailedCreatePodSandBox", "NetworkNotReady"))


def diagnose(pod: Pod, evidence: KubeletEvidence = NO_EVIDENCE) -> Diagnosis | None:
    """Say why a Pod is not running and ready.

    Parameters
    ----------
    pod
        Bound to this node; a static one with the status that its kubelet shows.

    Returns
    -------
    Diagnosis or None
        None where it is ready, has ended, or is being deleted.
    """
    status = pod.status
    if pod.metadata.deletion_timestamp is not None or status.phase == "Succeeded":
        return None
    if status.phase == "Failed":
        refusal = refusal_of(pod)
        return None if refusal is None else Diagnosis(Cause.REFUSED, refusal)
    if _holds(status, "Ready"):
        return None
    if evidence.is_reachable is False:
        return Diagnosis(Cause.KUBELET_UNREACHABLE, "The kubelet does not answer.")
    if status.start_time is None and not status.container_statuses:
        return _not_begun(evidence)
    if not _has_sandbox(status):
        return _before_sandbox(pod, evidence)
    found = next(_of_containers(pod, evidence), None)
    return found or Diagnosis(Cause.UNKNOWN, "Nothing tells what it waits for.")


def _not_begun(evidence: KubeletEvidence) -> Diagnosis:
    if evidence.has_seen is None:
        return Diagnosis(Cause.KUBELET_SILENT, "The kubelet has reported nothing about it.")
    if not evidence.has_seen:
        return Diagnosis(Cause.NOT_SEEN, "It is bound, and the kubelet has not seen it.")
    return Diagnosis(Cause.SYNC_NOT_STARTED, "The kubelet has seen it and has not begun.")


def _has_sandbox(status: PodStatus) -> bool:
    if _holds(status, "PodReadyToStartContainers"):
        return True
    statuses = (*status.init_container_statuses, *status.container_statuses)
    return any(start_nanoseconds(container) is not None for container in statuses)


def _before_sandbox(pod: Pod, evidence: KubeletEvidence) -> Diagnosis:
    """Tell volumes and the sandbox apart, by directories, by Events, or not at all."""
    volumes = Diagnosis(Cause.VOLUMES, "Its volumes are not mounted yet.")
    sandbox = Diagnosis(Cause.SANDBOX, "Its sandbox or network is not ready yet.")
    if evidence.files is not None:
        return volumes if evidence.files.log_directory is None else sandbox
    if evidence.event_reasons & _SANDBOX_EVENTS or not pod.spec.volumes:
        return sandbox
    if evidence.event_reasons & _VOLUME_EVENTS:
        return volumes
    detail = "Its volumes are not mounted, or its sandbox or network is not ready."
    return Diagnosis(Cause.VOLUMES_OR_SANDBOX, detail)


def _of_containers(pod: Pod, evidence: KubeletEvidence) -> Iterator[Diagnosis]:
    """Give what the containers wait for, in the order in which they are started."""
    yield from _of_init_containers(pod)
    statuses = {status.name: status for status in pod.status.container_statuses}
    for container in pod.spec.containers:
        status = statuses.get(container.name)
        if status is None or status.state.running is None:
            yield from _of_stopped(pod, container.name, status, evidence)
    for status in pod.status.container_statuses:
        if status.state.running is not None and status.started is False:
            yield Diagnosis(
                Cause.STARTUP_PROBE, f"{status.name}: its startup probe has not passed."
            )
    for status in pod.status.container_statuses:
        if status.state.running is not None and not status.ready:
            yield Diagnosis(Cause.READINESS_PROBE, f"{status.name}: its readiness probe fails.")
    for gate in pod.spec.readiness_gates:
        if not _holds(pod.status, gate.condition_type):
            yield Diagnosis(Cause.READINESS_GATE, f"{gate.condition_type} is not True.")


def _of_init_containers(pod: Pod) -> Iterator[Diagnosis]:
    statuses = {status.name: status for status in pod.status.init_container_statuses}
    for container in pod.spec.init_containers:
        status = statuses.get(container.name)
        if status is None:
            continue
        if container.restart_policy == "Always":
            is_done = status.started is True
        else:
            ended = status.state.terminated
            is_done = ended is not None and ended.exit_code == 0
        if is_done:
            continue
        waiting = status.state.waiting
        reason = waiting.reason if waiting is not None else ""
        if waiting is not None and reason in _IMAGE_REASONS:
            yield _waiting(Cause.IMAGE_PULL, container.name, reason, waiting.message)
        elif waiting is not None and reason in _CREATION_REASONS:
            yield _waiting(Cause.CONTAINER_CREATION, container.name, reason, waiting.message)
        else:
            state = reason or ("is running" if status.state.running else "has failed")
            yield Diagnosis(Cause.INIT_CONTAINER, f"{container.name}: {state}")


def _of_stopped(
    pod: Pod, name: str, status: ContainerStatus | None, evidence: KubeletEvidence
) -> Iterator[Diagnosis]:
    waiting = None if status is None else status.state.waiting
    if status is not None and status.state.terminated is not None:
        ended = status.state.terminated
        if pod.spec.restart_policy == "Always" or (
            pod.spec.restart_policy == "OnFailure" and ended.exit_code != 0
        ):
            detail = f"{name}: ended with exit code {ended.exit_code}, is to be started again."
            yield Diagnosis(Cause.CRASH_LOOP, detail)
        return
    reason = "" if waiting is None else waiting.reason
    message = "" if waiting is None else waiting.message
    if reason in _IMAGE_REASONS:
        yield _waiting(Cause.IMAGE_PULL, name, reason, message)
    elif reason == _CRASH_REASON:
        yield _waiting(Cause.CRASH_LOOP, name, reason, message)
    elif reason in _CREATION_REASONS:
        yield _waiting(Cause.CONTAINER_CREATION, name, reason, message)
    elif evidence.files is None:
        detail = f"{name}: its image is being pulled, or it is being created."
        yield Diagnosis(Cause.IMAGE_PULL_OR_CREATION, detail)
    elif name in evidence.files.container_logs:
        yield Diagnosis(Cause.CONTAINER_CREATION, f"{name}: it is being created.")
    else:
        yield Diagnosis(Cause.IMAGE_PULL, f"{name}: its image is being pulled.")


def _waiting(cause: Cause, name: str, reason: str, message: str) -> Diagnosis:
    return Diagnosis(cause, f"{name}: {reason}: {message}" if message else f"{name}: {reason}")


def _holds(status: PodStatus, condition_type: str) -> bool:
    return any(c.type == condition_type and c.status == "True" for c in status.conditions)
