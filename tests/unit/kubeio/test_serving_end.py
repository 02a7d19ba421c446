"""The HTTPS server's end: whoever is slow then, nothing of it is an error."""

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from kubeio import serving
from kubeio.serving import Handler, HttpsServer
from kubeio.serving_options import ServingOptions
from tests.faultproxy import wait_until

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

REQUEST = b"GET /asked HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture(autouse=True)
def _errors_are_failures(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    told = [record for when in ("setup", "call") for record in caplog.get_records(when)]
    assert [record.getMessage() for record in told if record.levelno >= logging.WARNING] == []


def context() -> ssl.SSLContext:
    found = ssl.create_default_context()
    found.check_hostname, found.verify_mode = False, ssl.CERT_NONE
    return found


async def connect(port: int, *, limit_bytes: int = 2**16) -> Streams:
    return await asyncio.open_connection("127.0.0.1", port, ssl=context(), limit=limit_bytes)


def make_server(handler: Handler) -> HttpsServer:
    options = ServingOptions(bind_address="127.0.0.1", port=0)
    server = HttpsServer(options, registry=CollectorRegistry(), configz=dict)
    server.add_route("GET", "/asked", handler)
    return server


@asynccontextmanager
async def asked(server: HttpsServer, *, limit_bytes: int = 2**16) -> AsyncIterator[Streams]:
    """A request that has been sent."""
    streams = await connect(server.port, limit_bytes=limit_bytes)
    streams[1].write(REQUEST)
    try:
        yield streams
    finally:
        streams[1].transport.abort()


class Holding:
    """A handler that answers once it may."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.count = 0

    async def __call__(self, request: web.Request) -> web.Response:
        self.count += 1
        await self.may_answer.wait()
        await asyncio.sleep(0)  # answers take more than one turn of the loop
        return web.Response(text="answered")


async def stop(server: HttpsServer) -> asyncio.Task[None]:
    """Begin to stop; it listens no more."""
    port = server.port
    stopping = asyncio.create_task(server.__aexit__(None, None, None))
    await wait_until(lambda: not listens(port), what="nobody listens")
    return stopping


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def test_an_answer_that_was_begun_comes_to_its_end() -> None:
    handler = Holding()
    server = await make_server(handler).__aenter__()
    async with asked(server) as (reader, _):
        await wait_until(lambda: handler.count, what="it is asked")
        stopping = await stop(server)
        handler.may_answer.set()
        assert (await reader.read()).endswith(b"answered")
        await stopping


async def test_answers_that_come_as_the_time_is_over_are_no_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "SHUTDOWN_SECONDS", 0.2)
    handler = Holding()
    server = await make_server(handler).__aenter__()
    async with asked(server), asked(server):
        await wait_until(lambda: handler.count == 2, what="both are asked")
        stopping = await stop(server)
        # The loop is held by something else, as a scheduler's is by a decision: when it goes
        # on, the answers are there and their time is over.
        handler.may_answer.set()
        time.sleep(0.3)  # noqa: ASYNC251
        await stopping


async def test_what_takes_too_long_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SHUTDOWN_SECONDS", 0.05)
    handler = Holding()
    server = await make_server(handler).__aenter__()
    async with asked(server) as (reader, _):
        await wait_until(lambda: handler.count, what="it is asked")
        await (await stop(server))
        assert await reader.read() == b""


async def test_a_client_that_does_not_read_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "SHUTDOWN_SECONDS", 0.05)
    has_begun, has_ended = asyncio.Event(), asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                has_begun.set()
                await response.write(b"x" * 2**20)
        finally:
            has_ended.set()

    server = await make_server(endless).__aenter__()
    async with asked(server, limit_bytes=2):
        await wait_until(has_begun.is_set, what="it is asked")
        await (await stop(server))
        assert has_ended.is_set()


async def test_who_comes_too_late_is_told_so() -> None:
    handler = Holding()
    server = await make_server(handler).__aenter__()
    early = socket.create_connection(("127.0.0.1", server.port))
    early.setblocking(False)
    # Connections are accepted one after the other, so that one is by now.
    async with asked(server):
        await wait_until(lambda: handler.count, what="another is asked")
        stopping = await stop(server)
        reader, writer = await asyncio.open_connection(
            sock=early, ssl=context(), server_hostname="127.0.0.1"
        )
        writer.write(REQUEST)
        assert (await reader.readline()).split()[1] == b"503"
        handler.may_answer.set()
        await stopping
        writer.transport.abort()
    assert handler.count == 1
