"""The HTTPS server over real sockets."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from cryptography import x509
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.parser import text_string_to_metric_families

from kubeio.access import Refusal
from kubeio.certificates import make_self_signed
from kubeio.pod_proxy import PROXIED_AUTHORIZATION
from kubeio.serving import HttpsServer
from kubeio.serving_options import ServingOptions
from tests.faultproxy import wait_until

LOOPBACK = ServingOptions(bind_address="127.0.0.1", port=0)


class OnlyKey:
    """Lets in who shows the key."""

    async def refusal(self, authorization: str | None, path: str, verb: str) -> Refusal | None:
        if authorization == "Bearer key":
            return None
        return Refusal(403, f"{verb} {path}: no")


def make_server(options: ServingOptions = LOOPBACK, *, guarded: bool = False) -> HttpsServer:
    registry = CollectorRegistry()
    Counter("binds", "Bindings", registry=registry).inc(3)
    return HttpsServer(
        options,
        registry=registry,
        configz=lambda: {"componentconfig": {"parallelism": 16}},
        authorizer=OnlyKey() if guarded else None,
    )


@asynccontextmanager
async def browser(server: HttpsServer) -> AsyncIterator[aiohttp.ClientSession]:
    async with (
        server,
        aiohttp.ClientSession(
            f"https://127.0.0.1:{server.port}", connector=aiohttp.TCPConnector(ssl=False)
        ) as session,
    ):
        yield session


async def get(session: aiohttp.ClientSession, path: str, **headers: str) -> tuple[int, str]:
    async with session.get(path, headers=headers) as response:
        return response.status, await response.text()


async def test_probes() -> None:
    server = make_server(guarded=True)
    reasons: list[str | None] = ["not listed yet"]
    server.add_check("views", lambda: reasons[0])
    server.add_check("leader", lambda: None, healthz=True, livez=True)
    async with browser(server) as session:
        for path in ("/healthz", "/livez", "/healthz/leader"):
            assert await get(session, path) == (200, "ok")
        assert await get(session, "/readyz") == (
            500,
            "[+]ping ok\n[-]views failed: reason withheld\n[+]leader ok\nreadyz check failed\n",
        )
        assert "views failed: not listed yet" in (await get(session, "/readyz?verbose"))[1]
        assert (await get(session, "/readyz/views"))[0] == 500
        assert (await get(session, "/readyz/other"))[0] == 404
        assert await get(session, "/readyz?exclude=views&exclude=x") == (200, "ok")
        reasons[0] = None
        assert await get(session, "/readyz") == (200, "ok")


async def test_metrics_and_configz() -> None:
    async with browser(make_server()) as session:
        status, text = await get(session, "/metrics")
        assert status == 200
        samples = {s.name: s.value for f in text_string_to_metric_families(text) for s in f.samples}
        assert samples["binds_total"] == 3
        assert await get(session, "/configz") == (200, '{"componentconfig":{"parallelism":16}}')
        async with session.get("/metrics", headers={"Accept": "application/openmetrics-text"}) as r:
            assert r.content_type == "application/openmetrics-text"
            assert (await r.text()).endswith("# EOF\n")


async def test_server_tells_no_versions() -> None:
    async with browser(make_server()) as session, session.get("/livez") as response:
        assert "Server" not in response.headers
        assert response.headers["X-Content-Type-Options"] == "nosniff"


async def test_all_but_probes_is_guarded() -> None:
    server = make_server(guarded=True)

    async def explain(request: web.Request) -> web.Response:
        return web.Response(text=f"pod {request.match_info['pod']}")

    server.add_route("GET", "/explain/{pod}", explain)
    async with browser(server) as session:
        for path in ("/metrics", "/configz", "/explain/p"):
            assert await get(session, path) == (403, f"get {path}: no\n")
        assert await get(session, "/explain/p", Authorization="Bearer key") == (200, "pod p")
        assert (await get(session, "/metrics", Authorization="Bearer key"))[0] == 200


async def test_what_comes_by_a_proxy_may_show_its_token_in_another_header() -> None:
    async with browser(make_server(guarded=True)) as session:
        proxied = {PROXIED_AUTHORIZATION: "Bearer key"}
        assert (await get(session, "/configz", **proxied))[0] == 200
        # Who shows one of its own is judged by that.
        both = {**proxied, "Authorization": "Bearer other"}
        assert (await get(session, "/configz", **both))[0] == 403


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01 no HTTP at all\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
    ],
)
async def test_requests_that_are_no_http_do_not_fill_the_log(
    request_bytes: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    context = ssl._create_unverified_context()  # noqa: S323 - the server is this test's own
    async with make_server() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context)
        writer.write(request_bytes)
        answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.0 400 ")
    assert caplog.records == []


async def test_failures_of_ours_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(_: web.Request) -> web.Response:
        raise RuntimeError("ours")

    server = make_server()
    server.add_route("GET", "/fails", fail)
    async with browser(server) as session:
        status, _ = await get(session, "/fails")
    assert status == 500
    assert "RuntimeError: ours" in caplog.text


async def test_port_that_is_taken_is_said() -> None:
    async with make_server() as first:
        second = make_server(ServingOptions(bind_address="127.0.0.1", port=first.port))
        with pytest.raises(OSError, match="address already in use"):
            async with second:
                raise AssertionError
        with pytest.raises(RuntimeError, match="not started"):
            _ = second.port


async def test_given_certificate_is_served_and_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeio.serving.RELOAD_INTERVAL_SECONDS", 0.01)
    pem = tmp_path / "tls.pem"
    pem.write_bytes(make_self_signed(("one",)))
    options = ServingOptions(
        bind_address="127.0.0.1", port=0, certificate_file=str(pem), key_file=str(pem)
    )

    async def shown(port: int) -> str:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        await writer.wait_closed()
        return x509.load_der_x509_certificate(der).subject.rfc4514_string()

    async with make_server(options) as server:
        assert await shown(server.port) == "CN=one"
        pem.write_bytes(make_self_signed(("two",)))
        loaded: list[bool] = []
        reload = server._certificate.reload_if_changed
        monkeypatch.setattr(
            server._certificate, "reload_if_changed", lambda: loaded.append(reload())
        )
        await wait_until(lambda: True in loaded, what="certificate read again")
        assert await shown(server.port) == "CN=two"
