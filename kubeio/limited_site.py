"""A listening socket with limits: so many connections, so long until the first request.

aiohttp's sites have neither, and each idle TLS connection costs 50 KiB.
"""

import asyncio
import ssl
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

MAX_CONNECTIONS: Final = 256
FIRST_REQUEST_SECONDS: Final = 10.0


class _Refusal(asyncio.Protocol):
    """Hangs up: there are too many already."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            transport.abort()


class LimitedSite(web.BaseSite):
    """Serves a runner's application on one address.

    `first_request_seconds` is for a connection's TLS handshake, and then for the head of
    its first request. The application needs `note_request` among its middlewares.
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
    ) -> None:
        super().__init__(runner, ssl_context=ssl_context)
        self._host = host
        self._port = port
        self._max_connections = max_connections
        self._first_request_seconds = first_request_seconds

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

    def _make_protocol(self) -> asyncio.Protocol:
        server = self._runner.server
        if server is None or len(server.connections) >= self._max_connections:
            return _Refusal()
        protocol: asyncio.Protocol = server()
        _silent.add(protocol)
        # Twice: the handshake's time is not the request's.
        loop = asyncio.get_running_loop()
        loop.call_later(2 * self._first_request_seconds, _end_if_silent, protocol)
        return protocol


# Connections that have asked for nothing yet. A timer takes each out, at the latest.
_silent: Final[set[asyncio.BaseProtocol]] = set()


@web.middleware
async def note_request(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Remember that a connection has asked for something (a middleware)."""
    _silent.discard(request.protocol)
    return await handler(request)


def _end_if_silent(protocol: asyncio.Protocol) -> None:
    transport = getattr(protocol, "transport", None)
    if protocol in _silent and transport is not None:
        transport.abort()
    _silent.discard(protocol)
