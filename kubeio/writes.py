"""The hot write path: POST and PATCH over keep-alive connections of our own.

aiohttp needs 204 µs of CPU for a Binding, a bare `asyncio.Protocol` with httptools'
parser 32; a scheduler makes several writes for each Pod. So here is a small HTTP/1.1
client that can do just that: one request at a time on each connection, the most
recently used connection first, header bytes made once, one timer for all requests.

Nothing is sent twice behind the caller's back. A connection that is found dead before
the first byte is replaced; after it, `ConnectionLostError` or `RequestTimeoutError`
says that the request may have been carried out. Only a 401, which proves that it was
not, is repeated, once, if reading the credentials again has changed them.
"""

import asyncio
import re
import time
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

from kubeio.connection import Connection
from kubeio.credentials import Credentials
from kubeio.errors import (
    ConnectionFailedError,
    ConnectionLostError,
    NotSentError,
    RequestTimeoutError,
)
from kubeio.login import KubeConfigError
from kubeio.response import TRANSPORT_ERROR_CODE, CallObserver, Response, ignore_call

DEFAULT_TIMEOUT_SECONDS: Final = 30.0
CONNECT_TIMEOUT_SECONDS: Final = 10.0
IDLE_CONNECTION_SECONDS: Final = 60.0
"""Shorter than the API server's 90 s, so that we hang up first and no request is
written into a connection that is just being closed."""
JSON: Final = "application/json"
_PATH: Final = re.compile(r"/[!-~]*")
_CONNECT_ATTEMPTS: Final = 2


