"""Calls to the API server by aiohttp: everything but the hot write path.

Each use has connections of its own (`Lane`), so that a Lease renewal never queues
behind a list. aiohttp's defaults are changed where they hurt: no look at the
environment for proxies on every call (a thread hop, 0.5 ms of CPU), no compression
(CPU on both sides, inside a cluster), a time-out on every call, TCP keep-alive, no
redirects.

No write is sent twice, since only the caller knows whether repeating is right, with
one exception: after a 401, which means that nothing was done, the credentials are
read again and the call is made once more if they differ.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from enum import StrEnum
from types import TracebackType
from typing import Final, Self, TypeVar
from urllib.parse import urlencode

import aiohttp
import msgspec
from yarl import URL

from kubeio.credentials import Credentials
from kubeio.errors import (
    KubeError,
    MalformedResponseError,
    RequestTimeoutError,
    from_response,
    shorten,
)
from kubeio.resources import describe_path
from kubeio.response import TRANSPORT_ERROR_CODE, CallObserver, Response, ignore_call
from kubeio.sockets import keepalive_socket
from kubeio.stream import LineStream
from kubeio.transport import never_repeat_writes, translate

T = TypeVar("T")

DEFAULT_TIMEOUT_SECONDS: Final = 30.0
CONNECT_TIMEOUT_SECONDS: Final = 10.0
IDLE_CONNECTION_SECONDS: Final = 60.0
"""Shorter than the API server's 90 s, so that we close an idle connection first."""
STREAM_BUFFER_BYTES: Final = 2**18
_REFUSAL_BYTES: Final = 2**16
JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"


class Lane(StrEnum):
    """A use of the API with connections of its own."""

    READS = "reads"
    WRITES = "writes"
    WATCHES = "watches"
    LEASES = "leases"


_CONNECTION_LIMITS: Final = {Lane.READS: 16, Lane.WRITES: 64, Lane.WATCHES: 0, Lane.LEASES: 2}
"""Connections at once for each lane; 0: as many as are asked for."""


