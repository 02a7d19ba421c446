"""The client against a small HTTP server."""

import asyncio
import ssl
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from kubeio.certificates import make_self_signed
from kubeio.client import KubeClient, Lane
from kubeio.credentials import Credentials
from kubeio.errors import (
    ConflictError,
    ConnectionFailedError,
    ConnectionLostError,
    GoneError,
    KubeError,
    MalformedResponseError,
    RequestTimeoutError,
    UnauthorizedError,
)
from kubeio.login import Login
from kubeio.response import ignore_call
from tests.unit.kubeio.fake_api import client_of, serving, unchanged


async def test_request_says_who_and_what() -> None:
    seen: list[web.Request] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request)
        return web.json_response({"body": (await request.read()).decode()}, status=201)

    async with client_of(handler, "/prefix") as client:
        response = await client.request(
            "PATCH",
            "/api/v1/things/a%2Fb",
            body=b"{}",
            params={"fieldSelector": "status.phase!=Failed,x=y z"},
            content_type="application/merge-patch+json",
        )
        await client.request("GET", "/api/v1/things")
    assert (response.status, response.body) == (201, b'{"body": "{}"}')
    assert response.headers["content-type"].startswith("application/json")
    first, second = seen
    assert first.raw_path.startswith("/prefix/api/v1/things/a%2Fb?")
    assert first.query["fieldSelector"] == "status.phase!=Failed,x=y z"
    assert first.headers["Authorization"] == "Bearer t"
    assert first.headers["User-Agent"] == "ua/1"
    assert first.headers["Accept"] == "application/json"
    assert first.headers["Accept-Encoding"] == "identity"
    assert first.headers["Content-Type"] == "application/merge-patch+json"
    assert "Content-Type" not in second.headers


async def test_headers_of_ones_own_go_along() -> None:
    seen: list[web.Request] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request)
        return web.Response()

    async with serving(handler) as url:
        credentials = Credentials(Login(server_url=url), unchanged)
        async with KubeClient(credentials, user_agent="ua/1", headers={"X-A": "b"}) as client:
            await client.request("GET", "/x")
    assert seen[0].headers["X-A"] == "b"
    assert seen[0].headers["User-Agent"] == "ua/1"


async def test_call_raises_what_a_status_means() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"kind": "Status", "reason": "AlreadyExists"}, status=409)

    async with client_of(handler) as client:
        assert (await client.request("POST", "/api/v1/x")).status == 409
        with pytest.raises(ConflictError, match=r"POST /api/v1/x: HTTP 409 AlreadyExists"):
            await client.call("POST", "/api/v1/x")


async def test_redirect_is_not_followed() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"})

    async with client_of(handler) as client:
        with pytest.raises(KubeError, match="HTTP 302"):
            await client.call("GET", "/api/v1/x")


class Thing(msgspec.Struct):
    name: str


async def test_json_is_decoded_and_sent() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response(await request.json() if request.can_read_body else {"name": "n"})

    async with client_of(handler) as client:
        assert await client.get_json("/x", Thing) == Thing("n")
        assert await client.send_json("POST", "/x", Thing("m"), Thing) == Thing("m")
        with pytest.raises(MalformedResponseError, match="no Thing"):
            await client.send_json("POST", "/x", {"name": 5}, Thing)

    async def abyss(_: web.Request) -> web.Response:
        return web.Response(text='{"x":' + "[" * 200_000)

    async with client_of(abyss) as client:
        with pytest.raises(MalformedResponseError, match="no Thing"):
            await client.get_json("/x", Thing)


async def test_of_an_answer_without_an_end_no_more_than_the_limit_is_read() -> None:
    sent_bytes = 0

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal sent_bytes
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(2**10 if request.path == "/endless" else 1):
            await response.write(2**20 * b" ")
            sent_bytes += 2**20
        return response

    async with client_of(handler, max_body_bytes=2**20) as client:
        assert len((await client.call("GET", "/x")).body) == 2**20
        with pytest.raises(MalformedResponseError, match="an answer of more than 1048576 bytes"):
            await client.call("GET", "/endless")
    assert sent_bytes < 64 * 2**20


async def test_no_answer_in_time() -> None:
    release = asyncio.Event()

    async def handler(_: web.Request) -> web.Response:
        await release.wait()
        return web.Response()

    async with client_of(handler) as client:
        with pytest.raises(RequestTimeoutError, match=r"GET /x: no answer within 0.05 s"):
            await client.request("GET", "/x", timeout_seconds=0.05)
        release.set()


async def test_no_server() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response()

    async with serving(handler) as url:
        pass
    async with KubeClient(Credentials(Login(server_url=url), unchanged), user_agent="ua") as client:
        with pytest.raises(ConnectionFailedError):
            await client.request("POST", "/x")


