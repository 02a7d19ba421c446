"""What is to be said of a SchedulerProfile: a pure function of it and its mistakes."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from kubeio.decoding import without_nulls
from scheduler_svc.controller.conditions import Verdict, merge_conditions
from scheduler_svc.controller.merge_patch import merge_patch
from scheduler_svc.shell.config import Mistake
from scheduler_svc.shell.scheduler_profiles.objects import SchedulerProfile
from scheduler_svc.shell.scheduler_profiles.validation import is_of_unknown_plugin

VALID: Final = "Valid"
ACTIVE: Final = "Active"
SHOWN_MISTAKES: Final = 20
_SHOWN_SCHEDULERS: Final = 3
_NOT_KNOWN: Final = (
    "cannot be judged: a scheduler runs it, and the controller has not every plugin that is named "
    "here; give it the same --plugin and --config"
)


class Reason(StrEnum):
    """Of both conditions."""

    VALID = "Valid"
    INVALID = "Invalid"
    UNKNOWN_PLUGIN = "UnknownPlugin"
    RUNNING = "Running"
    NOT_OBSERVED = "NotObserved"


def judge_profile(profile: SchedulerProfile, mistakes: Sequence[Mistake]) -> dict[str, Verdict]:
    """Give the conditions, by type.

    `Valid` is not known where a scheduler runs what is wrong here for an unknown plugin alone:
    schedulers have been given it, and the controller has not.
    """
    valid = _valid(mistakes, is_run=bool(_running(profile)))
    return {VALID: valid, ACTIVE: _active(profile, is_invalid=valid.is_true is False)}


def profile_changes(
    profile: SchedulerProfile,
    verdicts: Mapping[str, Verdict],
    status: Mapping[str, Any],
    *,
    now: str,
) -> dict[str, Any]:
    """Give the fields of the status to write; none where all is said.

    A spec that is not known to be valid leaves `active` as it is: the last valid one.
    """
    generation = profile.metadata.generation
    changes: dict[str, Any] = {}
    if status.get("observedGeneration") != generation:
        changes["observedGeneration"] = generation
    merged = merge_conditions(status.get("conditions"), verdicts, generation=generation, now=now)
    if merged is not None:
        changes["conditions"] = merged
    if verdicts[VALID].is_true:
        active = {"generation": generation, "spec": without_nulls(profile.spec)}
        known = status.get("active")
        patch = merge_patch(known if isinstance(known, Mapping) else {}, active)
        if patch:
            changes["active"] = patch
    return changes


def _valid(mistakes: Sequence[Mistake], *, is_run: bool) -> Verdict:
    if not mistakes:
        return Verdict(True, Reason.VALID, "the spec can be run")
    lines = [mistake.line_in_object for mistake in mistakes[:SHOWN_MISTAKES]]
    if len(mistakes) > SHOWN_MISTAKES:
        lines.append(f"and {len(mistakes) - SHOWN_MISTAKES} more")
    if is_run and all(is_of_unknown_plugin(mistake) for mistake in mistakes):
        return Verdict(None, Reason.UNKNOWN_PLUGIN, "\n".join((_NOT_KNOWN, *lines)))
    return Verdict(False, Reason.INVALID, "\n".join(lines))


def _running(profile: SchedulerProfile) -> list[str]:
    """Name the schedulers that run the newest spec."""
    generation = profile.metadata.generation
    return sorted(s.scheduler for s in profile.status.observed_by if s.generation == generation)


def _active(profile: SchedulerProfile, *, is_invalid: bool) -> Verdict:
    generation, active = profile.metadata.generation, profile.status.active
    if is_invalid:
        if active is None:
            return Verdict(False, Reason.INVALID, "no spec was valid yet: nothing is run")
        text = f"generation {active.generation} stays in use: the newest is invalid"
        return Verdict(False, Reason.INVALID, text)
    running = _running(profile)
    if not running:
        return Verdict(False, Reason.NOT_OBSERVED, f"no scheduler runs generation {generation} yet")
    shown = ", ".join(running[:_SHOWN_SCHEDULERS])
    more = len(running) - _SHOWN_SCHEDULERS
    return Verdict(True, Reason.RUNNING, f"run by {shown}" + (f" and {more} more" * (more > 0)))
