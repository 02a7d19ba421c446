"""One HTTP/1.1 connection that carries one request at a time, as a bare Protocol.

httptools' parser frames the answers; this class says what an ending of the connection
means for the request under way. It knows no pool, no time and no credentials.
"""

import asyncio
from typing import Final, cast

import httptools

from kubeio.errors import ConnectionLostError, KubeError, MalformedResponseError
from kubeio.response import Response
from kubeio.sockets import set_keepalive

BODY_LIMIT_BYTES: Final = 16 * 2**20
"""Answers to writes are objects or Statuses; a longer one is refused, if nothing else is said."""


class Connection(asyncio.Protocol):
    """Sends a request, gives the future of its answer, and may then be used again.

    Attributes
    ----------
    request
        The one under way or the last one, for messages.
    generation
        Of the TLS context it was made with (`Credentials.generation`).
    idle_since
        Loop time of the last answer; set by the pool.
    deadline
        Loop time by which the request under way must be answered; set by the pool.
    closed
        Done once nothing more can happen on it.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        generation: int,
        body_limit_bytes: int | None = None,
    ) -> None:
        self._loop = loop
        self._body_limit_bytes = body_limit_bytes or BODY_LIMIT_BYTES
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._waiter: asyncio.Future[Response] | None = None
        self._raw_headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._has_headers = False
        self._keeps_alive = True
        self.request = ""
        self.generation = generation
        self.idle_since = 0.0
        self.deadline = 0.0
        self.closed: asyncio.Future[None] = loop.create_future()

    def is_usable(self) -> bool:
        """Tell whether a request can be sent now."""
        transport = self._transport
        return (
            self._keeps_alive
            and self._waiter is None
            and transport is not None
            and not transport.is_closing()
        )

    def send(self, message: bytes, request: str) -> asyncio.Future[Response]:
        """Send a whole request; the connection must be usable.

        The future fails with a `KubeError` if no whole answer comes.
        """
        self._raw_headers, self._body, self._body_bytes = [], [], 0
        self._has_headers = False
        self.request = request
        self._waiter = waiter = self._loop.create_future()
        cast("asyncio.Transport", self._transport).write(message)
        return waiter

    def abort(self, error: KubeError | None = None) -> None:
        """Drop the connection at once; a request under way fails with `error`."""
        if error is not None:
            self._fail(error)
        self._waiter = None
        self._keeps_alive = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = cast("asyncio.Transport", transport)
        set_keepalive(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        """Feed the parser; its callbacks below collect the answer."""
        if self._waiter is None:
            # Nothing was asked: a 408 before the server hangs up, or worse.
            self.abort()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.abort(
                MalformedResponseError(f"{self.request}: the answer is no HTTP/1.1: {error!r}")
            )

    def connection_lost(self, exc: Exception | None) -> None:
        """Settle the request under way, if there is one."""
        self._keeps_alive = False
        if self._waiter is not None and exc is None and self._body_ends_with_connection():
            self.on_message_complete()
        why = f": {exc}" if exc else ""
        self._fail(
            ConnectionLostError(f"{self.request}: the connection ended without an answer{why}")
        )
        if not self.closed.done():
            self.closed.set_result(None)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect a header (parser callback)."""
        self._raw_headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Note that only the body is missing (parser callback)."""
        self._has_headers = True

    def on_body(self, body: bytes) -> None:
        """Collect a piece of the body (parser callback)."""
        self._body.append(body)
        self._body_bytes += len(body)
        limit_bytes = self._body_limit_bytes
        if self._body_bytes > limit_bytes:
            self.abort(
                MalformedResponseError(f"{self.request}: a body of more than {limit_bytes} bytes")
            )

    def on_message_complete(self) -> None:
        """Hand out the answer (parser callback)."""
        status = self._parser.get_status_code()
        headers, self._raw_headers = self._raw_headers, []
        self._has_headers = False
        if status < 200:
            return  # an interim answer; the real one follows
        self._keeps_alive = self._keeps_alive and self._parser.should_keep_alive()
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(Response(status, headers, b"".join(self._body)))

    def _body_ends_with_connection(self) -> bool:
        if not self._has_headers:
            return False
        names = {name.lower() for name, _ in self._raw_headers}
        return not names & {b"content-length", b"transfer-encoding"}

    def _fail(self, error: KubeError) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
