"""The hot write path: POST and PATCH over keep-alive connections of our own.

aiohttp needs 204 µs of CPU for a Binding, a bare `asyncio.Protocol` with httptools'
parser 32; a scheduler makes several writes for each Pod. So here is a small HTTP/1.1
client that can do just that: one request at a time on each connection, the most
recently used connection first, header bytes made once.

Never sent twice behind the caller's back: a connection that is found dead before the
first byte is replaced; after it, `ConnectionLostError` or `RequestTimeoutError` says
that the request may have been carried out. Only a 401, which proves that it was not,
is repeated once with credentials read again.
"""

from types import TracebackType
from typing import Final, Self

from kubeio.credentials import Credentials
from kubeio.response import CallObserver, Response, ignore_call

DEFAULT_TIMEOUT_SECONDS: Final = 30.0
JSON: Final = "application/json"


class WritePool:
    """A pool of connections for writes; an async context manager.

    How many are used at once is up to the caller: a connection is made whenever none
    is idle.

    Parameters
    ----------
    credentials
        Where and as whom; http:// (``kubectl proxy``) works too.
    user_agent
        ``berthmaster/<version> (linux/amd64)``.
    timeout_seconds
        For one request, from the call to the last byte of the answer.
    observe_call
        Told of every request, for metrics.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        user_agent: str,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        observe_call: CallObserver = ignore_call,
    ) -> None:
        raise NotImplementedError

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
        raise NotImplementedError

    async def post(
        self,
        path: str,
        body: bytes,
        *,
        resource: str,
        content_type: str = JSON,
        timeout_seconds: float | None = None,
    ) -> Response:
        """POST; as `request`."""
        return await self.request(
            "POST",
            path,
            body,
            resource=resource,
            content_type=content_type,
            timeout_seconds=timeout_seconds,
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

        Raises
        ------
        ConnectionFailedError
            No connection could be made; nothing was sent.
        ConnectionLostError, RequestTimeoutError
            The request may have been carried out (`sent`).
        MalformedResponseError
            The answer is no HTTP; likewise.
        """
        raise NotImplementedError
