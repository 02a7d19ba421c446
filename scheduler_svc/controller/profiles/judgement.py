"""What is to be said of a SchedulerProfile: a pure function of it and its mistakes."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from kubeio.decoding import without_nulls
from scheduler_svc.controller.conditions import Verdict, merge_conditions
from scheduler_svc.controller.merge_patch import merge_patch
from scheduler_svc.shell.config import Mistake
from scheduler_svc.shell.scheduler_profiles.objects import SchedulerProfile

VALID: Final = "Valid"
ACTIVE: Final = "Active"
SHOWN_MISTAKES: Final = 20
_SHOWN_SCHEDULERS: Final = 3


class Reason(StrEnum):
    """Of both conditions."""

    VALID = "Valid"
    INVALID = "Invalid"
    RUNNING = "Running"
    NOT_OBSERVED = "NotObserved"


def judge_profile(profile: SchedulerProfile, mistakes: Sequence[Mistake]) -> dict[str, Verdict]:
    """Give the conditions, by type."""
    return {VALID: _valid(mistakes), ACTIVE: _active(profile, is_valid=not mistakes)}


def profile_changes(
    profile: SchedulerProfile,
    verdicts: Mapping[str, Verdict],
    status: Mapping[str, Any],
    *,
    now: str,
) -> dict[str, Any]:
    """Give the fields of the status to write; none where all is said.

    An invalid spec leaves `active` as it is: the last valid one stays in use.
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


def _valid(mistakes: Sequence[Mistake]) -> Verdict:
    if not mistakes:
        return Verdict(True, Reason.VALID, "the spec can be run")
    lines = [_line(mistake) for mistake in mistakes[:SHOWN_MISTAKES]]
    if len(mistakes) > SHOWN_MISTAKES:
        lines.append(f"and {len(mistakes) - SHOWN_MISTAKES} more")
    return Verdict(False, Reason.INVALID, "\n".join(lines))


def _line(mistake: Mistake) -> str:
    line = f"{mistake.path}: {mistake.body}" if mistake.path else mistake.body
    return f"{line} ({' '.join(mistake.meaning.split())})" if mistake.meaning else line


def _active(profile: SchedulerProfile, *, is_valid: bool) -> Verdict:
    generation, active = profile.metadata.generation, profile.status.active
    if not is_valid:
        if active is None:
            return Verdict(False, Reason.INVALID, "no spec was valid yet: nothing is run")
        text = f"generation {active.generation} stays in use: the newest is invalid"
        return Verdict(False, Reason.INVALID, text)
    running = sorted(
        seen.scheduler for seen in profile.status.observed_by if seen.generation == generation
    )
    if not running:
        return Verdict(False, Reason.NOT_OBSERVED, f"no scheduler runs generation {generation} yet")
    shown = ", ".join(running[:_SHOWN_SCHEDULERS])
    more = len(running) - _SHOWN_SCHEDULERS
    return Verdict(True, Reason.RUNNING, f"run by {shown}" + (f" and {more} more" * (more > 0)))
