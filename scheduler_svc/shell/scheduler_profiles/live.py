"""The SchedulerProfiles of a running scheduler: watched, followed, reported."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from kubeio.changes import ReflectorEvent
from kubeio.client import KubeClient
from kubeio.decoding import Query
from kubeio.reflector import Reflector
from kubeio.source import Timing
from scheduler_svc.core.events import Event, ProfileRemoved, ProfileSet
from scheduler_svc.shell.clock import read_monotonic_seconds
from scheduler_svc.shell.config.publish import profile_document
from scheduler_svc.shell.scheduler_profiles.following import Kinds, ProfileFollower
from scheduler_svc.shell.scheduler_profiles.objects import RESOURCE, SchedulerProfile
from scheduler_svc.shell.scheduler_profiles.planning import Planner
from scheduler_svc.shell.scheduler_profiles.reporting import ObservationReporter

# Where the API server does not serve them yet, somebody may just be installing the definition.
_TIMING: Final = Timing(first_retry_seconds=2.0)


class LiveProfiles:
    """Watches the SchedulerProfiles, has the core run them, and says so in their status.

    Parameters
    ----------
    observer
        What this scheduler is called in their status; None: nothing is written.
    put
        Takes events for the core; `note` is to be told when it has handled them.
    is_leading
        Whether this replica is the one that schedules.
    """

    def __init__(
        self,
        client: KubeClient,
        planner: Planner,
        kinds: Kinds,
        *,
        observer: str | None,
        put: Callable[[Event], None],
        is_leading: Callable[[], bool],
        seed: int,
    ) -> None:
        self._follower = ProfileFollower(planner, kinds, put=put)
        kinds.on_more_listed = self._follower.ring
        self.reflector = Reflector(
            client,
            Query(resource=RESOURCE, object_type=SchedulerProfile),
            self._deliver,
            timing=_TIMING,
            seed=seed,
            clock=read_monotonic_seconds,
        )
        self._reporter: ObservationReporter | None = None
        if observer is not None:
            self._reporter = ObservationReporter(
                client,
                scheduler=observer,
                objects=self._follower.objects,
                in_force=self._follower.in_force,
                is_leading=is_leading,
                seed=seed,
            )

    async def run(self) -> None:
        """Follow them until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.reflector.run(), name="reflector schedulerprofiles")
            group.create_task(self._follower.run(), name="profiles")
            if self._reporter is not None:
                group.create_task(self._reporter.run(), name="observed profiles")

    def note(self, event: ProfileSet | ProfileRemoved) -> None:
        """Take in that the core has handled an event."""
        self._follower.note(event)
        self._ring()

    async def withdraw(self) -> None:
        """Say that this scheduler runs none any more."""
        if self._reporter is not None:
            await self._reporter.withdraw()

    def documents(self) -> list[dict[str, Any]]:
        """Give what is in force, for ``/configz``."""
        return [
            {
                "name": run.object_name,
                "generation": run.generation,
                "profile": profile_document(run.compiled.configured),
            }
            for run in self._follower.in_force.values()
        ]

    def _deliver(self, change: ReflectorEvent[SchedulerProfile]) -> None:
        self._follower.take(change)
        self._ring()

    def _ring(self) -> None:
        if self._reporter is not None:
            self._reporter.ring()
