"""Answers of a server, and exactly what becomes of each (pkg/kubelet/config/http_test.go)."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import web

from node_agent.core.operations import Source
from node_agent.core.static_pods import static_pods
from node_agent.shell.http_source import HttpSource
from tests.faultproxy import wait_until
from tests.unit.kubeio.fake_api import Handler, serving
from tests.unit.node_agent.shell.lists import Lists, stop
from tests.unit.node_agent.shell.manifests import manifest

MISPLACED_COLON = "mapping values are not allowed in this context"
REQUIRED = "apiVersion v1 and kind Pod are required"
EMPTY = "an empty answer: there are no Pods now"
TRAP = "the same answer as before the empty one: the kubelet takes no Pods from it until it changes"


class Server:
    """Answers with what a test sets."""

    def __init__(self) -> None:
        self.body: str | bytes = manifest()
        self.status = 200
        self.requests: list[web.Request] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append(request)
        body = self.body.encode() if isinstance(self.body, str) else self.body
        return web.Response(body=body, status=self.status)


class Stage:
    """A source of a server, fetched from step by step."""

    def __init__(self, source: HttpSource, lists: Lists, fetch: Callable[[], Any]) -> None:
        self.source = source
        self.lists = lists
        self.fetch = fetch

    def problem(self) -> str:
        """Give the problem without the URL."""
        return (self.source.problem() or "").partition(": ")[2]


@asynccontextmanager
async def fetching(handler: Handler, path: str = "/pods", **options: Any) -> AsyncIterator[Stage]:
    lists = Lists()
    async with serving(handler) as url:
        source = HttpSource(f"{url}{path}", "n", lists.emit, **options)
        async with source.open_session() as session:
            yield Stage(source, lists, lambda: source.fetch(session))


def pod_list(*names: str) -> str:
    """Give a PodList as JSON."""
    items = [
        {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        for name in names
    ]
    return msgspec.json.encode({"apiVersion": "v1", "kind": "PodList", "items": items}).decode()


async def test_a_pod_is_taken() -> None:
    async with fetching(Server().answer) as stage:
        assert stage.problem() == "not fetched yet"
        await stage.fetch()
        assert stage.lists.names == [["a-n"]]
        assert stage.problem() == ""
    (event,) = stage.lists.events
    assert event.source is Source.HTTP
    assert event.pods[0].spec.tolerations == ()


async def test_a_list_is_taken() -> None:
    server = Server()
    server.body = pod_list("a", "b")
    async with fetching(server.answer) as stage:
        await stage.fetch()
        server.body = pod_list()
        await stage.fetch()
        assert stage.lists.names == [["a-n", "b-n"], []]
        assert stage.problem() == ""


async def test_the_loop_is_not_held_by_what_is_in_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = []

    def noting(*arguments: Any) -> Any:
        threads.append(threading.get_ident())
        return static_pods(*arguments)

    monkeypatch.setattr("node_agent.shell.http_source.static_pods", noting)
    async with fetching(Server().answer) as stage:
        await stage.fetch()
        assert stage.lists.names == [["a-n"]]
    assert threading.get_ident() not in threads
    assert len(threads) == 1


async def test_headers_are_sent_as_they_are() -> None:
    server = Server()
    headers = {"Authorization": ["Bearer secret"], "X-Two": ["1", "2"]}
    async with fetching(server.answer, headers=headers) as stage:
        await stage.fetch()
    (request,) = server.requests
    assert request.headers["Authorization"] == "Bearer secret"
    assert request.headers.getall("X-Two") == ["1", "2"]


async def test_an_equal_answer_is_no_news() -> None:
    server = Server()
    async with fetching(server.answer) as stage:
        for _ in range(3):
            await stage.fetch()
        assert stage.lists.names == [["a-n"]]
        server.body = manifest("b")
        await stage.fetch()
        assert stage.lists.names == [["a-n"], ["b-n"]]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("a: b: c", f"line 1: not YAML: {MISPLACED_COLON}"),
        ("", EMPTY),
        (manifest().replace("apiVersion: v1\n", ""), f"{REQUIRED}, not None and 'Pod'"),
        (manifest().replace("v1", "v1beta3"), f"{REQUIRED}, not 'v1beta3' and 'Pod'"),
        (manifest(image="''"), "spec.containers[0].image: an image is required"),
        (pod_list("a", ""), "items[1]: metadata.name: a name is required"),
    ],
)
async def test_a_bad_manifest_is_told_and_takes_nothing_away(body: str, problem: str) -> None:
    server = Server()
    async with fetching(server.answer) as stage:
        await stage.fetch()
        server.body = body
        for _ in range(2):
            await stage.fetch()
            assert stage.problem() == problem
        assert stage.lists.names == ([["a-n"]] if body else [["a-n"], [], []])


async def test_a_refused_answer_is_not_looked_at_again(caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    server.body = manifest("")
    async with fetching(server.answer) as stage:
        for _ in range(3):
            await stage.fetch()
        assert dict(stage.source.refused.counts) == {"invalid": 1}
        assert [r.getMessage() for r in caplog.records] == ["Manifest refused"]
        assert stage.problem() == "metadata.name: a name is required"
        server.status = 500
        await stage.fetch()
        assert stage.problem() == "HTTP 500 Internal Server Error"
        server.status = 200
        await stage.fetch()
        assert stage.problem() == "metadata.name: a name is required"
        server.body = manifest()
        await stage.fetch()
        assert stage.problem() == ""
        assert dict(stage.source.refused.by_place) == {}


async def test_after_an_empty_answer_the_old_one_brings_nothing_back() -> None:
    """The kubelet's trap: only an answer that differs from the last one counts."""
    server = Server()
    async with fetching(server.answer) as stage:
        await stage.fetch()
        good, server.body = server.body, b""
        await stage.fetch()
        assert stage.problem() == EMPTY
        server.body = good
        for _ in range(2):
            await stage.fetch()
            assert stage.problem() == TRAP
        assert stage.lists.names == [["a-n"], []]
        server.body = manifest("b")
        await stage.fetch()
        assert stage.lists.names == [["a-n"], [], ["b-n"]]
        assert stage.problem() == ""


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (201, "HTTP 201 Created"),
        (204, "HTTP 204 No Content"),
        (404, "HTTP 404 Not Found"),
        (500, "HTTP 500 Internal Server Error"),
    ],
)
async def test_only_200_counts(status: int, problem: str) -> None:
    server = Server()
    async with fetching(server.answer) as stage:
        await stage.fetch()
        server.status = status
        await stage.fetch()
        assert stage.problem() == problem
        assert stage.lists.names == [["a-n"]]


