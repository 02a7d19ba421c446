"""Says in each SchedulerProfile's status which generation this scheduler runs.

Each scheduler applies its own entry of `status.observedBy`, by server-side apply and as a field
manager of its own, so that none overwrites another's; applying nothing takes the entry away.
Nothing is written where nothing has changed; an entry that somebody else takes away is written
again, after a while. The entry of a scheduler that has ended without
taking it away falls behind with the next generation, and is then taken away by the leader.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from kubeio.backoff import Backoff, Jitter
from kubeio.client import Lane
from kubeio.errors import KubeError, NotFoundError
from kubeio.logs import fields
from scheduler_svc.shell.clock import read_now
from scheduler_svc.shell.scheduler_profiles.objects import (
    KIND,
    RESOURCE,
    Observation,
    SchedulerProfile,
)
from scheduler_svc.shell.scheduler_profiles.planning import RunProfile
from scheduler_svc.shell.timestamps import format_time

STALE_SECONDS: Final = 60.0
"""A scheduler that runs follows within a second; one that is this far behind has ended."""
WITHDRAWAL_SECONDS: Final = 2.0
"""The end of a process waits no longer than this for its entries to be gone."""
_FIRST_DELAY_SECONDS: Final = 1.0
_LONGEST_DELAY_SECONDS: Final = 60.0
_APPLY: Final = "application/apply-patch+yaml"
_MAX_MANAGER_LENGTH: Final = 128

_logger = logging.getLogger(__name__)


def observer_name(host_name: str, port: int, instance: str) -> str:
    """Name a scheduler so that a container that starts again has its entry back.

    On one host the port tells schedulers apart; one that takes any free port has none to show.
    """
    return f"{host_name}:{port}" if port else f"{host_name}_{instance}"


def manager_of(scheduler: str) -> str:
    """Give the field manager that owns a scheduler's entry."""
    return f"berthmaster-scheduler-{scheduler}"[:_MAX_MANAGER_LENGTH]


class PatchClient(Protocol):
    """What is needed of a client."""

    async def call(
        self,
        method: str,
        path: str,
        /,
        *,
        body: bytes | None = None,
        params: Mapping[str, str] | None = None,
        content_type: str = ...,
        lane: Lane = ...,
    ) -> object:
        """Make a call; raises `KubeError`."""
        ...


class _Write(NamedTuple):
    """The entry of one scheduler in one object; without a generation it is to go."""

    uid: str
    resource_version: str
    object_name: str
    scheduler: str
    generation: int | None


class _Written(NamedTuple):
    """What was written last in an object of that version, and when (monotonic seconds)."""

    generation: int | None
    resource_version: str
    at_seconds: float


