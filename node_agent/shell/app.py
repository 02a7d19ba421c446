"""The agent's process: what is started when, what ends it, and how.

It changes nothing in the cluster or on the node, so an end needs no order: on SIGTERM it stops
serving and is gone. If a part of it fails, all of it ends, with exit code 1 and its story.
"""

import asyncio
import gc
import logging
import platform
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack

from kubeio.daemon import ExitCode, on_stop_signal, serve
from kubeio.limited_site import shrink_tls_buffers
from kubeio.logs import fields
from node_agent.shell.assembly import ATTACHMENTS, Access, Parts, assemble, open_access
from node_agent.shell.attachments import Attach, Work
from node_agent.shell.health import add_shutdown_check
from node_agent.shell.options import AgentOptions

_logger = logging.getLogger(__name__)


async def run_agent(options: AgentOptions) -> ExitCode:
    """Run until a signal or a failure.

    Raises
    ------
    KubeConfigError, CertificateError, ServingError
        Where it cannot be started.
    """
    _logger.info(
        "Starting the node agent",
        extra=fields(
            version=options.version,
            python=platform.python_version(),
            node=options.node_name,
            static_pod_path=options.static_pod_path or "none",
            static_pod_url=options.configz()["agent"]["staticPodURL"] or "none",
        ),
    )
    shrink_tls_buffers()
    async with AsyncExitStack() as stack:
        access = await open_access(options, stack)
        return await AgentProcess(options, access).run()


class AgentProcess:
    """One run of an agent, from serving to the end."""

    def __init__(
        self,
        options: AgentOptions,
        access: Access,
        *,
        attachments: Sequence[Attach] = ATTACHMENTS,
    ) -> None:
        self._options = options
        self._stopping = asyncio.Event()
        self.parts: Parts = assemble(
            options, access, seed=uuid.uuid4().int >> 96, attachments=attachments
        )
        add_shutdown_check(self.parts.server, self._stopping.is_set)

    async def run(self) -> ExitCode:
        """Run it; give the exit code.

        Raises
        ------
        ServingError
            Where the server cannot be started.
        """
        async with AsyncExitStack() as stack:
            await serve(self.parts.server, self._options.serving, stack)
            code = ExitCode.STOPPED
            try:
                await self._work_until_stopped()
            except* Exception as errors:  # whatever it is, a new process begins afresh
                _logger.critical(
                    "A part of the agent has failed: ending",
                    exc_info=errors,
                    extra=fields(story=self.parts.loop.story),
                )
                code = ExitCode.FAILED
        if code is ExitCode.STOPPED:
            _logger.info("Stopped")
        return code

    async def _work_until_stopped(self) -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(_run(work), name=name)
                for name, work in (*self.parts.work.items(), ("memory", self._settle))
            ]
            on_stop_signal(self._stopping.set)
            await self._stopping.wait()
            for task in tasks:
                task.cancel()

    async def _settle(self) -> None:
        """Leave what start-up made to itself: the collector need not look at it again."""
        gc.collect()
        gc.freeze()


async def _run(work: Work) -> None:
    await work()
