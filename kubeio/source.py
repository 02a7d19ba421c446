"""What a reflector reads from, and how long it waits for it."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from kubeio.backoff import FIRST_SECONDS, LIMIT_SECONDS
from kubeio.response import Response


class Lines(Protocol):
    """What a watch is read from: `kubeio.stream.LineStream`."""

    async def read_lines(self) -> list[bytes]:
        """Give the lines that have come; none at the end."""


class ReflectorClient(Protocol):
    """What a reflector needs of a client: `kubeio.client.KubeClient` is one."""

    async def call(
        self, method: str, path: str, /, *, params: Mapping[str, str], timeout_seconds: float
    ) -> Response:
        """Make one call, or raise a `KubeError`."""

    def stream(
        self,
        path: str,
        /,
        *,
        params: Mapping[str, str],
        headers_timeout_seconds: float,
        idle_timeout_seconds: float,
    ) -> AbstractAsyncContextManager[Lines]:
        """Open a watch, or raise a `KubeError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long a reflector waits for what; pairs are drawn from, evenly.

    Attributes
    ----------
    watch_seconds
        The server is asked to end a watch after this.
    idle_seconds
        A watch without a byte for this long is dead: bookmarks come about once a minute.
    page_seconds
        For a page of a list.
    headers_seconds
        For a watch to begin.
    first_retry_seconds, longest_retry_seconds
        Until the first try after a failure, at most; it doubles from the one to the other.
    unserved_seconds
        From one look to the next for a resource that the API server does not serve.
    """

    watch_seconds: tuple[float, float] = (300.0, 600.0)
    idle_seconds: tuple[float, float] = (70.0, 75.0)
    page_seconds: float = 60.0
    headers_seconds: float = 30.0
    first_retry_seconds: float = FIRST_SECONDS
    longest_retry_seconds: float = LIMIT_SECONDS
    unserved_seconds: tuple[float, float] = (15.0, 20.0)


DEFAULT_TIMING: Final = Timing()
