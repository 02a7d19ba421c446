"""A listening socket with limits: so many connections, so long until a request.

aiohttp's sites have none: whoever holds all connections, be it by half a request, keeps the
probes out. Each idle TLS connection costs 50 KiB, on asyncio's own loop 280 KiB unless
`shrink_tls_buffers` was called.

Source: apiserver/pkg/server/secure_serving.go (``IdleTimeout``), v0.36.3.
"""

import asyncio
import ssl
from asyncio import sslproto
from typing import Final, NamedTuple

from aiohttp import web
from aiohttp.typedefs import Handler

MAX_CONNECTIONS: Final = 256
FIRST_REQUEST_SECONDS: Final = 10.0
IDLE_SECONDS: Final = 90.0
_TLS_BUFFER_BYTES: Final = 2**15
"""Two records of TLS."""


def shrink_tls_buffers() -> None:
    """Have asyncio's TLS connections of this process read into 32 KiB, not 256, each its own."""
    sslproto.SSLProtocol.max_size = _TLS_BUFFER_BYTES


class _Refusal(asyncio.Protocol):
    """Hangs up: there are too many already."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            transport.abort()


class LimitedSite(web.BaseSite):
    """Serves a runner's application on one address.

    `first_request_seconds` is for a connection's TLS handshake, and then for the head of
    its first request; `idle_seconds` is from the end of one to the head of the next. The
    application needs `note_request` among its middlewares.
    """

    def __init__(
        self,
        runner: web.AppRunner,
        host: str,
        port: int,
        *,
        ssl_context: ssl.SSLContext,
        max_connections: int = MAX_CONNECTIONS,
        first_request_seconds: float = FIRST_REQUEST_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        super().__init__(runner, ssl_context=ssl_context)
        self._host = host
        self._port = port
        self._max_connections = max_connections
        self._first_request_seconds = first_request_seconds
        self._idle_seconds = idle_seconds
        self._sweep_seconds = min(first_request_seconds, idle_seconds) / 2
        self._sweeping: asyncio.TimerHandle | None = None

    @property
    def name(self) -> str:
        """Where it listens."""
        return f"https://{self._host}:{self._port}"

    async def start(self) -> None:
        """Listen. Raises `OSError` where the address is taken."""
        await super().start()
        self._server = await asyncio.get_running_loop().create_server(
            self._make_protocol,
            self._host,
            self._port,
            ssl=self._ssl_context,
            ssl_handshake_timeout=self._first_request_seconds,
            backlog=self._backlog,
        )
        self._sweep()

    async def stop(self) -> None:
        """Listen no more."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        await super().stop()

    def _make_protocol(self) -> asyncio.Protocol:
        server = self._runner.server
        if server is None or len(server.connections) >= self._max_connections:
            return _Refusal()
        protocol: asyncio.Protocol = server()
        # Twice: the handshake's time is not the request's.
        grace_seconds = 2 * self._first_request_seconds - self._idle_seconds
        idle_since = asyncio.get_running_loop().time() + grace_seconds
        _connections[protocol] = _Idle(idle_since, has_asked=False)
        return protocol

    def _sweep(self) -> None:
        """End the connections that have asked for nothing for too long; forget those that ended."""
        loop = asyncio.get_running_loop()
        self._sweeping = loop.call_later(self._sweep_seconds, self._sweep)
        for protocol, idle in list(_connections.items()):
            transport = getattr(protocol, "transport", None)
            is_over = loop.time() >= idle.since + self._idle_seconds
            # Until its handshake is done a connection has no transport.
            if is_over or (idle.has_asked and transport is None):
                del _connections[protocol]
                if transport is not None:
                    transport.abort()


class _Idle(NamedTuple):
    """Since when a connection asks for nothing, in the loop's time."""

    since: float
    has_asked: bool


# Those that are asking for nothing at the moment.
_connections: Final[dict[asyncio.BaseProtocol, _Idle]] = {}


@web.middleware
async def note_request(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Remember that a connection asks for something, and until when (a middleware)."""
    _connections.pop(request.protocol, None)
    try:
        return await handler(request)
    finally:
        if request.transport is not None:
            now = asyncio.get_running_loop().time()
            _connections[request.protocol] = _Idle(now, has_asked=True)
