"""What the API server's object of a Pod tells of its way."""

import msgspec

from berthmaster.cli.timeline_words import NOT_SCHEDULED
from node_agent.core.divergence.causes import KubeletEvidence, diagnose
from node_agent.core.journey.journey import Journey, identify
from node_agent.core.journey.pulls import KubeletEvent
from node_agent.core.objects import Pod, PodCondition
from node_agent.core.operations import (
    MIRROR_ANNOTATION,
    SEEN_ANNOTATION,
    SOURCE_ANNOTATION,
    Source,
    annotation,
    is_mirror,
)


def journey_of(pod: Pod) -> Journey:
    """Begin a journey with what the API server's object tells.

    A mirror tells of its static Pod: also when the kubelet saw that. On another Pod this
    annotation is a copy of some other's, since the kubelet writes it nowhere else.
    """
    source = Source.API.value
    if is_mirror(pod):
        source = annotation(pod, SOURCE_ANNOTATION) or Source.FILE.value
    journey = Journey(identify(pod, source))
    journey.is_measured = False
    journey.observe_kubelet(pod if is_mirror(pod) else _without_seen(pod))
    return journey


def _without_seen(pod: Pod) -> Pod:
    annotations = {
        key: text
        for key, text in (pod.metadata.annotations or {}).items()
        if key != SEEN_ANNOTATION
    }
    metadata = msgspec.structs.replace(pod.metadata, annotations=annotations)
    return msgspec.structs.replace(pod, metadata=metadata)


def kubelet_uid(pod: Pod) -> str:
    """Give the uid under which the kubelet knows a Pod: a mirror names its static Pod's."""
    return annotation(pod, MIRROR_ANNOTATION) or pod.metadata.uid


def cause_of(pod: Pod, events: list[KubeletEvent]) -> tuple[str | None, str | None]:
    """Give why a Pod does not run, and a sentence about it; None where it does."""
    if not pod.spec.node_name:
        condition = refusal(pod)
        if condition is not None:
            return NOT_SCHEDULED, condition.message or condition.reason
        return NOT_SCHEDULED, "No scheduler has said anything about it."
    reasons = frozenset(event.reason for event in events)
    diagnosis = diagnose(pod, KubeletEvidence(event_reasons=reasons))
    return (None, None) if diagnosis is None else (diagnosis.cause.value, diagnosis.detail)


def refusal(pod: Pod) -> PodCondition | None:
    """Give the condition that says why a Pod has no Node; None where it has one, or none says."""
    if pod.spec.node_name:
        return None
    conditions = pod.status.conditions
    return next((c for c in conditions if c.type == "PodScheduled" and c.status != "True"), None)
