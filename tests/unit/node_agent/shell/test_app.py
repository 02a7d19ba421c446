"""How the process ends, without a network: nobody listens where its API server should be."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiohttp import ClientSession, web
from prometheus_client import Metric

from kubeio.api_call_metrics import ApiCallMetrics
from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.daemon import ExitCode, ServingError
from kubeio.instruments import Definition, Kind, gauge
from kubeio.login import Login
from kubeio.serving_options import ServingOptions
from node_agent.core.clock import Now
from node_agent.core.effects import Effect
from node_agent.core.events import Event
from node_agent.core.operations import Source
from node_agent.shell.app import AgentProcess
from node_agent.shell.assembly import Access
from node_agent.shell.attachments import Attach, Attachment, Surroundings
from node_agent.shell.options import AgentOptions
from tests.faultproxy import wait_until
from tests.unit.kubeio.fake_api import unchanged
from tests.unit.node_agent.core.test_agent import Listener
from tests.unit.node_agent.shell.manifests import manifest, write


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
async def access() -> AsyncIterator[Access]:
    login = Login(server_url="http://127.0.0.1:1")
    async with KubeClient(Credentials(login, unchanged), user_agent="test") as client:
        yield Access(client=client, calls=ApiCallMetrics("127.0.0.1:1"))


def make_process(
    access: Access, *attachments: Attach, path: str = "", port: int = 0
) -> AgentProcess:
    options = AgentOptions(
        version="1.2.3",
        node_name="n",
        static_pod_path=path,
        serving=ServingOptions(bind_address="127.0.0.1", port=port),
        authorize=False,
    )
    return AgentProcess(options, access, attachments=attachments)


async def listens(process: AgentProcess) -> None:
    """Wait until a process can be asked to end."""
    before = signal.getsignal(signal.SIGTERM)
    await wait_until(lambda: signal.getsignal(signal.SIGTERM) is not before, what="it listens")


async def get(process: AgentProcess, path: str) -> tuple[int, str]:
    async with ClientSession() as session:
        url = f"https://127.0.0.1:{process.parts.server.port}{path}"
        async with session.get(url, ssl=False) as answer:
            return answer.status, await answer.text()


async def test_a_signal_ends_it(access: Access, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    process = make_process(access)
    running = asyncio.create_task(process.run())
    await listens(process)
    signal.raise_signal(signal.SIGTERM)
    assert await asyncio.wait_for(running, 10) is ExitCode.STOPPED
    loggers = ("kubeio.daemon", "node_agent.shell.app")
    said = [record.getMessage() for record in caplog.records if record.name in loggers]
    assert said == ["Serving securely", "Stopping", "Stopped"]


async def test_a_failure_is_told_with_its_story_and_ends_it(
    access: Access,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write(tmp_path / "a", manifest())
    process = make_process(access, path=str(tmp_path))

    def handle(event: Event, now: Now) -> list[Effect]:
        raise LookupError("a bug")

    monkeypatch.setattr(process.parts.agent, "handle", handle)
    assert await asyncio.wait_for(process.run(), 10) is ExitCode.FAILED
    (record,) = [r for r in caplog.records if r.levelno == logging.CRITICAL]
    assert record.getMessage() == "A part of the agent has failed: ending"
    assert vars(record)["fields"]["story"] == "file: 1 Pods"
    assert "a bug" in caplog.text


async def test_a_port_that_is_taken_is_named(access: Access) -> None:
    async with await asyncio.start_server(lambda *_: None, "127.0.0.1", 0) as taken:
        port = taken.sockets[0].getsockname()[1]
        with pytest.raises(ServingError, match=f"cannot serve on 127.0.0.1:{port}: Address"):
            await make_process(access, port=port).run()


class _Shown:
    """A metric of an attachment."""

    def collect(self) -> list[Metric]:
        return [gauge(Definition(name="attached", kind=Kind.GAUGE, help="x"), [((), 7)])]


async def test_what_is_attached_listens_answers_counts_and_works(
    access: Access, tmp_path: Path
) -> None:
    listener, worked, seen = Listener(), asyncio.Event(), []

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="here")

    async def work() -> None:
        worked.set()
        await asyncio.Event().wait()

    def attach(surroundings: Surroundings) -> Attachment:
        seen.append(surroundings)
        return Attachment(
            observers=[listener],
            routes=[("GET", "/attached", answer)],
            metrics=[_Shown()],
            work={"attached": work},
        )

    write(tmp_path / "a", manifest())
    write(tmp_path / "bad", "x")
    process = make_process(access, attach, path=str(tmp_path))
    running = asyncio.create_task(process.run())
    await asyncio.wait_for(worked.wait(), 10)
    await wait_until(lambda: ("listed", "file") in listener.told, what="the manifests are told")
    assert [one[0] for one in listener.told] == ["ADD", "observed", "listed"]
    assert await get(process, "/attached") == (200, "here")
    status, metrics = await get(process, "/metrics")
    assert status == 200
    for line in (
        "attached 7.0",
        'berthmaster_agent_source_ready{source="file"} 1.0',
        'berthmaster_agent_source_ready{source="api"} 0.0',
        'berthmaster_agent_source_failing{source="api"} 1.0',
        'berthmaster_agent_source_pods{source="file"} 1.0',
        'berthmaster_agent_manifest_errors_total{reason="wrong_kind",source="file"} 1.0',
        'berthmaster_agent_manifests_refused{reason="wrong_kind",source="file"} 1.0',
        'berthmaster_working_pods{config="desired",lifecycle="sync",static="true"} 1.0',
        'berthmaster_mirror_pods{state="paired"} 0.0',
        'berthmaster_agent_pod_operations_total{operation="ADD",source="file"} 1.0',
    ):
        assert line in metrics.splitlines()
    (surroundings,) = seen
    assert surroundings.agent is process.parts.agent
    assert [str(place) for place in surroundings.refused["file"].by_place] == [
        str(tmp_path / "bad")
    ]
    signal.raise_signal(signal.SIGTERM)
    assert await asyncio.wait_for(running, 10) is ExitCode.STOPPED


async def test_work_that_fails_ends_all(access: Access, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        raise LookupError("a bug of the attachment")

    process = make_process(access, lambda _: Attachment(work={"attached": work}))
    assert await asyncio.wait_for(process.run(), 10) is ExitCode.FAILED
    assert "a bug of the attachment" in caplog.text


async def test_sources_are_those_of_the_kubelet_in_its_order(access: Access) -> None:
    options = AgentOptions(
        version="1.2.3",
        node_name="n",
        static_pod_path="/etc/kubernetes/manifests",
        static_pod_url="http://127.0.0.1:1/pods",
        static_pod_url_headers={"A": ("1", "2")},
        serving=ServingOptions(bind_address="127.0.0.1", port=0),
    )
    process = AgentProcess(options, access, attachments=())
    sources = [source.source for source in process.parts.sources]
    assert sources == [Source.FILE, Source.HTTP, Source.API]
    assert list(process.parts.agent.config.sources) == sources
