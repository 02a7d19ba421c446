"""A site serves so many connections, and hangs up on those that ask for nothing."""

import asyncio
import ssl
from asyncio import sslproto
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from kubeio.certificates import ServingCertificate
from kubeio.limited_site import LimitedSite, note_request, shrink_tls_buffers
from tests.faultproxy.waiting import wait_until_async

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"

# Closed at the end of each test.
opened: list[asyncio.StreamWriter] = []

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


may_answer = asyncio.Event()


async def slow_hello(_: web.Request) -> web.Response:
    await may_answer.wait()
    return web.Response(text="hello")


async def hello(_: web.Request) -> web.Response:
    return web.Response(text="hello")


@asynccontextmanager
async def serving(
    *, max_connections: int = 2, seconds: float = 30.0, idle_seconds: float = 30.0
) -> AsyncIterator[int]:
    app = web.Application(middlewares=[note_request])
    app.router.add_get("/", hello)
    app.router.add_get("/slow", slow_hello)
    runner = web.AppRunner(app)
    await runner.setup()
    site = LimitedSite(
        runner,
        "127.0.0.1",
        0,
        ssl_context=ServingCertificate(None, None, names=("127.0.0.1",)).context,
        max_connections=max_connections,
        first_request_seconds=seconds,
        idle_seconds=idle_seconds,
    )
    await site.start()
    assert site.name == "https://127.0.0.1:0"
    yield runner.addresses[0][1]
    await runner.cleanup()
    while opened:
        opened.pop().close()


async def connect(port: int) -> Streams:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    opened.append(writer)
    return reader, writer


async def ask(streams: Streams) -> bytes:
    reader, writer = streams
    writer.write(REQUEST)
    return await reader.readline()


async def ends(streams: Streams) -> bool:
    reader, _ = streams
    async with asyncio.timeout(10):
        try:
            return await reader.read() == b""
        except ConnectionError:
            return True


async def test_more_connections_than_allowed_are_hung_up_on() -> None:
    async with serving() as port:
        first, second = await connect(port), await connect(port)
        assert await ask(first) == b"HTTP/1.1 200 OK\r\n"
        assert await ask(second) == b"HTTP/1.1 200 OK\r\n"
        try:
            third = await connect(port)
        except ConnectionError:
            pass
        else:
            assert await ends(third)
        first[1].close()
        await first[1].wait_closed()

        async def is_served() -> bool:
            try:
                return await ask(await connect(port)) == b"HTTP/1.1 200 OK\r\n"
            except ConnectionError:
                return False

        await wait_until_async(is_served, what="a place for another")


async def test_a_connection_that_asks_for_nothing_ends() -> None:
    async with serving(seconds=0.1) as port:
        silent, slow = await connect(port), await connect(port)
        slow[1].write(b"GET / HTTP/1.1\r\nHost:")
        assert await ends(silent)
        assert await ends(slow)


async def test_a_connection_that_has_asked_is_kept() -> None:
    async with serving(seconds=0.05) as port:
        idle, kept = await connect(port), await connect(port)
        assert await ask(kept) == b"HTTP/1.1 200 OK\r\n"
        assert await ends(idle)
        reader, writer = kept
        body = await reader.readuntil(b"hello")
        assert body.endswith(b"hello")
        writer.write(REQUEST)
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"


async def test_a_connection_that_asks_for_nothing_more_ends() -> None:
    async with serving(idle_seconds=0.1) as port:
        idle, slow = await connect(port), await connect(port)
        for streams in (idle, slow):
            assert await ask(streams) == b"HTTP/1.1 200 OK\r\n"
        slow[1].write(b"GET / HTTP/1.1\r\nHost:")
        assert (await idle[0].readuntil(b"hello")).endswith(b"hello")
        assert (await slow[0].readuntil(b"hello")).endswith(b"hello")
        assert await ends(idle)
        assert await ends(slow)


async def test_a_request_may_take_longer_than_a_connection_may_idle() -> None:
    async with serving(seconds=0.05, idle_seconds=0.05) as port:
        streams = await connect(port)
        streams[1].write(REQUEST.replace(b"/ ", b"/slow "))
        for _ in range(2):  # its timer has gone off meanwhile
            await asks_others_until_one_has_ended(port)
        may_answer.set()
        assert await streams[0].readline() == b"HTTP/1.1 200 OK\r\n"


async def asks_others_until_one_has_ended(port: int) -> None:
    assert await ends(await connect(port))


def test_tls_buffers_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sslproto.SSLProtocol, "max_size", 2**18)
    shrink_tls_buffers()
    assert sslproto.SSLProtocol.max_size == 2**15
