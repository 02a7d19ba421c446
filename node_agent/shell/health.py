"""The checks behind ``/livez`` and ``/readyz``: which source is missing, and since when.

A source that was heard of once stays ready, as in the kubelet: what it says next may fail, and
``berthmaster_agent_source_failing`` tells so. The API server's view must also be fresh.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from kubeio.serving import HttpsServer
from node_agent.core.agent import NodeAgent
from node_agent.core.operations import Source
from node_agent.shell.pod_source import PodSource
from node_agent.shell.sync_loop import SyncLoop
from node_agent.shell.update_channel import UpdateChannel

LONGEST_ROUND_SECONDS: Final = 60.0
"""The loop looks for work all the time; with lists waiting it never rests this long."""


def add_source_checks(server: HttpsServer, agent: NodeAgent, sources: Sequence[PodSource]) -> None:
    """Have ``/readyz`` fail while a source has not been heard of; the check has its name."""

    def check(source: PodSource) -> str | None:
        problem = source.problem()
        if source.source in agent.config.unready_sources:
            return f"not heard of yet: {problem}" if problem else "not heard of yet"
        return problem if source.source is Source.API else None

    for source in sources:
        server.add_check(f"source-{source.source.value}", partial(check, source))


def add_loop_check(
    server: HttpsServer, loop: SyncLoop, channel: UpdateChannel, clock: Callable[[], float]
) -> None:
    """Have ``/livez`` and ``/healthz`` fail where lists wait and nobody takes them."""

    def check() -> str | None:
        silence_seconds = clock() - loop.last_round_at
        if not len(channel) or silence_seconds <= LONGEST_ROUND_SECONDS:
            return None
        return f"{len(channel)} lists wait, and none was taken for {silence_seconds:.0f} s"

    server.add_check("syncloop", check, healthz=True, livez=True)


def add_shutdown_check(server: HttpsServer, is_stopping: Callable[[], bool]) -> None:
    """Have ``/readyz`` fail as soon as the process is asked to end."""
    server.add_check("shutdown", lambda: "process is shutting down" if is_stopping() else None)
