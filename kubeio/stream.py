"""Lines of an answer that may never end.

Lines are cut out of whole chunks, so that a burst of events costs one wait for all
of them and a line may be longer than any buffer.
"""

import time
from collections.abc import Callable
from typing import Final, Protocol

import aiohttp

from kubeio.errors import (
    ConnectionLostError,
    MalformedResponseError,
    WatchSilentError,
    shorten,
)

LINE_LIMIT_BYTES: Final = 64 * 2**20
"""A longer line is refused. etcd's default limit of an object is 1.5 MiB."""


class Chunks(Protocol):
    """Where bytes come from: `aiohttp.StreamReader`."""

    async def readany(self) -> bytes:
        """Wait for some bytes; none at the end."""


class LineStream:
    """Complete lines, as many at a time as have come.

    Parameters
    ----------
    content
        The answer's body.
    request
        What was asked, for messages.
    clock
        Monotonic seconds, for `last_byte_at`.
    """

    def __init__(
        self,
        content: Chunks,
        *,
        request: str,
        line_limit_bytes: int = LINE_LIMIT_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._content = content
        self._request = request
        self._limit = line_limit_bytes
        self._clock = clock
        self._start_of_line: list[bytes] = []
        self._start_bytes = 0
        self.last_byte_at = clock()

    async def read_lines(self) -> list[bytes]:
        """Wait for at least one complete line; an empty list means a clean end.

        Raises
        ------
        WatchSilentError
            Nothing came for the idle time-out.
        ConnectionLostError
            The connection broke, or the answer ended inside a line.
        MalformedResponseError
            A line is longer than the limit.
        """
        while True:
            chunk = await self._read_chunk()
            if not chunk:
                if self._start_bytes:
                    raise ConnectionLostError(f"{self._request}: the stream ended inside a line")
                return []
            self.last_byte_at = self._clock()
            lines = chunk.split(b"\n")
            rest = lines.pop()
            if lines and self._start_of_line:
                self._start_of_line.append(lines[0])
                lines[0] = b"".join(self._start_of_line)
                self._start_of_line, self._start_bytes = [], 0
            if rest:
                self._start_of_line.append(rest)
                self._start_bytes += len(rest)
            self._check_length(self._start_bytes)
            if lines:
                return lines

    async def _read_chunk(self) -> bytes:
        try:
            return await self._content.readany()
        except aiohttp.SocketTimeoutError as error:
            raise WatchSilentError(
                f"{self._request}: the connection has been silent for too long"
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            raise ConnectionLostError(
                f"{self._request}: the connection broke: {shorten(str(error)) or repr(error)}"
            ) from error

    def _check_length(self, length: int) -> None:
        if length > self._limit:
            raise MalformedResponseError(
                f"{self._request}: a line is longer than {self._limit} bytes"
            )