class WritePool:
    """A pool of connections for writes; an async context manager.

    How many are used at once is up to the caller: a connection is made whenever none
    is idle.

    Parameters
    ----------
    credentials
        Where and as whom; http:// (``kubectl proxy``) works too, ``proxy-url`` does not.
    user_agent
        ``berthmaster/<version> (linux/amd64)``.
    timeout_seconds
        For one request, from the call to the last byte of the answer.
    observe_call
        Told of every request, for metrics.

    Raises
    ------
    KubeConfigError
        Where the kubeconfig names a ``proxy-url``.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        user_agent: str,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        observe_call: CallObserver = ignore_call,
    ) -> None:
        if credentials.proxy_url is not None:
            raise KubeConfigError(
                f"proxy-url {credentials.proxy_url}: writes cannot go through a proxy; "
                "use a kubeconfig whose server can be reached directly"
            )
        self._credentials = credentials
        self._user_agent = user_agent
        self._timeout = timeout_seconds
        self._observe_call = observe_call
        self._connections: set[Connection] = set()
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._heads: dict[tuple[str, str], bytes] = {}
        self._heads_made_for: tuple[str, str | None] = ("", None)
        self._prefix = ""

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
        """Close all connections; requests under way fail."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        connections = list(self._connections)
        for connection in connections:
            if connection in self._busy:
                connection.abort(
                    ConnectionLostError(f"{connection.request}: the client is shutting down")
                )
            else:
                connection.abort()
        if connections:
            await asyncio.wait([connection.closed for connection in connections])

    async def post(
        self,
        path: str,
        body: bytes,
        *,
        resource: str,
        content_type: str = JSON,
        timeout_seconds: float | None = None,
        may_send: Callable[[], bool] | None = None,
    ) -> Response:
        """POST; as `request`."""
        return await self.request(
            "POST",
            path,
            body,
            resource=resource,
            content_type=content_type,
            timeout_seconds=timeout_seconds,
            may_send=may_send,
        )

    async def patch(
        self,
        path: str,
        body: bytes,
        *,
        resource: str,
        content_type: str,
        timeout_seconds: float | None = None,
    ) -> Response:
        """PATCH; as `request`."""
        return await self.request(
            "PATCH",
            path,
            body,
            resource=resource,
            content_type=content_type,
            timeout_seconds=timeout_seconds,
        )

    async def request(
        self,
        method: str,
        path: str,
        body: bytes,
        *,
        resource: str,
        content_type: str = JSON,
        timeout_seconds: float | None = None,
        may_send: Callable[[], bool] | None = None,
    ) -> Response:
        """Send one request and wait for its whole answer, whatever its status.

        Parameters
        ----------
        path
            Escaped already, with the query if any.
        resource
            For `observe_call`: ``pods/binding``.
        timeout_seconds
            None for the pool's.
        may_send
            Asked just before the first byte, when a connection is there.

        Raises
        ------
        ConnectionFailedError
            No connection could be made; nothing was sent.
        NotSentError
            `may_send` said no; nothing was sent.
        ConnectionLostError, RequestTimeoutError
            The request may have been carried out (`sent`).
        MalformedResponseError
            The answer is no HTTP; likewise.
        """
        loop = asyncio.get_running_loop()
        credentials = self._credentials
        request = f"{method} {path}"
        started = time.monotonic()
        deadline = loop.time() + (self._timeout if timeout_seconds is None else timeout_seconds)
        code = TRANSPORT_ERROR_CODE
        try:
            if credentials.check_is_due():
                await credentials.refresh_if_changed()
            used = (credentials.authorization, credentials.generation)
            message = self._message(method, path, body, content_type)
            response = await self._exchange(request, message, deadline, may_send)
            if response.status == 401 and await credentials.refresh_after_unauthorized(*used):
                message = self._message(method, path, body, content_type)
                response = await self._exchange(request, message, deadline, may_send)
            code = str(response.status)
            return response
        finally:
            self._observe_call(method, resource, code, time.monotonic() - started)

    async def _exchange(
        self,
        request: str,
        message: bytes,
        deadline: float,
        may_send: Callable[[], bool] | None,
    ) -> Response:
        connection = self._take_idle() or await self._open(deadline)
        connection.deadline = deadline
        self._busy.add(connection)
        self._watch_deadline(deadline)
        try:
            if may_send is not None and not may_send():
                raise NotSentError(f"{request}: no longer wanted, and not sent")
            return await connection.send(message, request)
        finally:
            self._busy.discard(connection)
            self._give_back(connection)

    def _take_idle(self) -> Connection | None:
        """Take the connection that was idle for the shortest time, if one is good."""
        generation = self._credentials.generation
        oldest = asyncio.get_running_loop().time() - IDLE_CONNECTION_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if (
                connection.is_usable()
                and connection.generation == generation
                and connection.idle_since >= oldest
            ):
                return connection
            connection.abort()
        return None

    def _give_back(self, connection: Connection) -> None:
        if connection.is_usable():
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.abort()  # hung up, or its answer is still to come

    async def _open(self, deadline: float) -> Connection:
        credentials = self._credentials
        server = urlsplit(credentials.server_url)
        loop = asyncio.get_running_loop()
        context, generation = credentials.ssl_context, credentials.generation
        for _ in range(_CONNECT_ATTEMPTS):
            try:
                async with asyncio.timeout_at(min(deadline, loop.time() + CONNECT_TIMEOUT_SECONDS)):
                    _, connection = await loop.create_connection(
                        lambda: Connection(loop, generation=generation),
                        server.hostname or "",
                        server.port or (443 if context else 80),
                        ssl=context,
                        server_hostname=(credentials.server_name or server.hostname)
                        if context
                        else None,
                    )
            except OSError as error:  # TimeoutError and ssl.SSLError are such
                raise ConnectionFailedError(
                    f"cannot connect to {credentials.server_url}: {str(error) or 'timed out'}"
                ) from error
            if connection.is_usable():
                self._connections.add(connection)
                connection.closed.add_done_callback(partial(self._forget, connection))
                return connection
            connection.abort()
        raise ConnectionFailedError(f"{credentials.server_url} hangs up on every connection")

    def _forget(self, connection: Connection, _: asyncio.Future[None]) -> None:
        self._connections.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def _watch_deadline(self, deadline: float) -> None:
        """Have one timer at the earliest deadline of all requests under way.

        Deadlines come mostly in order, so the timer is hardly ever moved: a timer for
        each request would cost more than parsing its answer.
        """
        timer = self._timer
        if timer is not None:
            if timer.when() <= deadline:
                return
            timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for connection in [busy for busy in self._busy if busy.deadline <= now]:
            connection.abort(RequestTimeoutError(f"{connection.request}: no answer in time"))
            self._busy.discard(connection)
        if self._busy:
            self._watch_deadline(min(connection.deadline for connection in self._busy))

    def _message(self, method: str, path: str, body: bytes, content_type: str) -> bytes:
        if not _PATH.fullmatch(path):
            raise ValueError(f"not an escaped path: {path!r}")
        made_for = (self._credentials.server_url, self._credentials.authorization)
        if made_for != self._heads_made_for:
            self._heads = {}
            self._heads_made_for = made_for
            self._prefix = urlsplit(made_for[0]).path.rstrip("/")
        head = self._heads.get((method, content_type))
        if head is None:
            head = self._heads[method, content_type] = self._make_head(content_type)
        start = f"{method} {self._prefix}{path} ".encode("ascii")
        return b"%b%b%d\r\n\r\n%b" % (start, head, len(body), body)

    def _make_head(self, content_type: str) -> bytes:
        """Make everything from the HTTP version to the length of the body."""
        server_url, authorization = self._heads_made_for
        headers = [
            f"Host: {urlsplit(server_url).netloc.rpartition('@')[2]}",
            f"User-Agent: {self._user_agent}",
            "Accept: application/json",
            "Accept-Encoding: identity",
        ]
        if authorization:
            headers.append(f"Authorization: {authorization}")
        headers += [f"Content-Type: {content_type}", "Content-Length: "]
        return ("HTTP/1.1\r\n" + "\r\n".join(headers)).encode("latin-1")
