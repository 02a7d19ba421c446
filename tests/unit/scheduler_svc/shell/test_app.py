"""How the process ends, without a network: nobody listens where its API server should be."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Iterator

import pytest

from kubeio.api_call_metrics import ApiCallMetrics
from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.daemon import ExitCode, ServingError
from kubeio.login import Login
from kubeio.serving_options import ServingOptions
from kubeio.writes import WritePool
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import Effect
from scheduler_svc.core.errors import InvariantError
from scheduler_svc.core.events import Event, NodeUpserted
from scheduler_svc.shell.access import Access
from scheduler_svc.shell.app import SchedulerProcess
from scheduler_svc.shell.hooks import Identity
from scheduler_svc.shell.options import SchedulerOptions
from scheduler_svc.shell.startup import plan_start
from tests.builders import make_node_info
from tests.faultproxy import wait_until

NODE = NodeUpserted(make_node_info("n1"))


async def read_login() -> Login:
    return Login(server_url="http://127.0.0.1:1")


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
async def access() -> AsyncIterator[Access]:
    credentials = Credentials(await read_login(), read_login)
    async with (
        KubeClient(credentials, user_agent="test") as client,
        WritePool(credentials, user_agent="test") as pool,
    ):
        calls = ApiCallMetrics("127.0.0.1:1")
        yield Access(client=client, pool=pool, events=pool, calls=calls)


def make_process(access: Access, *, port: int = 0) -> SchedulerProcess:
    options = SchedulerOptions(
        version="1.2.3",
        dry_run=True,
        serving=ServingOptions(bind_address="127.0.0.1", port=port),
    )
    identity = Identity(holder="host_1", instance="abc", seed=1)
    return SchedulerProcess(plan_start(options), identity, access)


async def test_signal_ends_it_in_good_order(access: Access) -> None:
    process = make_process(access)
    before = signal.getsignal(signal.SIGTERM)
    running = asyncio.create_task(process.run())
    await wait_until(lambda: signal.getsignal(signal.SIGTERM) is not before, what="it listens")
    signal.raise_signal(signal.SIGTERM)
    assert await asyncio.wait_for(running, 10) is ExitCode.STOPPED
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InvariantError("Pod a/b is in two places"), "state is not to be trusted any more"),
        (LookupError("a bug"), "A part of the scheduler has failed"),
    ],
)
async def test_failure_is_told_with_its_story_and_ends_it(
    access: Access,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    said: str,
) -> None:
    process = make_process(access)

    def handle(event: Event, now: Now) -> list[Effect]:
        raise error

    monkeypatch.setattr(process.parts.scheduler, "handle", handle)
    process.parts.inbox.put(NODE)
    assert await asyncio.wait_for(process.run(), 10) is ExitCode.FAILED
    [record] = [r for r in caplog.records if r.levelno == logging.CRITICAL]
    assert said in record.getMessage()
    assert "NodeUpserted" in vars(record)["fields"]["story"]
    assert str(error) in caplog.text


async def test_port_that_is_taken_is_named(access: Access) -> None:
    def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as taken:
        port = taken.sockets[0].getsockname()[1]
        with pytest.raises(ServingError) as caught:
            await make_process(access, port=port).run()
    assert str(caught.value) == (
        f"cannot serve on 127.0.0.1:{port}: Address already in use; "
        "choose another with --secure-port (0: any free one)"
    )
