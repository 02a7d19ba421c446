"""Judges the SchedulerProfiles: which cannot be run, and which nobody runs."""

from collections.abc import Iterator

from berthmaster.cli.diagnosis.facts import Facts, ProfileState
from berthmaster.cli.diagnosis.finding import SETTLING_SECONDS, Area, Finding, Severity


def check_profiles(facts: Facts) -> Iterator[Finding]:
    """Judge each by what the controller and schedulers have written into its status."""
    wanted = facts.scope.scheduler_name
    for profile in facts.profiles:
        if wanted and wanted not in profile.scheduler_names:
            continue
        if profile.mistakes:
            yield _invalid(profile, facts.now)
        elif (
            profile.run_generation < profile.generation
            and facts.now - profile.since >= SETTLING_SECONDS
        ):
            yield _not_run(profile, facts.now)


def _invalid(profile: ProfileState, now: float) -> Finding:
    active = profile.active_generation
    if active is None:
        what = f"SchedulerProfile {profile.name} is invalid, and nothing of it is run."
        why = f"No scheduler takes the schedulerName {_names(profile)} from it."
    else:
        what = (
            f"SchedulerProfile {profile.name} is invalid; generation {active} of it stays in use."
        )
        why = f"Pods of {_names(profile)} are scheduled as before: the change has no effect."
    return Finding(
        check="scheduler-profile-invalid",
        severity=Severity.PROBLEM if active is None else Severity.WARNING,
        area=Area.SCHEDULER,
        what=what,
        why=why,
        next_command=f"kubectl edit schedulerprofile {profile.name}",
        count=1,
        objects=(profile.name,),
        since_seconds=max(now - profile.since, 0.0),
        detail=profile.mistakes,
    )


def _not_run(profile: ProfileState, now: float) -> Finding:
    runs = f"; they run generation {profile.run_generation}" if profile.run_generation else ""
    return Finding(
        check="scheduler-profile-not-run",
        severity=Severity.WARNING,
        area=Area.SCHEDULER,
        what=f"No scheduler says that it runs generation {profile.generation} of SchedulerProfile "
        f"{profile.name}{runs}.",
        why="None leads or stands by, all run with --no-scheduler-profiles, or it is invalid and "
        "no controller says so: their logs do.",
        next_command=f"kubectl describe schedulerprofile {profile.name}",
        count=1,
        objects=(profile.name,),
        since_seconds=max(now - profile.since, 0.0),
    )


def _names(profile: ProfileState) -> str:
    return " or ".join(repr(name) for name in profile.scheduler_names) or "that it names"
