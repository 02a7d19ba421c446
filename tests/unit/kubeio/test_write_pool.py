"""The write pool against a server that answers with the very bytes a test names."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kubeio.certificates import make_self_signed
from kubeio.credentials import Credentials
from kubeio.errors import (
    ConnectionFailedError,
    ConnectionLostError,
    KubeError,
    MalformedResponseError,
    NotSentError,
    RequestTimeoutError,
)
from kubeio.login import KubeConfigError, Login
from kubeio.response import ignore_call
from kubeio.writes import WritePool

CREATED = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\nAudit-Id: x\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
HANG_UP = b""
NEVER = None
Answer = bytes | None | asyncio.Event


@dataclass
class ScriptedServer:
    """Answers requests one after the other; ``HANG_UP`` closes, ``NEVER`` leaves it open."""

    answers: list[Answer]
    port: int = 0
    requests: list[bytes] = field(default_factory=list)
    connection_count: int = 0
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        self.writers.append(writer)
        task: asyncio.Task[None] | None = asyncio.current_task()
        assert task is not None
        self.tasks.append(task)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                async with self.arrived:
                    self.requests.append(head + body)
                    self.arrived.notify_all()
                await self.answer(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def answer(self, writer: asyncio.StreamWriter) -> None:
        answer = self.answers.pop(0) if self.answers else CREATED
        if answer is NEVER:
            return
        if isinstance(answer, asyncio.Event):
            await answer.wait()
            answer = CREATED
        if answer == HANG_UP or answer.endswith(b"<cut>"):
            writer.write(answer.removesuffix(b"<cut>"))
            raise ConnectionError
        writer.write(answer)

    async def received(self, count: int) -> None:
        async with self.arrived, asyncio.timeout(5):
            await self.arrived.wait_for(lambda: len(self.requests) >= count)


async def unchanged() -> Login:
    raise KubeConfigError("no other login here")


@asynccontextmanager
async def scripted(
    *answers: Answer, has_token: bool = True, context: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[ScriptedServer, WritePool]]:
    script = ScriptedServer(list(answers))
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0, ssl=context)
    script.port = server.sockets[0].getsockname()[1]
    login = Login(
        server_url=f"http://127.0.0.1:{script.port}",
        authorization="Bearer t" if has_token else None,
    )
    async with WritePool(Credentials(login, unchanged), user_agent="ua/1") as pool:
        yield script, pool
    server.close()
    await asyncio.gather(*script.tasks)


async def post(pool: WritePool, path: str = "/api/v1/x", body: bytes = b"{}") -> int:
    return (await pool.post(path, body, resource="x")).status


async def test_request_is_written_as_http_says() -> None:
    async with scripted() as (server, pool):
        response = await pool.patch(
            "/api/v1/x?a=b", b'{"k":1}', resource="x", content_type="application/y+json"
        )
    assert server.requests == [
        b"PATCH /api/v1/x?a=b HTTP/1.1\r\n"
        b"Host: 127.0.0.1:%d\r\n"
        b"User-Agent: ua/1\r\n"
        b"Accept: application/json\r\n"
        b"Accept-Encoding: identity\r\n"
        b"Authorization: Bearer t\r\n"
        b"Content-Type: application/y+json\r\n"
        b'Content-Length: 7\r\n\r\n{"k":1}' % server.port
    ]
    assert (response.status, response.body) == (201, b"{}")
    assert response.headers["audit-id"] == "x"


async def test_login_without_token_sends_none() -> None:
    async with scripted(has_token=False) as (server, pool):
        await post(pool)
    assert b"Authorization" not in server.requests[0]


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b""),
        (CHUNKED, b"abcde"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab<cut>", b"ab"),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end<cut>", b"until the end"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", b"x"),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", b"x"),
    ],
    ids=["empty", "chunked", "close", "until-eof", "interim", "http10"],
)
async def test_framings_of_an_answer(answer: bytes, body: bytes) -> None:
    async with scripted(answer) as (_, pool):
        response = await pool.post("/x", b"", resource="x")
        assert (response.status, response.body) == (200, body)
        assert await post(pool) == 201  # the next request finds a connection that works


async def test_connection_is_used_again() -> None:
    async with scripted() as (server, pool):
        for _ in range(5):
            await post(pool)
        assert server.connection_count == 1
        await asyncio.gather(*(post(pool) for _ in range(3)))
        assert server.connection_count == 3


async def test_request_no_longer_wanted_is_not_sent() -> None:
    async with scripted(CREATED) as (server, pool):
        with pytest.raises(NotSentError) as caught:
            await pool.post("/a", b"{}", resource="a", may_send=lambda: False)
        assert not caught.value.request_may_have_happened
        # The connection is as good as new.
        response = await pool.post("/b", b"{}", resource="b", may_send=lambda: True)
        assert response.status == 201
        assert len(server.requests) == 1
        assert server.connection_count == 1


async def test_connection_close_is_obeyed() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    async with scripted(answer) as (server, pool):
        await post(pool)
        await post(pool)
        assert server.connection_count == 2


async def test_connection_closed_while_idle_is_replaced() -> None:
    async with scripted() as (server, pool):
        await post(pool)
        (connection,) = pool._connections
        server.writers[0].close()
        await connection.closed
        assert await post(pool) == 201
        assert server.connection_count == 2


async def test_connection_idle_for_too_long_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted() as (server, pool):
        await post(pool)
        monkeypatch.setattr("kubeio.writes.IDLE_CONNECTION_SECONDS", -1.0)
        await post(pool)
        assert server.connection_count == 2


@pytest.mark.parametrize(
    "answer",
    [HANG_UP, b"HTTP/1.1 201 Cre<cut>", b"HTTP/1.1 201 C\r\nContent-Length: 9\r\n\r\nab<cut>"],
    ids=["nothing", "head", "body"],
)
async def test_connection_lost_after_sending_is_not_repeated(answer: bytes) -> None:
    async with scripted(answer) as (server, pool):
        with pytest.raises(ConnectionLostError, match="POST /api/v1/x") as caught:
            await post(pool)
        assert caught.value.sent
        assert caught.value.request_may_have_happened
        assert len(server.requests) == 1
        assert await post(pool) == 201


async def test_refused_connection_sent_nothing() -> None:
    async with scripted() as (server, _):
        port = server.port
    login = Login(server_url=f"http://127.0.0.1:{port}")
    async with WritePool(Credentials(login, unchanged), user_agent="ua") as pool:
        with pytest.raises(ConnectionFailedError, match="cannot connect") as caught:
            await post(pool)
        assert not caught.value.request_may_have_happened


async def test_timeout_drops_only_its_own_connection() -> None:
    gate = asyncio.Event()
    async with scripted(NEVER, gate) as (server, pool):
        hopeless = asyncio.create_task(pool.post("/a", b"", resource="x", timeout_seconds=0.05))
        await server.received(1)
        patient = asyncio.create_task(post(pool))
        with pytest.raises(RequestTimeoutError, match="/a: no answer in time") as caught:
            await hopeless
        assert caught.value.request_may_have_happened
        gate.set()
        assert await patient == 201


async def test_deadlines_out_of_order_are_kept() -> None:
    async with scripted(NEVER, NEVER, NEVER) as (server, pool):
        order: list[float] = []

        async def wait(seconds: float) -> None:
            with pytest.raises(RequestTimeoutError):
                await pool.post("/x", b"", resource="x", timeout_seconds=seconds)
            order.append(seconds)

        await asyncio.gather(wait(0.15), wait(0.05), wait(0.1))
        assert order == [0.05, 0.1, 0.15]
        assert len(server.requests) == 3


async def test_timeout_counts_while_connecting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # never answers a TLS hello
        login = Login(server_url=f"https://127.0.0.1:{silent.getsockname()[1]}", verify=False)
        async with WritePool(Credentials(login, unchanged), user_agent="ua") as pool:
            with pytest.raises(ConnectionFailedError, match="timed out") as caught:
                await pool.post("/x", b"", resource="x", timeout_seconds=0.05)
            assert not caught.value.request_may_have_happened


async def test_cancelled_request_takes_its_connection_with_it() -> None:
    async with scripted(NEVER) as (server, pool):
        task = asyncio.create_task(post(pool))
        await server.received(1)
        task.cancel()
        await asyncio.wait([task])
        assert await post(pool) == 201
        assert server.connection_count == 2


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 abc\r\n\r\n"])
async def test_answer_that_is_no_http(answer: bytes) -> None:
    async with scripted(answer) as (_, pool):
        with pytest.raises(MalformedResponseError, match="no HTTP") as caught:
            await post(pool)
        assert caught.value.request_may_have_happened


async def test_endless_body_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeio.connection.BODY_LIMIT_BYTES", 10)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n12345678901"
    async with scripted(answer) as (_, pool):
        with pytest.raises(MalformedResponseError, match="more than 10 bytes"):
            await post(pool)


async def test_bytes_nobody_asked_for_end_the_connection() -> None:
    async with scripted() as (server, pool):
        await post(pool)
        (connection,) = pool._connections
        server.writers[0].write(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        await connection.closed
        assert await post(pool) == 201


async def test_closing_fails_what_is_under_way() -> None:
    async with scripted(NEVER) as (server, pool):
        task = asyncio.create_task(post(pool))
        await server.received(1)
        await pool.close()
        with pytest.raises(ConnectionLostError, match="shutting down"):
            await task


@pytest.mark.parametrize("path", ["x", "/a b", "/a\r\nX: y", "/ü", ""])
async def test_path_that_would_break_the_request_is_a_bug(path: str) -> None:
    async with scripted() as (server, pool):
        with pytest.raises(ValueError, match="not an escaped path"):
            await post(pool, path)
        assert server.connection_count == 0


async def test_calls_are_observed() -> None:
    seen: list[tuple[str, str, str]] = []
    async with scripted(CREATED, HANG_UP) as (server, _):
        login = Login(server_url=f"http://127.0.0.1:{server.port}/prefix/")
        async with WritePool(
            Credentials(login, unchanged),
            user_agent="ua",
            observe_call=lambda verb, resource, code, _: seen.append((verb, resource, code)),
        ) as pool:
            await pool.post("/x", b"", resource="pods/binding")
            with pytest.raises(KubeError):
                await pool.post("/x", b"", resource="pods/binding")
        assert server.requests[0].startswith(b"POST /prefix/x HTTP/1.1\r\n")
    assert seen == [("POST", "pods/binding", "201"), ("POST", "pods/binding", "<error>")]


async def test_proxy_is_refused() -> None:
    login = Login(server_url="https://k", proxy_url="http://p:1", verify=False)
    with pytest.raises(KubeConfigError, match="proxy-url http://p:1"):
        WritePool(Credentials(login, unchanged), user_agent="ua")


UNAUTHORIZED = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"


def clock_that_jumps() -> Callable[[], float]:
    times = iter(range(0, 10**6, 5))
    return lambda: float(next(times))


async def test_unauthorized_is_repeated_with_a_new_token() -> None:
    async with scripted(UNAUTHORIZED) as (server, _):
        url = f"http://127.0.0.1:{server.port}"

        async def renew() -> Login:
            return Login(server_url=url, authorization="Bearer new")

        credentials = Credentials(
            Login(server_url=url, authorization="Bearer old"), renew, clock=clock_that_jumps()
        )
        async with WritePool(credentials, user_agent="ua") as pool:
            assert await post(pool) == 201
    assert b"Bearer old" in server.requests[0]
    assert b"Bearer new" in server.requests[1]


async def test_unauthorized_with_the_same_token_is_the_answer() -> None:
    async with scripted(UNAUTHORIZED) as (server, pool):
        assert await post(pool) == 401
        assert len(server.requests) == 1


async def test_new_tls_context_means_new_connections(tmp_path: Path) -> None:
    pem = tmp_path / "server.pem"
    pem.write_bytes(make_self_signed(("127.0.0.1",)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    async with scripted(context=context) as (server, _):
        login = Login(
            server_url=f"https://127.0.0.1:{server.port}", ca_file=str(pem), files=(str(pem),)
        )

        async def same() -> Login:
            return login

        credentials = Credentials(login, same, clock=clock_that_jumps())
        async with WritePool(credentials, user_agent="ua", observe_call=ignore_call) as pool:
            assert await post(pool) == 201
            assert await post(pool) == 201
            assert server.connection_count == 1
            pem.write_bytes(pem.read_bytes() + b"\n")
            assert await post(pool) == 201
            assert server.connection_count == 2
            assert credentials.generation == 1


async def test_untrusted_server_is_not_connected_to(tmp_path: Path) -> None:
    pem, other = tmp_path / "server.pem", tmp_path / "other.pem"
    for path in (pem, other):
        path.write_bytes(make_self_signed(("127.0.0.1",)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    async with scripted(context=context) as (server, _):
        login = Login(server_url=f"https://127.0.0.1:{server.port}", ca_file=str(other))
        async with WritePool(Credentials(login, unchanged), user_agent="ua") as pool:
            with pytest.raises(ConnectionFailedError, match="CERTIFICATE_VERIFY_FAILED"):
                await post(pool)
    assert server.requests == []
