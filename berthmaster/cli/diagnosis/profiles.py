"""Reads SchedulerProfiles with what the controller and schedulers say of them."""

from collections.abc import Iterable
from typing import Final

from berthmaster.cli.diagnosis.facts import ProfileState
from berthmaster.cli.diagnosis.wire import Condition, seconds_of
from scheduler_svc.shell.scheduler_profiles.objects import ProfileStatus, SchedulerProfile

_VALID: Final = "Valid"
_FALSE: Final = "False"


class JudgedStatus(ProfileStatus, frozen=True):
    """A status with the controller's conditions, which schedulers do not read."""

    conditions: tuple[Condition, ...] = ()


class JudgedProfile(SchedulerProfile, frozen=True):
    """A SchedulerProfile with its conditions."""

    status: JudgedStatus = JudgedStatus()


def observed_names(profiles: Iterable[JudgedProfile]) -> frozenset[str]:
    """Give the schedulerNames of SchedulerProfiles that schedulers say they run."""
    observed = (profile for profile in profiles if profile.status.observed_by)
    return frozenset[str]().union(*(profile.claimed_names for profile in observed))


def profile_state(profile: JudgedProfile) -> ProfileState:
    """Keep of a SchedulerProfile what is judged."""
    status = profile.status
    refusals = [c for c in status.conditions if c.type == _VALID and c.status == _FALSE]
    changes = [seconds_of(c.last_transition_time) for c in status.conditions if c.status == _FALSE]
    since = [change for change in changes if change is not None]
    return ProfileState(
        name=profile.metadata.name,
        scheduler_names=tuple(sorted(profile.claimed_names)),
        generation=profile.metadata.generation,
        active_generation=None if status.active is None else status.active.generation,
        run_generation=max((each.generation for each in status.observed_by), default=0),
        mistakes=tuple(line for c in refusals for line in c.message.splitlines() if line),
        since=max(since, default=seconds_of(profile.metadata.creation_timestamp) or 0.0),
    )
