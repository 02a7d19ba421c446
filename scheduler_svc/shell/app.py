"""The scheduler process: what is started when, what ends it, and how.

::

    serve ─▶ list and watch ─▶ elect ─▶ schedule ─▶ SIGTERM: stop attempts, finish bindings,
                                            │       give the Lease back, write events: exit 0
                                            └─▶ Lease lost: exit 1, at once

All tasks are children of one group: whichever fails ends the process. A standby lists and
watches as the leader does, unless `delayCacheUntilActive` says that it shall wait.
"""

import asyncio
import gc
import logging
import socket
import uuid
from contextlib import AsyncExitStack
from typing import Final

from kubeio.daemon import ExitCode, on_stop_signal, serve
from kubeio.logs import fields
from scheduler_svc.core.custom_plugins.adapters import Adapter
from scheduler_svc.core.errors import InvariantError
from scheduler_svc.shell.access import Access, open_access
from scheduler_svc.shell.assembly import assemble
from scheduler_svc.shell.health import (
    add_election_check,
    add_lease_check,
    add_shutdown_check,
    add_watch_checks,
)
from scheduler_svc.shell.hooks import Hooks, Identity
from scheduler_svc.shell.journal import log_hint_errors
from scheduler_svc.shell.startup import StartPlan, log_server_version, log_start

BINDINGS_DRAIN_SECONDS: Final = 5.0
"""Bindings take milliseconds; one that takes longer than this must not keep the Lease."""
WRITES_DRAIN_SECONDS: Final = 10.0
"""A Pod has 30 s to end: what events are left by then is told by the counters."""
GC_THRESHOLDS: Final = (50_000, 20, 50)
"""Rarer than Python's own (700, 10, 10): what lives long here is frozen, the rest has no cycles."""

_logger = logging.getLogger(__name__)


async def run_scheduler(plan: StartPlan) -> ExitCode:
    """Run until a signal or the loss of the Lease.

    Raises
    ------
    KubeConfigError, CertificateError, ServingError
        Where it cannot be started.
    """
    unique = uuid.uuid4()
    identity = Identity(
        holder=f"{socket.gethostname()}_{unique}", instance=unique.hex[:8], seed=unique.int >> 96
    )
    log_start(plan, identity.holder)
    async with AsyncExitStack() as stack:
        access = await open_access(plan, stack)
        return await SchedulerProcess(plan, identity, access).run()


