"""The HTTPS server of a daemon: probes, metrics, effective configuration.

Same paths, texts and status codes as kube-scheduler's, so that probes, scrape
configurations and dashboards written for it work. Probes are open to all; everything
else asks the `Authorizer`, if there is one. ``/metrics`` is rendered in a thread, since
ten microseconds a line would hold the event loop for tens of milliseconds.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from kubeio.access import Authorizer
from kubeio.certificates import ServingCertificate, host_names
from kubeio.health import Check, HealthChecks, Verdict
from kubeio.limited_site import LimitedSite, note_request
from kubeio.pod_proxy import PROXIED_AUTHORIZATION
from kubeio.serving_options import ServingOptions

RELOAD_INTERVAL_SECONDS: Final = 10.0
SHUTDOWN_SECONDS: Final = 2.0
"""How long answers that were begun may take once the server stops; then they are broken off."""
_CANCELLATION_SECONDS: Final = 1.0

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class HttpsServer:
    """Serves from entering the context to leaving it.

    Parameters
    ----------
    options
        Address and certificate.
    registry
        What ``/metrics`` shows.
    configz
        Gives what ``/configz`` shows: a value that msgspec can encode as JSON.
    authorizer
        Guards all but the probes; None lets everybody in.

    Raises
    ------
    CertificateError
        Where the given files cannot be served with.
    OSError
        On entering, where the port is taken.
    """

    def __init__(
        self,
        options: ServingOptions,
        *,
        registry: CollectorRegistry,
        configz: Callable[[], object],
        authorizer: Authorizer | None = None,
    ) -> None:
        self._options = options
        self._registry = registry
        self._configz = configz
        self._authorizer = authorizer
        self._certificate = ServingCertificate(
            options.certificate_file,
            options.key_file,
            names=host_names(options.bind_address),
            makes_apart=options.makes_certificate_apart,
        )
        self._checks = {name: HealthChecks(name) for name in ("healthz", "livez", "readyz")}
        self._app = web.Application(middlewares=[self._note_answer, note_request])
        self._app.on_response_prepare.append(_set_headers)
        for endpoint, checks in self._checks.items():
            self._app.router.add_get(f"/{endpoint}", _handle_all(checks))
            self._app.router.add_get(f"/{endpoint}/{{check:.+}}", _handle_one(checks))
        self.add_route("GET", "/metrics", self._serve_metrics)
        self.add_route("GET", "/configz", self._serve_configz)
        self._runner: web.AppRunner | None = None
        self._answering: set[asyncio.Task[None]] = set()
        self._is_stopping = False
        self._reloading: asyncio.Task[None] | None = None

    def add_check(
        self, name: str, check: Check, *, healthz: bool = False, livez: bool = False
    ) -> None:
        """Add a named check to ``/readyz``, and to ``/healthz`` and ``/livez`` if asked."""
        self._checks["readyz"].add(name, check)
        if healthz:
            self._checks["healthz"].add(name, check)
        if livez:
            self._checks["livez"].add(name, check)

    def add_route(self, method: str, path: str, handler: Handler) -> None:
        """Add a guarded route, before the server starts."""
        self._app.router.add_route(method, path, self._guard(handler))

    @property
    def port(self) -> int:
        """The port listened on; after entering the context."""
        if self._runner is None:
            raise RuntimeError("the server has not started")
        return int(self._runner.addresses[0][1])

    async def __aenter__(self) -> Self:
        runner = web.AppRunner(
            self._app,
            access_log=None,
            logger=_http_logger(),
            handle_signals=False,
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        await runner.setup()
        try:
            await LimitedSite(
                runner,
                self._options.bind_address,
                self._options.port,
                ssl_context=self._certificate.context,
            ).start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        self._reloading = asyncio.create_task(self._reload_certificate())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._reloading is not None:
            self._reloading.cancel()
        if self._runner is not None:
            await self._end_answers(self._runner)
            await self._runner.cleanup()

    async def _end_answers(self, runner: web.AppRunner) -> None:
        """Take no more requests, and let the answers that were begun come to an end.

        aiohttp would wait for them, too, but on a future that it cancels after its time-out and
        that an answer sets which comes in the same turn of the loop: each such answer is then
        logged as an InvalidStateError. So there is none left when aiohttp looks.
        """
        self._is_stopping = True
        for site in runner.sites:
            await site.stop()
        await asyncio.sleep(0)  # what has been read already is begun
        if runner.server is not None:
            runner.server.pre_shutdown()  # each connection ends after the answer it gives
        if self._answering:
            await asyncio.wait(self._answering, timeout=SHUTDOWN_SECONDS)
        for late in self._answering:
            late.cancel()
        if self._answering:
            await asyncio.wait(self._answering, timeout=_CANCELLATION_SECONDS)

    @web.middleware
    async def _note_answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Know the task of each answer, until its last byte is written."""
        if self._is_stopping:
            return web.Response(status=503, text="stopping\n")
        task: asyncio.Task[None] | None = asyncio.current_task()
        if task is not None:
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        return await handler(request)

    async def _reload_certificate(self) -> None:
        while True:
            await asyncio.sleep(RELOAD_INTERVAL_SECONDS)
            self._certificate.reload_if_changed()

    def _guard(self, handler: Handler) -> Handler:
        async def guarded(request: web.Request) -> web.StreamResponse:
            if self._authorizer is not None:
                shown = request.headers.get("Authorization")
                shown = shown or request.headers.get(PROXIED_AUTHORIZATION)
                refusal = await self._authorizer.refusal(
                    shown, request.path, request.method.lower()
                )
                if refusal is not None:
                    return web.Response(status=refusal.status, text=f"{refusal.message}\n")
            return await handler(request)

        return guarded

    async def _serve_metrics(self, request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        body = await asyncio.to_thread(encode, self._registry)
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def _serve_configz(self, _: web.Request) -> web.Response:
        body = msgspec.json.encode(self._configz())
        return web.Response(body=body, content_type="application/json")


def _http_logger() -> logging.Logger:
    """Give aiohttp's log of the server, without what is only the client's mistake."""
    logger = logging.getLogger(f"{__name__}.http")
    logger.addFilter(_is_ours)
    return logger


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether a line tells of a failure here: whoever sends no HTTP has had a 400 for it."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError)


def _handle_all(checks: HealthChecks) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        return _answer(
            checks.run_all(
                verbose="verbose" in request.query, excluded=request.query.getall("exclude", [])
            )
        )

    return handle


def _handle_one(checks: HealthChecks) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        verdict = checks.run_one(request.match_info["check"])
        return _answer(verdict) if verdict else web.Response(status=404, text="404 not found\n")

    return handle


def _answer(verdict: Verdict) -> web.Response:
    return web.Response(status=200 if verdict.is_healthy else 500, text=verdict.text)


async def _set_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.popall("Server", None)  # it names versions
    response.headers["X-Content-Type-Options"] = "nosniff"