async def test_redirects_are_followed() -> None:
    async def answer(request: web.Request) -> web.Response:
        if request.path == "/pods":
            raise web.HTTPFound("/elsewhere")
        return web.Response(text=manifest())

    async with fetching(answer) as stage:
        await stage.fetch()
        assert stage.lists.names == [["a-n"]]


async def test_redirects_without_an_end_are_not() -> None:
    async def answer(request: web.Request) -> web.Response:
        raise web.HTTPFound(request.path)

    async with fetching(answer) as stage:
        await stage.fetch()
        assert stage.problem() == "more than 10 redirects"
        assert stage.lists.events == []


@pytest.mark.parametrize(
    "location", ["ftp://x/?secret", "http://user:secret@[::1", "mailto:secret", "http:///secret"]
)
async def test_redirects_to_what_is_no_url_are_not_shown(location: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": location})

    async with fetching(answer) as stage:
        await stage.fetch()
        problem = "no answer: a redirect to what is no http:// or https:// URL"
        assert stage.problem() == problem


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"SSH-2.0-x\r\n\r\n", "no answer: Bad status line"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "no answer: Invalid character in Content-Length",
        ),
        (
            b"HTTP/1.1 200 OK\r\nX: " + b"x" * 99_999,
            "no answer: Got more than 8190 bytes when reading",
        ),
        (
            b"HTTP/1.1 404 \x1b[31m\xff\r\nContent-Length: 0\r\n\r\n",
            r"HTTP 404 \x1b[31m\udcff",
        ),
        (b"", "no answer: Server disconnected"),
    ],
)
async def test_what_is_no_http_is_told_without_secrets(answer: bytes, problem: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        source = HttpSource(f"http://me:secret@127.0.0.1:{port}/?secret", "n", Lists().emit)
        async with source.open_session() as session:
            await source.fetch(session)
        assert source.problem() == f"http://127.0.0.1:{port}/: {problem}"


async def test_a_header_of_ones_own_goes_before_the_urls_user() -> None:
    server = Server()
    async with serving(server.answer) as url:
        url = url.replace("//", "//user:password@")
        for headers, sent in (
            ({}, "Basic dXNlcjpwYXNzd29yZA=="),
            ({"authorization": ["Bearer t"]}, "Bearer t"),
        ):
            source = HttpSource(url, "n", Lists().emit, headers=headers)
            async with source.open_session() as session:
                await source.fetch(session)
            assert source.problem() is None
            assert server.requests[-1].headers["Authorization"] == sent


async def test_half_a_body_is_none() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(manifest().encode())
        assert request.transport is not None
        request.transport.close()
        return response

    async with fetching(answer) as stage:
        await stage.fetch()
        assert stage.problem() == "the answer ended before its body did"
        assert stage.lists.events == []


async def test_of_a_gigabyte_no_more_than_the_limit_is_read() -> None:
    sent_bytes = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal sent_bytes
        response = web.StreamResponse(headers={"Content-Length": str(2**30)})
        await response.prepare(request)
        for _ in range(2**10):
            await response.write(2**20 * b" ")
            sent_bytes += 2**20
        return response

    async with fetching(answer) as stage:
        await stage.fetch()
        assert stage.problem() == "a manifest has less than 10485760 bytes"
        assert stage.lists.events == []
    assert sent_bytes < 64 * 2**20


async def test_a_server_that_never_answers_is_waited_for_no_longer_than_the_limit() -> None:
    async def answer(_: web.Request) -> web.Response:
        await asyncio.sleep(3600)
        raise AssertionError("unreachable")

    async with fetching(answer, timeout_seconds=0.05) as stage:
        await stage.fetch()
        assert stage.problem() == "no answer within 0.05 s"


async def test_a_body_that_never_ends_is_waited_for_no_longer_than_the_limit() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"apiVersion: v1\n")
        await asyncio.sleep(3600)
        return response

    async with fetching(answer, timeout_seconds=0.2) as stage:
        await stage.fetch()
        assert stage.problem() == "no answer within 0.2 s"


