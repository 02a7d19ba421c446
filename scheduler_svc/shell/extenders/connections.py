"""Connections to one extender: kept while they are in use, each for one question at a time.

aiohttp takes several times the CPU for a question, and two of them are asked for each Pod.
"""

import asyncio
import base64
import ssl
from typing import Final, NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit

from kubeio.connection import Connection
from kubeio.errors import ConnectionFailedError
from kubeio.response import Response

IDLE_SECONDS: Final = 15.0
"""An older connection is likely to be hung up on just now."""
BODY_LIMIT_BYTES: Final = 2**30
"""An answer may be all Nodes of a large cluster."""

_PORTS: Final = {"http": 80, "https": 443}
_KEPT_IN_PATHS: Final = "/%:@!$&'()*+,;=~"


class _Address(NamedTuple):
    """Where a URL leads to: `host` as in the header; `authorization` is that header's line."""

    hostname: str
    port: int
    is_tls: bool
    host: str
    target: str
    authorization: str


class ExtenderConnections:
    """Sends questions; `server_name` is expected in the certificate, if not the host's."""

    def __init__(self, context: ssl.SSLContext, server_name: str | None) -> None:
        self._context = context
        self._server_name = server_name
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()

    async def close(self) -> None:
        """Close all connections; questions under way are given up."""
        self._idle.clear()
        connections = list(self._open)
        for connection in connections:
            connection.abort(ConnectionFailedError(f"{connection.request}: we are closing"))
        if connections:
            await asyncio.wait([connection.closed for connection in connections])

    async def post(self, url: str, body: bytes, request: str) -> Response:
        """POST JSON to a URL and give the whole answer; `request` names it in errors.

        Raises
        ------
        ConnectionFailedError
            No connection could be made.
        ConnectionLostError
            It ended without an answer.
        MalformedResponseError
            The answer is no HTTP.
        ValueError
            The URL is none.
        """
        address = _address_of(url)
        connection = self._take_idle() or await self._connect(address, request)
        try:
            return await connection.send(_message(address, body), request)
        finally:
            if connection.is_usable():
                connection.idle_since = asyncio.get_running_loop().time()
                self._idle.append(connection)
            else:
                connection.abort()  # hung up, or its answer is still to come

    def _take_idle(self) -> Connection | None:
        oldest = asyncio.get_running_loop().time() - IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable() and connection.idle_since >= oldest:
                return connection
            connection.abort()
        return None

    async def _connect(self, address: _Address, request: str) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(
                lambda: Connection(loop, generation=0, body_limit_bytes=BODY_LIMIT_BYTES),
                address.hostname,
                address.port,
                ssl=self._context if address.is_tls else None,
                server_hostname=(self._server_name or address.hostname) if address.is_tls else None,
            )
        except OSError as error:  # ssl.SSLError is one
            where = f"{address.hostname}:{address.port}"
            raise ConnectionFailedError(f"{request}: cannot connect to {where}: {error}") from error
        self._open.add(connection)
        connection.closed.add_done_callback(lambda _: self._open.discard(connection))
        return connection


def _address_of(url: str) -> _Address:
    parts = urlsplit(url)
    hostname, port = parts.hostname or "", parts.port
    if parts.scheme not in _PORTS or not hostname:
        raise ValueError("no http:// or https:// URL with a host")
    host = parts.netloc.rpartition("@")[2]
    target = quote(parts.path, safe=_KEPT_IN_PATHS)
    if parts.query:
        target += f"?{quote(parts.query, safe=f'{_KEPT_IN_PATHS}?')}"
    return _Address(
        hostname,
        _PORTS[parts.scheme] if port is None else port,
        parts.scheme == "https",
        host if host.isascii() else host.encode("idna").decode("ascii"),
        target,
        _authorization_of(parts),
    )


def _authorization_of(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Authorization: Basic {base64.b64encode(login.encode()).decode('ascii')}\r\n"


def _message(address: _Address, body: bytes) -> bytes:
    head = (
        f"POST {address.target} HTTP/1.1\r\nHost: {address.host}\r\n{address.authorization}"
        "Accept: application/json\r\nAccept-Encoding: identity\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body
