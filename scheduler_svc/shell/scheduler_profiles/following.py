"""Makes the core run what the SchedulerProfiles say, from the watch to the profile in force.

::

    watch ─▶ take ─▶ plan ─▶ ProfileSet, ProfileRemoved ─▶ the core's loop ─▶ note
                       ▲
    kinds listed ──────┘

A profile whose plugins read kinds of objects that are not watched yet waits until those are
listed: it would judge by half a cluster. Of changes that come one upon the other only some are
run, and the last: each makes plugins anew, and has all Pods that wait judged anew.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Final, Protocol

from kubeio.changes import Deleted, Listed, ReflectorEvent, Upserted
from kubeio.logs import fields
from scheduler_svc.core.events import Event, ProfileRemoved, ProfileSet
from scheduler_svc.shell.scheduler_profiles.objects import SchedulerProfile, source_of
from scheduler_svc.shell.scheduler_profiles.planning import Planner, ProfilePlan, RunProfile

PAUSE_SECONDS: Final = 0.25
"""From what is run to the next change."""

_logger = logging.getLogger(__name__)


class Kinds(Protocol):
    """The views of the cluster; `on_more_listed` is called when one more is complete."""

    on_more_listed: Callable[[], None]

    def require(self, plugins: Collection[str]) -> bool:
        """Watch what plugins read from now on; whether all of that has been listed."""
        ...


class ProfileFollower:
    """Follows the SchedulerProfiles.

    Parameters
    ----------
    put
        Takes events for the core; what they do is told by `note`.

    Attributes
    ----------
    objects
        The SchedulerProfiles there are, by uid.
    in_force
        What the core runs of them, by scheduler name.
    """

    def __init__(
        self,
        planner: Planner,
        kinds: Kinds,
        *,
        put: Callable[[Event], None],
    ) -> None:
        self._planner = planner
        self._kinds = kinds
        self._put = put
        self.objects: dict[str, SchedulerProfile] = {}
        self.in_force: dict[str, RunProfile] = {}
        self._asked: dict[str, RunProfile] = {}
        self._waiting: dict[str, RunProfile] = {}
        self._refused: dict[str, int] = {}
        self._is_listed = False
        self._bell = asyncio.Event()

    def take(self, change: ReflectorEvent[SchedulerProfile]) -> None:
        """Take in what the watch tells."""
        match change:
            case Upserted(profile):
                self.objects[profile.metadata.uid] = profile
            case Deleted():
                self.objects.pop(change.uid, None)
            case Listed():
                self._is_listed = True
        self._bell.set()

    def ring(self) -> None:
        """Plan again: more kinds have been listed, say."""
        self._bell.set()

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            await self._bell.wait()
            self._bell.clear()
            if self._is_listed:
                await self._prepare()
                self.follow()
                await self._pause()

    async def _pause(self) -> None:
        await asyncio.sleep(PAUSE_SECONDS)

    async def _prepare(self) -> None:
        """Make the plugins of what is new one by one: the core and the Lease wait meanwhile."""
        for profile in list(self.objects.values()):
            self._planner.prepare(profile, self._asked)
            await asyncio.sleep(0)

    def follow(self) -> None:
        """Have the core run what is to be run now."""
        plan = self._planner.plan(self.objects.values(), self._asked)
        self._tell_refusals(plan)
        for name in self._asked.keys() - plan.runs.keys():
            former = self._asked.pop(name)
            self._put(ProfileRemoved(name, self._cause(former)))
        self._waiting = {name: run for name, run in self._waiting.items() if name in plan.runs}
        for name, run in plan.runs.items():
            if self._asked.get(name) == run:
                continue
            if self._kinds.require(run.compiled.core.plugin_names):
                self._asked[name] = run
                self._put(ProfileSet(run.compiled.core))
            elif self._waiting.get(name) != run:
                self._waiting[name] = run
                _logger.info(
                    "Profile waits until all that its plugins read has been listed",
                    extra=fields(profile=name, generation=run.generation),
                )

    def note(self, event: ProfileSet | ProfileRemoved) -> None:
        """Take in that the core has done what it was asked to."""
        if isinstance(event, ProfileRemoved):
            former = self.in_force.pop(event.scheduler_name, None)
            if former is not None:
                _logger.info(
                    "Profile is served no more",
                    extra=fields(
                        profile=event.scheduler_name,
                        object=former.object_name,
                        why=event.cause,
                    ),
                )
        else:
            self._note_set(event)

    def _note_set(self, event: ProfileSet) -> None:
        name = event.profile.scheduler_name
        run = self._asked.get(name)
        # Of two changes in a row the second may have been asked for already.
        if run is None or run.compiled.core is not event.profile:
            return
        self.in_force[name] = run
        _logger.info(
            "Profile is in force",
            extra=fields(profile=name, object=run.object_name, generation=run.generation),
        )
        if run.compiled.not_implemented:
            _logger.warning(
                "Plugins are enabled that are not implemented yet: Pods that need them are placed "
                "as if they did not",
                extra=fields(profile=name, plugins=",".join(run.compiled.not_implemented)),
            )

    def _cause(self, former: RunProfile) -> str:
        source = source_of(former.object_name)
        if former.uid not in self.objects:
            return f"{source} was deleted"
        return f"{source} serves another schedulerName now, or none"

    def _tell_refusals(self, plan: ProfilePlan) -> None:
        """Say once what of a generation is wrong; its status says so, too."""
        self._refused = {uid: g for uid, g in self._refused.items() if uid in plan.refusals}
        for uid, refusal in plan.refusals.items():
            if self._refused.get(uid) == refusal.generation:
                continue
            self._refused[uid] = refusal.generation
            runs = refusal.runs
            _logger.warning(
                "SchedulerProfile cannot be run",
                extra=fields(
                    object=refusal.object_name,
                    generation=refusal.generation,
                    mistakes="; ".join(mistake.line_in_object for mistake in refusal.mistakes),
                    runs="nothing" if runs is None else f"generation {runs.generation}",
                ),
            )
