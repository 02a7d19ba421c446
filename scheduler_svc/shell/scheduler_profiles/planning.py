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
        runs: dict[str, RunProfile] = {}
        refusals: dict[str, Refusal] = {}
        for profile in sorted(profiles, key=lambda profile: profile.seniority):
            uid = profile.metadata.uid
            former = by_uid.get(uid)
            mistakes = self._mistakes(profile, profiles, former)
            run = self._first_run(profile, profiles, former, runs)
            if run is not None:
                runs[run.scheduler_name] = run
            if mistakes:
                name, generation = profile.metadata.name, profile.metadata.generation
                refusals[uid] = Refusal(name, generation, mistakes, run)
        self._forget(profiles, runs)
        return ProfilePlan(runs, refusals)

    def _first_run(
        self,
        profile: SchedulerProfile,
        others: Collection[SchedulerProfile],
        former: RunProfile | None,
        taken: Mapping[str, RunProfile],
    ) -> RunProfile | None:
        for candidate in _candidates(profile):
            if self._mistakes(candidate, others, former):
                continue
            compiled = self._compile(candidate, former)
            # What an older one runs still, though nothing in it says so any more, stays its own.
            if isinstance(compiled, CompiledProfile) and candidate.scheduler_name not in taken:
                metadata = candidate.metadata
                return RunProfile(metadata.name, metadata.uid, metadata.generation, compiled)
        if former is not None and former.scheduler_name not in taken:
            return former
        return None

    def _mistakes(
        self,
        profile: SchedulerProfile,
        others: Collection[SchedulerProfile],
        former: RunProfile | None,
    ) -> tuple[Mistake, ...]:
        names = name_mistakes(
            profile, others, self._configuration, serves_default=self._serves_default
        )
        compiled = self._compile(profile, former)
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