class KubeClient:
    """Talks to one API server; an async context manager that owns its connections.

    Parameters
    ----------
    credentials
        Where and as whom; shared with other clients.
    user_agent
        ``berthmaster/<version> (linux/amd64)``.
    max_body_bytes
        What an answer that is no watch may have; more raises `MalformedResponseError`.
    headers
        Sent with every request, beside our own.
    observe_call
        Told of every call, for metrics.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        user_agent: str,
        headers: Mapping[str, str] | None = None,
        observe_call: CallObserver = ignore_call,
        max_body_bytes: int | None = None,
    ) -> None:
        self.credentials = credentials
        self.user_agent = user_agent
        self._headers = headers or {}
        self._observe_call = observe_call
        self._max_body_bytes = max_body_bytes
        self._sessions: dict[Lane, aiohttp.ClientSession] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; calls under way fail."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        params: Mapping[str, str] | None = None,
        content_type: str = JSON,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        lane: Lane = Lane.READS,
    ) -> Response:
        """Make one call and read its whole answer, whatever its status.

        Parameters
        ----------
        method, path
            The path starts with ``/`` and is escaped already (`ResourcePath`).
        params
            Query, not escaped.
        content_type
            Of `body`.
        timeout_seconds
            From now to the last byte of the answer.

        Raises
        ------
        TransportError
            No complete answer came; the subclass says why.
        """
        started = time.monotonic()
        code = TRANSPORT_ERROR_CODE
        try:
            async with asyncio.timeout(timeout_seconds):
                answer = await self._send(
                    method, path, body=body, params=params, content_type=content_type, lane=lane
                )
                async with answer:
                    content = await _read_all(answer, f"{method} {path}", self._max_body_bytes)
            code = str(answer.status)
        except TimeoutError as error:
            raise RequestTimeoutError(
                f"{method} {path}: no answer within {timeout_seconds:g} s"
            ) from error
        finally:
            self._observe_call(method, describe_path(path), code, time.monotonic() - started)
        return Response(answer.status, answer.raw_headers, content)

    async def call(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        params: Mapping[str, str] | None = None,
        content_type: str = JSON,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        lane: Lane = Lane.READS,
    ) -> Response:
        """Do as `request`, and raise the `ApiError` that a status of 300 or more means."""
        response = await self.request(
            method,
            path,
            body=body,
            params=params,
            content_type=content_type,
            timeout_seconds=timeout_seconds,
            lane=lane,
        )
        if not response.ok:
            raise from_response(
                response.status, response.headers, response.body, request=f"{method} {path}"
            )
        return response

    async def get_json(
        self,
        path: str,
        kind: type[T],
        *,
        params: Mapping[str, str] | None = None,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        lane: Lane = Lane.READS,
    ) -> T:
        """GET and decode into the msgspec type `kind`.

        Raises
        ------
        KubeError
            As `call`; `MalformedResponseError` where the body is no `kind`.
        """
        response = await self.call(
            "GET", path, params=params, timeout_seconds=timeout_seconds, lane=lane
        )
        return decode_body(response, kind, request=f"GET {path}")

    async def send_json(
        self,
        method: str,
        path: str,
        value: object,
        kind: type[T],
        *,
        content_type: str = JSON,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        lane: Lane = Lane.WRITES,
    ) -> T:
        """POST, PUT, PATCH or DELETE `value` as JSON and decode the answer into `kind`."""
        response = await self.call(
            method,
            path,
            body=None if value is None else msgspec.json.encode(value),
            content_type=content_type,
            timeout_seconds=timeout_seconds,
            lane=lane,
        )
        return decode_body(response, kind, request=f"{method} {path}")

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers_timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        idle_timeout_seconds: float,
    ) -> AsyncIterator[LineStream]:
        """GET an answer that comes line by line and may never end: a watch.

        Parameters
        ----------
        headers_timeout_seconds
            For the connection and the answer's headers.
        idle_timeout_seconds
            Longest wait for the next byte; then `WatchSilentError`.

        Raises
        ------
        KubeError
            On entering: no connection, or a status of 300 or more.
        """
        request = f"WATCH {path}"
        started = time.monotonic()
        code = TRANSPORT_ERROR_CODE
        answer = None
        try:
            try:
                async with asyncio.timeout(headers_timeout_seconds):
                    answer = await self._send(
                        "GET", path, params=params, lane=Lane.WATCHES, idle=idle_timeout_seconds
                    )
                    code = str(answer.status)
                    if answer.status != 200:
                        raise await _refusal(answer, request)
            except TimeoutError as error:
                raise RequestTimeoutError(
                    f"{request}: no answer within {headers_timeout_seconds:g} s"
                ) from error
            finally:
                self._observe_call("WATCH", describe_path(path), code, time.monotonic() - started)
            yield LineStream(answer.content, request=request)
        finally:
            if answer is not None:
                _abort(answer)

    async def _send(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        params: Mapping[str, str] | None,
        content_type: str = JSON,
        lane: Lane,
        idle: float | None = None,
    ) -> aiohttp.ClientResponse:
        """Send, and send once more after a 401 if the credentials were renewed."""
        credentials = self.credentials
        await credentials.refresh_if_changed()
        headers = {"Content-Type": content_type} if body is not None else {}
        query = f"{path}?{urlencode(params)}" if params else path
        used = (credentials.authorization, credentials.generation)
        answer = await self._send_once(method, query, body, headers=headers, lane=lane, idle=idle)
        if answer.status == 401 and await credentials.refresh_after_unauthorized(*used):
            answer.close()
            answer = await self._send_once(
                method, query, body, headers=headers, lane=lane, idle=idle
            )
        return answer

    async def _send_once(
        self,
        method: str,
        query: str,
        body: bytes | None,
        *,
        headers: dict[str, str],
        lane: Lane,
        idle: float | None,
    ) -> aiohttp.ClientResponse:
        credentials = self.credentials
        if credentials.authorization:
            headers = {**headers, "Authorization": credentials.authorization}
        try:
            return await self._session(lane).request(
                method,
                URL(credentials.server_url + query, encoded=True),
                data=body,
                headers=headers,
                allow_redirects=False,
                ssl=credentials.ssl_context or True,
                server_hostname=credentials.server_name,
                proxy=credentials.proxy_url,
                timeout=aiohttp.ClientTimeout(sock_connect=CONNECT_TIMEOUT_SECONDS, sock_read=idle),
            )
        except (aiohttp.ClientError, OSError) as error:
            raise translate(error, f"{method} {query}") from error

    def _session(self, lane: Lane) -> aiohttp.ClientSession:
        session = self._sessions.get(lane)
        if session is None:
            session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=_CONNECTION_LIMITS[lane],
                    keepalive_timeout=IDLE_CONNECTION_SECONDS,
                    socket_factory=keepalive_socket,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                middlewares=(never_repeat_writes,),
                headers={
                    "Accept": JSON,
                    "Accept-Encoding": "identity",
                    "User-Agent": self.user_agent,
                    **self._headers,
                },
                read_bufsize=STREAM_BUFFER_BYTES,
                trust_env=False,
            )
            self._sessions[lane] = session
        return session


def decode_body(response: Response, kind: type[T], *, request: str) -> T:
    """Decode a body into `kind`; `MalformedResponseError` where it is none."""
    try:
        return msgspec.json.decode(response.body, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedResponseError(
            f"{request}: HTTP {response.status}, but the body is no {kind.__name__} "
            f"({error}): {shorten(response.body)}"
        ) from error


async def _read_all(answer: aiohttp.ClientResponse, request: str, limit: int | None) -> bytes:
    try:
        if limit is None:
            return await answer.read()
        body = bytearray()
        async for chunk in answer.content.iter_any():
            body += chunk
            if len(body) > limit:
                _abort(answer)
                raise MalformedResponseError(f"{request}: an answer of more than {limit} bytes")
        return bytes(body)
    except (aiohttp.ClientError, OSError) as error:
        raise translate(error, request) from error


async def _refusal(answer: aiohttp.ClientResponse, request: str) -> KubeError:
    """Make the error that an answer to a watch means when it is not 200."""
    try:
        body = await answer.content.read(_REFUSAL_BYTES)
    except (aiohttp.ClientError, OSError) as error:
        return translate(error, request)
    headers = Response(answer.status, answer.raw_headers, b"").headers
    return from_response(answer.status, headers, body, request=request)


def _abort(answer: aiohttp.ClientResponse) -> None:
    """End a watch at once: a farewell in TLS would outlive the event loop, and leak the socket."""
    connection = answer.connection
    if connection is not None and isinstance(connection.transport, asyncio.Transport):
        connection.transport.abort()
    answer.close()
