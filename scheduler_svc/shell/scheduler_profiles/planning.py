"""Which profiles a scheduler is to run, of the SchedulerProfiles there are: no IO, no events.

Of each object the first of these that can be run, the oldest object before the others: its
newest spec; the last that was valid, as its status says; what we run of it already.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from scheduler_svc.shell.config import Configuration, Mistake
from scheduler_svc.shell.scheduler_profiles.objects import SchedulerProfile
from scheduler_svc.shell.scheduler_profiles.validation import (
    CompiledProfile,
    InvalidProfileError,
    PluginRegistry,
    compile_spec,
    name_mistakes,
)


class RunProfile(NamedTuple):
    """What is run of an object: of which `generation`, and as what."""

    object_name: str
    uid: str
    generation: int
    compiled: CompiledProfile

    @property
    def scheduler_name(self) -> str:
        """The name that Pods choose it by."""
        return self.compiled.configured.scheduler_name


class Refusal(NamedTuple):
    """An object whose newest `generation` cannot be run, and why; `runs` is what is instead."""

    object_name: str
    generation: int
    mistakes: tuple[Mistake, ...]
    runs: RunProfile | None


class ProfilePlan(NamedTuple):
    """What is to be run, by scheduler name, and what cannot be, by uid."""

    runs: Mapping[str, RunProfile]
    refusals: Mapping[str, Refusal]


_Compiled = CompiledProfile | tuple[Mistake, ...]


class Planner:
    """Plans, and remembers what it has made of each generation; parameters as of `validate`."""

    def __init__(
        self, configuration: Configuration, registry: PluginRegistry, *, serves_default: bool
    ) -> None:
        self._configuration = configuration
        self._registry = registry
        self._serves_default = serves_default
        self._compiled: dict[tuple[str, int], _Compiled] = {}

    def plan(
        self, profiles: Collection[SchedulerProfile], running: Mapping[str, RunProfile]
    ) -> ProfilePlan:
        """Say what is to be run; `running` is what is, by scheduler name.

        Costs what it costs to make the plugins of generations that have not been seen before.
        """
        by_uid = {run.uid: run for run in running.values()}
        # By schedulerName, the oldest that claims it of those that have been looked at.
        claims: dict[str, SchedulerProfile] = {}
        runs: dict[str, RunProfile] = {}
        refusals: dict[str, Refusal] = {}
        for profile in sorted(profiles, key=lambda profile: profile.seniority):
            former = by_uid.get(profile.metadata.uid)
            run, mistakes = self._choose(profile, former, claims, runs)
            if run is not None:
                runs[run.scheduler_name] = run
            if mistakes:
                name, generation = profile.metadata.name, profile.metadata.generation
                refusals[profile.metadata.uid] = Refusal(name, generation, mistakes, run)
            for claimed in profile.claimed_names:
                claims.setdefault(claimed, profile)
        self._forget(profiles, runs)
        return ProfilePlan(runs, refusals)

    def prepare(self, profile: SchedulerProfile, running: Mapping[str, RunProfile]) -> None:
        """Make what `plan` would have to, of one object. Costs some 10 ms for a new generation."""
        former = next((run for run in running.values() if run.uid == profile.metadata.uid), None)
        for candidate in _candidates(profile):
            self._compile(candidate, former)

    def _choose(
        self,
        profile: SchedulerProfile,
        former: RunProfile | None,
        claims: Mapping[str, SchedulerProfile],
        taken: Mapping[str, RunProfile],
    ) -> tuple[RunProfile | None, tuple[Mistake, ...]]:
        """Give what is to be run of an object, and what is wrong with its newest spec."""
        newest: tuple[Mistake, ...] | None = None
        for candidate in _candidates(profile):
            compiled = self._compile(candidate, former)
            mistakes = self._mistakes(candidate, compiled, claims)
            newest = mistakes if newest is None else newest
            # What an older one runs still, though nothing in it says so any more, stays its own.
            is_free = candidate.scheduler_name not in taken
            if isinstance(compiled, CompiledProfile) and not mistakes and is_free:
                metadata = candidate.metadata
                run = RunProfile(metadata.name, metadata.uid, metadata.generation, compiled)
                return run, newest
        if former is not None and former.scheduler_name not in taken:
            return former, newest or ()
        return None, newest or ()

    def _mistakes(
        self,
        profile: SchedulerProfile,
        compiled: _Compiled,
        claims: Mapping[str, SchedulerProfile],
    ) -> tuple[Mistake, ...]:
        holder = claims.get(profile.scheduler_name)
        names = name_mistakes(
            profile,
            [] if holder is None else [holder],
            self._configuration,
            serves_default=self._serves_default,
        )
        return names if isinstance(compiled, CompiledProfile) else (*names, *compiled)

    def _compile(self, profile: SchedulerProfile, former: RunProfile | None) -> _Compiled:
        key = profile.metadata.uid, profile.metadata.generation
        if key not in self._compiled:
            try:
                self._compiled[key] = compile_spec(
                    profile,
                    self._configuration,
                    self._registry,
                    former=None if former is None else former.compiled,
                )
            except InvalidProfileError as error:
                self._compiled[key] = error.mistakes
        return self._compiled[key]

    def _forget(
        self, profiles: Collection[SchedulerProfile], runs: Mapping[str, RunProfile]
    ) -> None:
        """Forget generations that nobody asks for any more."""
        candidates = [each for profile in profiles for each in _candidates(profile)]
        kept = {(each.metadata.uid, each.metadata.generation) for each in candidates}
        kept.update((run.uid, run.generation) for run in runs.values())
        for key in self._compiled.keys() - kept:
            del self._compiled[key]


def _candidates(profile: SchedulerProfile) -> Iterator[SchedulerProfile]:
    yield profile
    active = profile.with_active_spec()
    if active is not None and active.metadata.generation != profile.metadata.generation:
        yield active
