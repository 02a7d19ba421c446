"""What every daemon does at its begin and at its end."""

import asyncio
import platform
import resource
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest
from prometheus_client import CollectorRegistry

from kubeio.daemon import (
    ExitCode,
    ServingError,
    allow_open_files,
    on_stop_signal,
    serve,
    user_agent,
)
from kubeio.serving import HttpsServer
from kubeio.serving_options import ServingOptions

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def make_server(options: ServingOptions) -> HttpsServer:
    return HttpsServer(options, registry=CollectorRegistry(), configz=dict)


def test_exit_codes_are_those_of_the_documentation() -> None:
    assert [code.value for code in ExitCode] == [0, 1, 2]


def test_as_many_files_may_be_open_as_the_system_allows() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
    try:
        assert allow_open_files() == hard
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
        assert allow_open_files() == hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_system_that_allows_no_more_keeps_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int, __: tuple[int, int]) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 4096))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert allow_open_files() == 256


@pytest.mark.parametrize(
    ("machine", "shown"), [("x86_64", "amd64"), ("aarch64", "arm64"), ("riscv64", "riscv64")]
)
def test_the_user_agent_names_program_and_platform(
    monkeypatch: pytest.MonkeyPatch, machine: str, shown: str
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    assert user_agent("1.2.3", "agent") == f"berthmaster/1.2.3 (linux/{shown}) agent"


async def test_a_server_serves_until_the_stack_is_left(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    options = ServingOptions(bind_address="127.0.0.1", port=0)
    server = make_server(options)
    async with AsyncExitStack() as stack:
        await serve(server, options, stack)
        port = server.port
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
    (record,) = [record for record in caplog.records if record.name == "kubeio.daemon"]
    assert vars(record)["fields"] == {"address": "127.0.0.1", "port": port}


async def test_a_port_that_is_taken_is_named() -> None:
    async with await asyncio.start_server(lambda *_: None, "127.0.0.1", 0) as taken:
        port = taken.sockets[0].getsockname()[1]
        options = ServingOptions(bind_address="127.0.0.1", port=port)
        with pytest.raises(ServingError) as caught:
            await serve(make_server(options), options, AsyncExitStack())
    assert str(caught.value) == (
        f"cannot serve on 127.0.0.1:{port}: Address already in use; "
        "choose another with --secure-port (0: any free one)"
    )


async def test_an_address_of_another_machine_is_named() -> None:
    options = ServingOptions(bind_address="203.0.113.1", port=0)
    with pytest.raises(ServingError, match=r"^cannot serve on 203\.0\.113\.1:0: [A-Z]"):
        await serve(make_server(options), options, AsyncExitStack())


@pytest.mark.parametrize("number", SIGNALS)
async def test_the_first_signal_stops_and_the_next_one_ends(number: signal.Signals) -> None:
    stopped = asyncio.Event()
    on_stop_signal(stopped.set)
    signal.raise_signal(number)
    await asyncio.wait_for(stopped.wait(), 10)
    assert [signal.getsignal(each) for each in SIGNALS] == [signal.SIG_DFL] * 2
