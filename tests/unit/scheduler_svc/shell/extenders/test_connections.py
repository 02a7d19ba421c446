"""What goes over the wire to an extender, and over which connection."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kubeio.errors import ConnectionFailedError, ConnectionLostError, MalformedResponseError
from scheduler_svc.shell.extenders import connections as module
from scheduler_svc.shell.extenders.connections import ExtenderConnections
from tests.faultproxy import wait_until

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"
LAST = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n1\r\n]\r\n0\r\n\r\n"
UNTIL_THE_END = b"HTTP/1.0 200 OK\r\n\r\n[]"


class Server:
    """Answers one question after the other with raw bytes, and hangs up after ``b""``."""

    def __init__(self, answers: list[bytes]) -> None:
        self.answers = answers
        self.questions: list[str] = []
        self.connection_count = 0
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = int(head.rpartition("Content-Length:")[2])
                self.questions.append(head + (await reader.readexactly(length)).decode())
                answer = self.answers.pop(0)
                writer.write(answer)
                await writer.drain()
                if answer in (b"", LAST, UNTIL_THE_END):
                    break
        except asyncio.IncompleteReadError:
            pass
        writer.close()


@asynccontextmanager
async def asking(*answers: bytes) -> AsyncIterator[tuple[Server, ExtenderConnections]]:
    server, asked = Server(list(answers)), ExtenderConnections(ssl.create_default_context(), None)
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
        server.port = listening.sockets[0].getsockname()[1]
        try:
            yield server, asked
        finally:
            await asked.close()


async def ask(server: Server, asked: ExtenderConnections, path: str = "/x", login: str = "") -> str:
    url = f"http://{login}127.0.0.1:{server.port}{path}"
    answer = await asked.post(url, b"{}", "asking")
    assert answer.status == 200
    return answer.body.decode()


async def test_a_question_is_plain_http() -> None:
    async with asking(OK) as (server, asked):
        assert await ask(server, asked) == "[]"
    (question,) = server.questions
    assert question.split("\r\n") == [
        "POST /x HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        "Accept: application/json",
        "Accept-Encoding: identity",
        "Content-Type: application/json",
        "Content-Length: 2",
        "",
        "{}",
    ]


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/a b/ü", "/a%20b/%C3%BC"),
        ("/a%20b", "/a%20b"),
        ("/a?key=one two/filter", "/a?key=one%20two/filter"),
        ("/a\r\nHost: b", "/aHost:%20b"),
    ],
)
async def test_a_path_is_escaped_where_it_is_not(path: str, target: str) -> None:
    async with asking(OK) as (server, asked):
        await ask(server, asked, path)
    assert server.questions[0].startswith(f"POST {target} HTTP/1.1\r\n")


async def test_a_login_is_sent_and_is_no_part_of_the_host() -> None:
    async with asking(OK) as (server, asked):
        await ask(server, asked, login="me:a%40b@")
    assert "\r\nAuthorization: Basic bWU6YUBi\r\n" in server.questions[0]
    assert f"\r\nHost: 127.0.0.1:{server.port}\r\n" in server.questions[0]


@pytest.mark.parametrize(
    ("answer", "connection_count"), [(OK, 1), (CHUNKED, 1), (LAST, 3), (UNTIL_THE_END, 3)]
)
async def test_a_connection_is_used_again_while_it_may_be(
    answer: bytes, connection_count: int
) -> None:
    async with asking(*[answer] * 3) as (server, asked):
        assert [await ask(server, asked) for _ in range(3)] == ["[]"] * 3
        assert server.connection_count == connection_count


async def test_questions_at_once_have_connections_of_their_own() -> None:
    async with asking(*[OK] * 6) as (server, asked):
        for _ in range(2):
            await asyncio.gather(*(ask(server, asked) for _ in range(3)))
        assert server.connection_count == 3


async def test_a_connection_that_was_idle_for_long_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS", -1)
    async with asking(OK, OK) as (server, asked):
        await ask(server, asked)
        await ask(server, asked)
        assert server.connection_count == 2


async def test_a_question_that_is_given_up_leaves_no_connection_behind() -> None:
    async with asking(b"HTTP/1.1 200 OK\r\n", OK) as (server, asked):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await ask(server, asked)
        assert await ask(server, asked) == "[]"
        assert server.connection_count == 2


async def test_an_end_without_an_answer_is_told() -> None:
    async with asking(b"") as (server, asked):
        with pytest.raises(ConnectionLostError, match=r"^asking: the connection ended without"):
            await ask(server, asked)


async def test_what_is_no_http_is_told() -> None:
    async with asking(b"what?\r\n\r\n") as (server, asked):
        with pytest.raises(MalformedResponseError, match=r"^asking: the answer is no HTTP"):
            await ask(server, asked)


async def test_an_answer_has_a_limit_that_no_cluster_reaches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert module.BODY_LIMIT_BYTES == 2**30
    monkeypatch.setattr(module, "BODY_LIMIT_BYTES", 1)
    async with asking(OK) as (server, asked):
        with pytest.raises(MalformedResponseError, match="a body of more than 1 bytes"):
            await ask(server, asked)


async def test_questions_under_way_fail_at_the_end() -> None:
    async with asking(b"HTTP/1.1 200 OK\r\n") as (server, asked):
        question = asyncio.create_task(ask(server, asked))
        await wait_until(lambda: server.questions, what="a question")
        await asked.close()
        with pytest.raises(ConnectionFailedError, match=r"^asking: we are closing"):
            await question


@pytest.mark.parametrize("url", ["127.0.0.1:1/x", "ftp://a/x", "http:///x", "http://a:b/x"])
async def test_what_is_no_url_is_a_value_error(url: str) -> None:
    asked = ExtenderConnections(ssl.create_default_context(), None)
    with pytest.raises(ValueError, match=r"no http:// or https:// URL|Port could not be"):
        await asked.post(url, b"{}", "asking")


async def test_where_nobody_listens_is_told() -> None:
    asked = ExtenderConnections(ssl.create_default_context(), None)
    with pytest.raises(ConnectionFailedError, match=r"^asking: cannot connect to 127.0.0.1:1: "):
        await asked.post("http://127.0.0.1:1", b"{}", "asking")