async def test_a_server_that_is_away_is_told() -> None:
    lists = Lists()
    source = HttpSource("http://user:secret@127.0.0.1:1/pods", "n", lists.emit)
    async with source.open_session() as session:
        await source.fetch(session)
    problem = source.problem() or ""
    assert problem.startswith("http://127.0.0.1:1/pods: no answer: Cannot connect to host")
    assert "secret" not in problem
    assert lists.events == []


async def test_failures_become_quiet_and_their_end_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    server = Server()
    server.status = 500
    async with fetching(server.answer, headers={"X-Token": ["secret"]}) as stage:
        for _ in range(6):
            await stage.fetch()
        server.status = 200
        await stage.fetch()
        await stage.fetch()
        server.status = 500
        await stage.fetch()
    ours = [record for record in caplog.records if record.name.startswith("node_agent")]
    assert [record.getMessage() for record in ours] == [
        *3 * ["Cannot fetch manifests"],
        "Manifests still cannot be fetched; further failures are told at -v 4 only",
        "Manifests can be fetched again",
        "Cannot fetch manifests",
    ]
    assert not any("secret" in str(record.__dict__) for record in ours)


async def test_it_goes_on_at_a_constant_pace() -> None:
    server, lists = Server(), Lists()
    async with serving(server.answer) as url:
        source = HttpSource(url, "n", lists.emit, period_seconds=0.01)
        task = asyncio.create_task(source.run())
        await wait_until(lambda: len(server.requests) >= 3, what="three requests")
        server.body = manifest("b")
        await lists.wait_for("b-n")
        await stop(task)
