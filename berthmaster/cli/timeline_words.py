"""What a timeline's codes mean, in words; JSON and metrics keep the codes."""

from typing import Final

from node_agent.core.divergence.causes import Cause
from node_agent.core.journey.marks import Step
from node_agent.core.journey.startup import SkipReason
from node_agent.core.journey.timeline import SegmentView

NOT_SCHEDULED: Final = "not_scheduled"
"""The cause of a Pod that has no Node: beside those of the agent, which knows bound Pods alone."""

WAITED_FOR: Final[dict[str, str]] = {
    Step.QUEUED: "the scheduler hears of it",
    Step.DECIDED: "waiting for a Node",
    Step.BOUND: "binding",
    Step.KUBELET_SEEN: "kubelet hears of it",
    Step.SYNC_STARTED: "kubelet begins",
    Step.VOLUMES_MOUNTED: "volumes",
    Step.SANDBOX_READY: "sandbox and network",
    Step.INITIALIZED: "init containers",
    Step.IMAGES_PULLED: "images",
    Step.CONTAINERS_STARTED: "containers start",
    Step.READY: "becoming ready",
    Step.DELETED: "running",
    Step.FINISHED: "stopping",
    Step.GONE: "cleaning up",
}
"""What a Pod waited for before each step, where the steps in between are known."""

_WIDER: Final[dict[tuple[str, str], str]] = {
    (Step.CREATED, Step.BOUND): "scheduling",
    (Step.BOUND, Step.SYNC_STARTED): "kubelet hears of it, begins",
    (Step.SYNC_STARTED, Step.SANDBOX_READY): "volumes, sandbox and network",
    (Step.SANDBOX_READY, Step.CONTAINERS_STARTED): "images, containers start",
    (Step.INITIALIZED, Step.CONTAINERS_STARTED): "images, containers start",
    (Step.READY, Step.FINISHED): "running",
    (Step.CONTAINERS_STARTED, Step.FINISHED): "running",
    (Step.CONTAINERS_STARTED, Step.DELETED): "running",
}

NOW: Final[dict[str, str]] = {
    NOT_SCHEDULED: "waiting for a Node",
    Cause.KUBELET_UNREACHABLE: "waiting for its kubelet to answer",
    Cause.KUBELET_SILENT: "waiting for its kubelet to report",
    Cause.NOT_SEEN: "waiting for its kubelet to see it",
    Cause.REFUSED: "refused by its kubelet",
    Cause.SYNC_NOT_STARTED: "waiting for its kubelet to begin",
    Cause.VOLUMES: "waiting for its volumes",
    Cause.SANDBOX: "waiting for its sandbox and network",
    Cause.VOLUMES_OR_SANDBOX: "waiting for its volumes, or its sandbox and network",
    Cause.INIT_CONTAINER: "waiting for an init container",
    Cause.IMAGE_PULL: "waiting for an image",
    Cause.CONTAINER_CREATION: "waiting for a container to be created",
    Cause.IMAGE_PULL_OR_CREATION: "waiting for an image, or a container to be created",
    Cause.CRASH_LOOP: "waiting for a container that ended to be started again",
    Cause.STARTUP_PROBE: "waiting for a startup probe",
    Cause.READINESS_PROBE: "waiting for a readiness probe",
    Cause.READINESS_GATE: "waiting for a readiness gate",
    Cause.UNKNOWN: "waiting, nobody tells for what",
}
"""How a Pod stands that does not run, by its cause."""

WHY_NO_SLI: Final[dict[str, str]] = {
    SkipReason.AGENT_RESTART: "it had started before the agent did",
    SkipReason.CLOCK_SET: "the node's clock was set on its way",
    SkipReason.STATEFUL: "it holds state",
    SkipReason.SCHEDULED_LATE: "it was not scheduled at the first attempt",
    SkipReason.PULLS_UNKNOWN: "not all of its image pulls are known",
    SkipReason.INIT_UNKNOWN: "not all runs of its init containers are known",
}
"""Why a Pod is not measured by the startup SLI."""


def waited_for(segment: SegmentView, attempt: int | None = None) -> str:
    """Name what a Pod waited for in a segment, from what lies between its two steps.

    `attempt` is the number of the scheduling attempt that succeeded, None if nobody told it.
    Nothing is said of a step that only a newer agent knows.
    """
    begin, end = segment.begin, segment.end
    if end == Step.QUEUED and attempt is not None and attempt > 1:
        return f"earlier attempts: {attempt - 1}"
    return _WIDER.get((begin, end)) or WAITED_FOR.get(end, "")


def in_words(code: str, words: dict[str, str]) -> str:
    """Give what a code means; of one that only a newer agent knows, its own words."""
    return words.get(code) or code.replace("_", " ")
