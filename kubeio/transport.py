"""aiohttp's errors in our terms, and a habit of it that writes must not have."""

import re
from typing import Final

import aiohttp

from kubeio.errors import (
    ConnectionFailedError,
    ConnectionLostError,
    KubeError,
    MalformedResponseError,
    RequestTimeoutError,
    shorten,
)

_TLS_CONTEXT: Final = re.compile(r" ssl:(<[^>]*>|\w+)")
"""What aiohttp adds to every failed connection: an object's address in memory."""


class _ConnectionDiedError(aiohttp.ClientError):
    """Stands for errors after which aiohttp would repeat a PUT or DELETE."""


async def never_repeat_writes(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keep aiohttp from sending a PUT or DELETE twice when a used connection dies.

    It counts them as idempotent; but a Lease's PUT that was carried out is a conflict
    the second time. Only its callers know what to do.
    """
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        if request.method in ("PUT", "DELETE"):
            raise _ConnectionDiedError(str(error)) from error
        raise


def words_of(text: str) -> str:
    """Give what aiohttp says of an error, on one line, without what means nothing to people."""
    return shorten(_TLS_CONTEXT.sub("", text))


def translate(error: aiohttp.ClientError | OSError, request: str) -> KubeError:
    """Say in our terms what aiohttp reports."""
    text = f"{request}: {words_of(str(error)) or type(error).__name__}"
    match error:
        case (
            aiohttp.ClientConnectorError()
            | aiohttp.ConnectionTimeoutError()
            | aiohttp.ClientHttpProxyError()
        ):
            return ConnectionFailedError(text)
        case TimeoutError():
            return RequestTimeoutError(text)
        case aiohttp.ClientResponseError():
            return MalformedResponseError(text)
        case _:
            return ConnectionLostError(text)
