"""What a timeline's codes mean, in words; JSON and metrics keep the codes."""

import re
from typing import Final

from berthmaster.cli.timeline_attempts import FailedAttempts
from node_agent.core.divergence.causes import Cause
from node_agent.core.journey.marks import Step
from node_agent.core.journey.startup import SkipReason
from node_agent.core.journey.timeline import SegmentView

_ZEROS: Final = re.compile(r"(\.\d*?)0*Z$")

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


def waited_for(
    segment: SegmentView, attempt: int | None = None, failed: FailedAttempts | None = None
) -> str:
    """Name what a Pod waited for in a segment, from what lies between its two steps.

    Nothing is said of a step that only a newer agent knows.

    Parameters
    ----------
    attempt
        The number of the scheduling attempt that succeeded, None if nobody told it. Those before it
        end with `queued`; from the last of them on the Pod waited for a change that might help.
    failed
        Those that failed, None if none is known.
    """
    begin, end = segment.begin, segment.end
    if failed is not None and begin == Step.CREATED:
        if end == Step.QUEUED:
            return f"failed attempts: {failed.count}{'' if failed.exact else ' or more'}"
        if end in (Step.DECIDED, Step.BOUND):
            return "scheduling, tried again"
    if (begin, end) == (Step.QUEUED, Step.DECIDED) and (attempt or 1) > 1:
        return "waiting to be tried again"
    return _WIDER.get((begin, end)) or WAITED_FOR.get(end, "")


def in_words(code: str, words: dict[str, str]) -> str:
    """Give what a code means; of one that only a newer agent knows, its own words."""
    return words.get(code) or code.replace("_", " ")


def short_time(time: str) -> str:
    """Give a time without zeros at the end of its fraction."""
    return _ZEROS.sub(lambda match: f"{match[1].rstrip('.')}Z", time)


def format_seconds(seconds: float) -> str:
    """Write a duration with three digits that matter: 12 ms, 1.25 s, 3 m 20 s, 2 h 5 m."""
    if seconds < 0.0005:
        return "0" if seconds < 0.0000005 else f"{seconds * 1e6:.0f} µs"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 99.95:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} m {rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} m"
    return f"{hours // 24} d {hours % 24} h"