async def test_untrusted_server(tmp_path: Path) -> None:
    pem, other = tmp_path / "server.pem", tmp_path / "other.pem"
    for path in (pem, other):
        path.write_bytes(make_self_signed(("127.0.0.1",)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)

    async def handler(_: web.Request) -> web.Response:
        return web.Response(text="hello")

    async with serving(handler, context=context) as url:
        bad = Credentials(Login(server_url=url, ca_file=str(other)), unchanged)
        async with KubeClient(bad, user_agent="ua") as client:
            said = r": Cannot connect to host 127\.0\.0\.1:\d+ \[SSL.*CERTIFICATE_VERIFY_FAILED"
            with pytest.raises(ConnectionFailedError, match=said):
                await client.request("GET", "/x")
        good = Credentials(Login(server_url=url, ca_file=str(pem)), unchanged)
        async with KubeClient(good, user_agent="ua") as client:
            assert (await client.request("GET", "/x")).body == b"hello"


async def test_connection_that_ends_inside_an_answer() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b"part")
        assert request.transport is not None
        request.transport.close()
        return response

    async with client_of(handler) as client:
        with pytest.raises(ConnectionLostError):
            await client.request("POST", "/x")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_write_on_a_connection_that_dies_is_not_repeated(method: str) -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.method)
        if request.method != "GET":
            assert request.transport is not None
            request.transport.close()
        return web.Response()

    async with client_of(handler) as client:
        await client.request("GET", "/x", lane=Lane.LEASES)
        with pytest.raises(ConnectionLostError):
            await client.request(method, "/x", body=b"{}", lane=Lane.LEASES)
    assert seen == ["GET", method]


async def test_unauthorized_reads_the_credentials_again() -> None:
    tokens: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        tokens.append(request.headers["Authorization"])
        return web.Response(status=200 if tokens[-1] == "Bearer new" else 401)

    async with serving(handler) as url:
        times = iter(range(0, 1000, 5))

        async def renew() -> Login:
            return Login(server_url=url, authorization="Bearer new")

        credentials = Credentials(
            Login(server_url=url, authorization="Bearer old"),
            renew,
            clock=lambda: float(next(times)),
        )
        async with KubeClient(credentials, user_agent="ua") as client:
            assert (await client.call("POST", "/x", body=b"{}")).status == 200
            async with client.stream("/x", idle_timeout_seconds=5) as stream:
                assert await stream.read_lines() == []
    assert tokens == ["Bearer old", "Bearer new", "Bearer new"]


async def test_unauthorized_for_good() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(status=401)

    async with client_of(handler) as client:
        with pytest.raises(UnauthorizedError):
            await client.call("GET", "/x")
        with pytest.raises(UnauthorizedError):
            async with client.stream("/x", idle_timeout_seconds=5):
                raise AssertionError


async def test_calls_are_observed() -> None:
    seen: list[tuple[str, str, str]] = []

    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=404 if request.path.endswith("none") else 200)

    async with (
        serving(handler) as url,
        KubeClient(
            Credentials(Login(server_url=url), unchanged),
            user_agent="ua",
            observe_call=lambda verb, resource, code, _: seen.append((verb, resource, code)),
        ) as client,
    ):
        await client.request("POST", "/api/v1/namespaces/a/pods/p/binding")
        with pytest.raises(KubeError):
            await client.call("GET", "/api/v1/nodes/none")
        async with client.stream("/api/v1/pods", idle_timeout_seconds=5):
            pass
    with pytest.raises(KubeError):
        await client.request("GET", "/api/v1/pods")
    await client.close()
    assert seen == [
        ("POST", "pods/binding", "200"),
        ("GET", "nodes", "404"),
        ("WATCH", "pods", "200"),
        ("GET", "pods", "<error>"),
    ]
    ignore_call("GET", "pods", "200", 0.1)


async def test_stream_gives_lines_until_the_end() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for part in (b"one\ntw", b"o\n", b"three\n"):
            await response.write(part)
        return response

    async with (
        client_of(handler) as client,
        client.stream("/x", params={"watch": "1"}, idle_timeout_seconds=5) as stream,
    ):
        lines = []
        while batch := await stream.read_lines():
            lines += batch
    assert lines == [b"one", b"two", b"three"]


async def test_stream_that_is_refused() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"kind": "Status", "reason": "Expired"}, status=410)

    async with client_of(handler) as client:
        with pytest.raises(GoneError, match=r"WATCH /x: HTTP 410 Expired"):
            async with client.stream("/x", idle_timeout_seconds=5):
                raise AssertionError


async def test_stream_that_falls_silent_or_never_begins() -> None:
    release = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if request.path == "/begins":
            await response.prepare(request)
            await response.write(b"one\n")
        await release.wait()
        return response

    async with client_of(handler) as client:
        async with client.stream("/begins", idle_timeout_seconds=0.05) as stream:
            assert await stream.read_lines() == [b"one"]
            with pytest.raises(RequestTimeoutError, match="silent for too long"):
                await stream.read_lines()
        with pytest.raises(RequestTimeoutError, match=r"no answer within 0.05 s"):
            async with client.stream("/x", headers_timeout_seconds=0.05, idle_timeout_seconds=5):
                raise AssertionError
        release.set()


async def test_lanes_do_not_wait_for_each_other() -> None:
    release = asyncio.Event()

    async def handler(request: web.Request) -> web.Response:
        if request.path == "/slow":
            await release.wait()
        return web.Response()

    async with client_of(handler) as client:
        slow = [
            asyncio.create_task(client.request("GET", "/slow", lane=Lane.READS)) for _ in range(40)
        ]
        assert (await client.request("GET", "/lease", lane=Lane.LEASES)).status == 200
        assert not any(task.done() for task in slow)
        release.set()
        await asyncio.gather(*slow)
