"""Which Events a group gets: one for each transition, none for what stays as it was."""

from collections.abc import Iterator
from typing import Final

from scheduler_svc.controller.conditions import Verdict
from scheduler_svc.controller.events import NORMAL, WARNING, EventText
from scheduler_svc.controller.pod_groups.judgement import FINAL_PHASES, Judgement, Phase, Reason

_ACTION: Final = "Scheduling"
_VALIDATING: Final = "Validating"
_TYPES: Final = {
    Reason.SCHEDULED: NORMAL,
    Reason.UNSCHEDULABLE: WARNING,
    Reason.SCHEDULER_ERROR: WARNING,
    Reason.SHORT: WARNING,
}
"""Reasons of the condition that are worth an Event; waiting for members is not."""


def transitions(
    told: Verdict | None,
    phase_before: str,
    judgement: Judgement,
    told_valid: Verdict | None = None,
) -> Iterator[EventText]:
    """Give the Events of a change.

    Parameters
    ----------
    told, told_valid
        What the conditions said before.
    phase_before
        "" for a new group, and for one of the built-in API.
    """
    verdict = judgement.verdict
    before = None if told is None else told.reason
    if verdict is not None and verdict.reason != before and verdict.reason in _TYPES:
        reason = Reason(verdict.reason)
        yield EventText(_TYPES[reason], str(reason), _ACTION, verdict.message)
    validity = judgement.validity
    if validity is not None and not validity.is_true and validity != told_valid:
        yield EventText(WARNING, str(validity.reason), _VALIDATING, validity.message)
    status = judgement.status
    if status.phase not in FINAL_PHASES or status.phase == phase_before:
        return
    counts = f"{status.succeeded} members have succeeded, {status.failed} have failed"
    type_ = WARNING if status.phase == Phase.FAILED else NORMAL
    yield EventText(type_, str(status.phase), _ACTION, counts)
