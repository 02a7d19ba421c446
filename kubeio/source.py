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

    Source: apiserver/pkg/storage/cacher/cacher.go (``dispatchEvents``, bookmarkFrequency) and
    cache_watcher.go (``nextBookmarkTime``, ``process``), v0.36.3.

    Attributes
    ----------
    watch_seconds
        The server is asked to end a watch after this.
    idle_seconds
        A watch without a byte for this long is given up. A bookmark is due a minute after the
        last and is sent by a timer that looks every 1 to 1.25 s, so 59 to 62 s apart where
        nobody is short of CPU; half a minute is left for where they are. Longer would be too
        long for readiness, which takes a view for old after 120 s: a watch that is opened anew
        has 15 s to be answered before. A dead peer is not waited for here, but found by the
        kernel within 45 s (`kubeio.sockets`).

        Silence proves nothing wrong. A bookmark is sent only if the server's watch cache has
        seen a later version than the watch began with, for which a resource without changes
        needs a progress notification of etcd (every 10 minutes by etcd's default, 5 s by
        kubeadm's) or a consistent list. So it is no failure, but a reason to ask for a list's
        head, which makes the cache catch up, and to watch anew.
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
    idle_seconds: tuple[float, float] = (95.0, 105.0)
    page_seconds: float = 60.0
    headers_seconds: float = 30.0
    first_retry_seconds: float = FIRST_SECONDS
    longest_retry_seconds: float = LIMIT_SECONDS
    unserved_seconds: tuple[float, float] = (15.0, 20.0)


DEFAULT_TIMING: Final = Timing()