class SchedulerProcess:
    """One run of a scheduler, from serving to the end."""

    def __init__(self, plan: StartPlan, identity: Identity, access: Access) -> None:
        self._plan = plan
        self._access = access
        self._is_stopping = False
        self._is_listed = asyncio.Event()
        self._is_leading = asyncio.Event()
        self._ending: asyncio.Future[ExitCode] = asyncio.get_running_loop().create_future()
        self.parts = assemble(
            plan,
            identity,
            access,
            Hooks(
                may_attempt=self._may_attempt,
                on_listed=self._note_listed,
                on_leading=self._note_leading,
                on_lost=self._note_lost,
            ),
        )
        self._add_checks()

    def _add_checks(self) -> None:
        parts, election = self.parts, self.parts.writers.election
        if election is not None:
            duration_seconds = self._plan.configuration.leader_election.lease_duration_seconds
            add_election_check(
                parts.server,
                lease_name=election.name,
                lease_duration_seconds=duration_seconds,
                renewal_age_seconds=lambda: election.renewal_age_seconds,
            )
            add_lease_check(
                parts.server,
                lease_name=election.name,
                lease_duration_seconds=duration_seconds,
                silence_seconds=lambda: election.silence_seconds,
            )
        add_watch_checks(
            parts.server,
            parts.reflectors,
            is_watching=lambda: not self._delays_views or self._is_leading.is_set(),
        )
        add_shutdown_check(parts.server, lambda: self._is_stopping)

    @property
    def _has_custom_plugins(self) -> bool:
        """Whether users' plugins are called, or may be once a SchedulerProfile enables one."""
        if self._plan.options.scheduler_profiles and self._plan.registry.known:
            return True
        plugins = (plugin for profile in self._plan.profiles for plugin in profile.plugins)
        return any(isinstance(plugin, Adapter) for plugin in plugins)

    async def run(self) -> ExitCode:
        """Run it; give the exit code.

        Raises
        ------
        ServingError
            Where the server cannot be started.
        """
        async with AsyncExitStack() as stack:
            if self._has_custom_plugins:
                stack.enter_context(self._plan.plugin_watch)
            await serve(self.parts.server, self._plan.options.serving, stack)
            return await self._run_parts()

    async def _run_parts(self) -> ExitCode:
        writers, inbox = self.parts.writers, self.parts.inbox
        try:
            async with (
                writers.patcher,
                writers.recorder,
                writers.binder,
                writers.pre_bind,
                writers.evictor,
                writers.extenders,
            ):
                return await self._supervise()
        except* InvariantError as errors:
            _logger.critical(
                "The scheduler's state is not to be trusted any more: ending",
                exc_info=errors,
                extra=fields(story=inbox.story),
            )
        except* Exception as errors:  # whatever it is, another replica goes on
            _logger.critical(
                "A part of the scheduler has failed: ending",
                exc_info=errors,
                extra=fields(story=inbox.story),
            )
        return ExitCode.FAILED

    async def _supervise(self) -> ExitCode:
        parts = self.parts
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(work, name=name)
                for name, work in (
                    ("scheduling loop", parts.loop.run()),
                    ("watches", self._watch()),
                    ("election", self._elect()),
                    ("loop lag", parts.lag.run()),
                    ("feeds", parts.feeds.run()),
                    ("profiles", self._follow_profiles()),
                    ("hint errors", log_hint_errors(parts.scheduler.queue.hints)),
                    ("server version", self._log_server_version()),
                )
            ]
            on_stop_signal(self._stop)
            code = await self._ending
            await (self._end_orderly() if code is ExitCode.STOPPED else self._end_at_once())
            for task in tasks:
                task.cancel()
        return code

    async def _follow_profiles(self) -> None:
        """Follow SchedulerProfiles, as a standby, too: they need not be there to begin."""
        if self._delays_views:
            await self._is_leading.wait()
        if self.parts.profiles is not None:
            await self.parts.profiles.run()

    async def _log_server_version(self) -> None:
        await self._is_listed.wait()
        await log_server_version(self._access.client)

    async def _watch(self) -> None:
        if self._delays_views:
            await self._is_leading.wait()
        await self.parts.reflectors.run()

    async def _elect(self) -> None:
        """Compete for the Lease, knowing the cluster: who takes it must be able to act."""
        if not self._delays_views:
            await self._is_listed.wait()
        election = self.parts.writers.election
        if election is None:
            self._note_leading()
        else:
            await election.run()

    @property
    def _delays_views(self) -> bool:
        return self._plan.elects and self._plan.configuration.delay_cache_until_active

    def _may_attempt(self) -> bool:
        if self._is_stopping or not (self._is_listed.is_set() and self._is_leading.is_set()):
            return False
        election = self.parts.writers.election
        return election is None or election.may_bind()

    def _note_listed(self) -> None:
        listed = self.parts.reflectors.first_lists()
        # Everything that was listed stays for long: the collector need not look at it again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        _logger.info("Listed the cluster: ready to schedule", extra=fields(**listed))
        self._is_listed.set()
        self.parts.inbox.ring()

    def _note_leading(self) -> None:
        if self._plan.options.dry_run:
            _logger.info("Deciding as if leading; -v 2 tells where each Pod would go")
        else:
            _logger.info("Leading: Pods are scheduled by this replica")
        self._is_leading.set()
        self.parts.inbox.ring()

    def _note_lost(self) -> None:
        _logger.error("Ending, so that the new leader acts alone")
        self._end(ExitCode.FAILED)

    def _end(self, code: ExitCode) -> None:
        if not self._ending.done():
            self._ending.set_result(code)

    def _stop(self) -> None:
        """End in good order."""
        self._is_stopping = True
        self._end(ExitCode.STOPPED)

    async def _end_orderly(self) -> None:
        """Leave nothing half done, and the Lease to another replica as soon as may be."""
        writers = self.parts.writers
        await asyncio.gather(
            writers.pre_bind.drain(BINDINGS_DRAIN_SECONDS),
            writers.binder.drain(BINDINGS_DRAIN_SECONDS),
            writers.evictor.drain(BINDINGS_DRAIN_SECONDS),
            writers.extenders.drain(BINDINGS_DRAIN_SECONDS),
        )
        if writers.election is not None:
            await writers.election.release()
        self.parts.loop.take_all_events()
        await asyncio.gather(
            writers.recorder.drain(WRITES_DRAIN_SECONDS),
            writers.patcher.drain(WRITES_DRAIN_SECONDS),
            self._withdraw_profiles(),
        )
        _logger.info("Stopped")

    async def _withdraw_profiles(self) -> None:
        if self.parts.profiles is not None:
            await self.parts.profiles.withdraw()

    async def _end_at_once(self) -> None:
        """Drop what has not been sent: it is the new leader's."""
        writers = self.parts.writers
        for writer in (
            writers.extenders,
            writers.evictor,
            writers.pre_bind,
            writers.binder,
            writers.recorder,
            writers.patcher,
        ):
            await writer.drain(0)