class ObservationReporter:
    """Keeps this scheduler's entries.

    Parameters
    ----------
    scheduler
        Its name there.
    objects, in_force
        Those of `ProfileFollower`, for reading.
    is_leading
        Whether entries of schedulers that have ended are ours to take away.
    """

    def __init__(
        self,
        client: PatchClient,
        *,
        scheduler: str,
        objects: Mapping[str, SchedulerProfile],
        in_force: Mapping[str, RunProfile],
        is_leading: Callable[[], bool],
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._scheduler = scheduler
        self._objects = objects
        self._in_force = in_force
        self._is_leading = is_leading
        self._clock = clock
        self._backoff = Backoff(
            Jitter(seed), first_seconds=_FIRST_DELAY_SECONDS, limit_seconds=_LONGEST_DELAY_SECONDS
        )
        self._bell = asyncio.Event()
        # By uid and scheduler; the watch may not have shown it yet.
        self._written: dict[tuple[str, str], _Written] = {}
        self._since: dict[tuple[str, int], float] = {}
        self._is_ending = False

    def ring(self) -> None:
        """Look again at what is to be written."""
        self._bell.set()

    async def run(self) -> None:
        """Write until cancelled."""
        delay_seconds: float | None = None
        while True:
            await self._wait(delay_seconds)
            self._bell.clear()
            error = await self.write_due()
            if error is None:
                self._backoff.reset()
                is_over = not (self._is_anyone_behind() or self._is_anything_missing())
                delay_seconds = None if is_over else STALE_SECONDS
            else:
                delay_seconds = self._backoff.next_delay()
                _logger.warning(
                    "Cannot say in a SchedulerProfile's status what is run: %s",
                    error,
                    extra=fields(again_in_seconds=round(delay_seconds, 1)),
                )

    async def write_due(self) -> KubeError | None:
        """Write what has to be written; give the first error."""
        first: KubeError | None = None
        for write in self._due():
            try:
                await self._apply(write)
            except NotFoundError:
                self._note_written(write)  # the object is gone: the watch tells
            except KubeError as error:
                # A conflict, too: others write at the same time, or it has just been made anew.
                first = first or error
        return first

    async def withdraw(self) -> None:
        """Take our entries away: we stop serving. What cannot be in time stays."""
        self._is_ending = True
        try:
            async with asyncio.timeout(WITHDRAWAL_SECONDS):
                await self.write_due()
        except TimeoutError:
            _logger.info("No time to say in all SchedulerProfiles that they are not run here")

    def _due(self) -> list[_Write]:
        runs = {} if self._is_ending else {run.uid: run for run in self._in_force.values()}
        self._forget()
        due = []
        for uid, profile in self._objects.items():
            run = runs.get(uid)
            wanted = None if run is None else run.generation
            here = uid, profile.metadata.resource_version, profile.metadata.name
            if self._shown(profile, self._scheduler) != wanted:
                due.append(_Write(*here, self._scheduler, wanted))
            if run is not None and self._is_leading():
                due += [
                    _Write(*here, entry.scheduler, None)
                    for entry in self._behind(profile, run)
                    if self._ran_for_seconds(run) >= STALE_SECONDS
                ]
        return due

    def _shown(self, profile: SchedulerProfile, scheduler: str) -> int | None:
        """Give the generation that the status shows, or will once the watch tells what we wrote.

        What is not there long after that has been taken away by somebody else.
        """
        written = self._written.get((profile.metadata.uid, scheduler))
        if written is not None:
            is_same = written.resource_version == profile.metadata.resource_version
            if is_same or self._clock() - written.at_seconds < STALE_SECONDS:
                return written.generation
        return _told(profile, scheduler)

    def _behind(self, profile: SchedulerProfile, run: RunProfile) -> list[Observation]:
        """Give the entries of others that run an older generation."""
        return [
            entry
            for entry in profile.status.observed_by
            if entry.scheduler != self._scheduler
            and entry.generation < run.generation
            and (profile.metadata.uid, entry.scheduler) not in self._written
        ]

    def _is_anyone_behind(self) -> bool:
        runs = self._in_force.values()
        found = [(self._objects.get(run.uid), run) for run in runs]
        return any(profile is not None and self._behind(profile, run) for profile, run in found)

    def _is_anything_missing(self) -> bool:
        """Whether the status of an object does not say what it ought to, as the watch shows it."""
        runs = {run.uid: run.generation for run in self._in_force.values()}
        return any(
            _told(profile, self._scheduler) != runs.get(uid)
            for uid, profile in self._objects.items()
        )

    def _ran_for_seconds(self, run: RunProfile) -> float:
        now = self._clock()
        return now - self._since.setdefault((run.uid, run.generation), now)

    def _forget(self) -> None:
        self._written = {key: g for key, g in self._written.items() if key[0] in self._objects}
        running = {(run.uid, run.generation) for run in self._in_force.values()}
        self._since = {key: since for key, since in self._since.items() if key in running}

    async def _apply(self, write: _Write) -> None:
        entry: dict[str, Any] = {
            "scheduler": write.scheduler,
            "generation": write.generation,
            "at": format_time(read_now().wall_seconds),
        }
        document = {
            "apiVersion": f"{RESOURCE.group}/{RESOURCE.version}",
            "kind": KIND,
            "metadata": {"name": write.object_name, "uid": write.uid},
            # Not without the list: a status of which nothing is left is null, and refused.
            "status": {"observedBy": [] if write.generation is None else [entry]},
        }
        await self._client.call(
            "PATCH",
            RESOURCE.object(write.object_name, "status"),
            body=msgspec.json.encode(document),
            params={"fieldManager": manager_of(write.scheduler), "force": "true"},
            content_type=_APPLY,
            lane=Lane.WRITES,
        )
        self._note_written(write)

    def _note_written(self, write: _Write) -> None:
        self._written[write.uid, write.scheduler] = _Written(
            write.generation, write.resource_version, self._clock()
        )

    async def _wait(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._bell.wait()
        except TimeoutError:
            return


def _told(profile: SchedulerProfile, scheduler: str) -> int | None:
    """Give the generation that the status shows of a scheduler."""
    for entry in profile.status.observed_by:
        if entry.scheduler == scheduler:
            return entry.generation
    return None
