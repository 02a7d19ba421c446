"""What probes are told of sources and of the loop."""

import pytest
from prometheus_client import CollectorRegistry

from kubeio.serving import HttpsServer
from kubeio.serving_options import ServingOptions
from node_agent.core.agent import NodeAgent
from node_agent.core.events import PodsListed
from node_agent.core.operations import Source
from node_agent.shell.health import (
    LONGEST_ROUND_SECONDS,
    add_loop_check,
    add_shutdown_check,
    add_source_checks,
)
from node_agent.shell.journal import Journal
from node_agent.shell.sync_loop import SyncLoop
from node_agent.shell.update_channel import UpdateChannel
from tests.unit.node_agent.core.pods import at


class ScriptedSource:
    """A source that has the problem a test gives it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.said: str | None = None

    @property
    def source(self) -> Source:
        return self._source

    async def run(self) -> None:
        """Do nothing."""

    def problem(self) -> str | None:
        return self.said


@pytest.fixture
async def server() -> HttpsServer:
    options = ServingOptions(bind_address="127.0.0.1", port=0)
    return HttpsServer(options, registry=CollectorRegistry(), configz=dict)


def check(server: HttpsServer, endpoint: str, name: str) -> str:
    """Give what a check says, "ok" if all is well."""
    verdict = server._checks[endpoint].run_one(name)
    assert verdict is not None
    return verdict.text.strip().removeprefix("internal server error: ")


def heard_of(agent: NodeAgent, *sources: Source) -> None:
    for source in sources:
        agent.handle(PodsListed(source, (), at(0)), at(0))


async def test_a_source_that_was_not_heard_of_is_named_with_its_problem(
    server: HttpsServer,
) -> None:
    file, api = ScriptedSource(Source.FILE), ScriptedSource(Source.API)
    agent = NodeAgent([Source.FILE, Source.API])
    add_source_checks(server, agent, [file, api])
    assert check(server, "readyz", "source-api") == "not heard of yet"
    file.said = "/etc/x: a pipe, neither a folder nor a file"
    assert check(server, "readyz", "source-file") == f"not heard of yet: {file.said}"
    heard_of(agent, Source.API)
    assert check(server, "readyz", "source-api") == "ok"
    assert check(server, "readyz", "source-file").startswith("not heard of yet")


async def test_of_those_heard_of_only_the_api_servers_age_counts(server: HttpsServer) -> None:
    file, api = ScriptedSource(Source.FILE), ScriptedSource(Source.API)
    agent = NodeAgent([Source.FILE, Source.API])
    add_source_checks(server, agent, [file, api])
    heard_of(agent, Source.FILE, Source.API)
    file.said = "permission denied"
    api.said = "nothing heard of pods for 20 s"
    assert check(server, "readyz", "source-file") == "ok"
    assert check(server, "readyz", "source-api") == "nothing heard of pods for 20 s"


async def test_a_loop_that_leaves_lists_waiting_is_dead(server: HttpsServer) -> None:
    channel, seconds = UpdateChannel(), 0.0
    loop = SyncLoop(NodeAgent([Source.API]), channel, Journal(), read_now=lambda: at(0))
    add_loop_check(server, loop, channel, lambda: 1000.0 + seconds)
    seconds = LONGEST_ROUND_SECONDS + 5
    for endpoint in ("healthz", "livez", "readyz"):
        assert check(server, endpoint, "syncloop") == "ok"  # at rest
    await channel.put(PodsListed(Source.API, (), at(0)))
    for endpoint in ("healthz", "livez", "readyz"):
        assert check(server, endpoint, "syncloop") == ("1 lists wait, and none was taken for 65 s")
    seconds = LONGEST_ROUND_SECONDS
    assert check(server, "livez", "syncloop") == "ok"


async def test_a_process_that_ends_is_not_ready(server: HttpsServer) -> None:
    is_stopping = False
    add_shutdown_check(server, lambda: is_stopping)
    assert check(server, "readyz", "shutdown") == "ok"
    is_stopping = True
    assert check(server, "readyz", "shutdown") == "process is shutting down"
