"""The controller's process: what is started when, what ends it, and how.

::

    serve ─▶ elect, and list and watch as the leader does ─▶ write while leading
                 SIGTERM: begin no write, give the Lease back, write events: exit 0
                 Lease lost, or a part has failed: exit 1, at once
"""

import asyncio
import gc
import logging
import platform
import socket
import uuid
from contextlib import AsyncExitStack
from typing import Final

from kubeio.daemon import ExitCode, on_stop_signal, serve
from kubeio.logs import fields
from scheduler_svc.controller.assembly import Access, Hooks, Identity, assemble, open_access
from scheduler_svc.controller.health import add_shutdown_check
from scheduler_svc.controller.options import ControllerOptions
from scheduler_svc.controller.profiles.reconciler import Rules
from scheduler_svc.shell.health import add_election_check, add_lease_check

WRITES_DRAIN_SECONDS: Final = 1.0
EVENTS_DRAIN_SECONDS: Final = 1.0

_logger = logging.getLogger(__name__)


async def run_controller(options: ControllerOptions, rules: Rules) -> ExitCode:
    """Run until a signal or the loss of the Lease.

    Raises
    ------
    KubeConfigError, CertificateError, ServingError
        Where it cannot be started.
    """
    unique = uuid.uuid4()
    identity = Identity(holder=f"{socket.gethostname()}_{unique}", seed=unique.int >> 96)
    _logger.info(
        "Starting the controller",
        extra=fields(
            version=options.version,
            python=platform.python_version(),
            identity=identity.holder,
            config=options.config_path or "defaults",
            leader_election=options.leader_election().leader_elect,
        ),
    )
    async with AsyncExitStack() as stack:
        access = await open_access(options, stack)
        return await ControllerProcess(options, rules, identity, access).run()


class ControllerProcess:
    """One run of a controller, from serving to the end."""

    def __init__(
        self, options: ControllerOptions, rules: Rules, identity: Identity, access: Access
    ) -> None:
        self._options = options
        self._is_stopping = False
        self._ending: asyncio.Future[ExitCode] = asyncio.get_running_loop().create_future()
        hooks = Hooks(
            may_write=lambda: not self._is_stopping,
            on_leading=self._note_leading,
            on_lost=self._note_lost,
        )
        self.parts = assemble(options, rules, identity, access, hooks)
        self._add_checks()

    def _add_checks(self) -> None:
        server, election = self.parts.server, self.parts.election
        add_shutdown_check(server, lambda: self._is_stopping)
        if election is None:
            return
        duration_seconds = self._options.leader_election().lease_duration_seconds
        add_election_check(
            server,
            lease_name=election.name,
            lease_duration_seconds=duration_seconds,
            renewal_age_seconds=lambda: election.renewal_age_seconds,
        )
        add_lease_check(
            server,
            lease_name=election.name,
            lease_duration_seconds=duration_seconds,
            silence_seconds=lambda: election.silence_seconds,
        )

    async def run(self) -> ExitCode:
        """Run it; give the exit code.

        Raises
        ------
        ServingError
            Where the server cannot be started.
        """
        async with AsyncExitStack() as stack:
            await serve(self.parts.server, self._options.serving, stack)
            try:
                code = await self._supervise()
            except* Exception as errors:  # whatever it is, a new process begins afresh
                _logger.critical("A part of the controller has failed: ending", exc_info=errors)
                code = ExitCode.FAILED
        if code is ExitCode.STOPPED:
            _logger.info("Stopped")
        return code

    async def _supervise(self) -> ExitCode:
        parts = self.parts
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(work, name=name)
                for name, work in (
                    ("watching", parts.watching.run()),
                    ("reconciliation", parts.reconciliation.queue.run()),
                    ("events", parts.events.run()),
                    ("loop lag", parts.lag.run()),
                    ("election", self._elect()),
                    ("memory", self._settle()),
                )
            ]
            on_stop_signal(self._stop)
            code = await self._ending
            if code is ExitCode.STOPPED:
                await self._end_orderly()
            for task in tasks:
                task.cancel()
        return code

    async def _elect(self) -> None:
        if self.parts.election is None:
            self._note_leading()
        else:
            await self.parts.election.run()

    async def _settle(self) -> None:
        """Leave what start-up made to itself: the collector need not look at it again."""
        gc.collect()
        gc.freeze()

    def _note_leading(self) -> None:
        _logger.info("Leading: statuses are written by this replica")
        self.parts.reconciliation.look_at_all()

    def _note_lost(self) -> None:
        _logger.error("Ending, so that the new leader acts alone")
        self._end(ExitCode.FAILED)

    def _stop(self) -> None:
        """End in good order."""
        self._is_stopping = True
        self._end(ExitCode.STOPPED)

    def _end(self, code: ExitCode) -> None:
        if not self._ending.done():
            self._ending.set_result(code)

    async def _end_orderly(self) -> None:
        """Let writes under way end, and leave the Lease to another replica."""
        parts = self.parts
        parts.reconciliation.queue.close()
        try:
            async with asyncio.timeout(WRITES_DRAIN_SECONDS):
                await parts.reconciliation.queue.wait_idle()
        except TimeoutError:
            _logger.warning("Writes under way are dropped")
        if parts.election is not None:
            await parts.election.release()
        await parts.events.drain(EVENTS_DRAIN_SECONDS)
