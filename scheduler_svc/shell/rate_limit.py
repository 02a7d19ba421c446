"""Client-side limits of requests, for configurations that set `clientConnection.qps`.

There is none by default: the binder adapts to what the API server bears.
"""

import asyncio
from collections.abc import Callable

from kubeio.credentials import Credentials
from kubeio.response import CallObserver, Response
from kubeio.writes import JSON, WritePool
from scheduler_svc.shell.clock import read_monotonic_seconds


class TokenBucket:
    """Lets `per_second` requests through on average, `burst` of them at once.

    Source: client-go util/flowcontrol (`NewTokenBucketRateLimiter`), v0.36.3.
    """

    def __init__(
        self,
        per_second: float,
        burst: int,
        *,
        clock: Callable[[], float] = read_monotonic_seconds,
    ) -> None:
        self._per_second = per_second
        self._burst = max(burst, 1)
        self._clock = clock
        self._tokens = float(self._burst)
        self._counted_at = clock()

    def take(self) -> float:
        """Take a token; give the seconds to wait before it may be used."""
        now = self._clock()
        gained = (now - self._counted_at) * self._per_second
        self._tokens = min(self._tokens + gained, self._burst) - 1
        self._counted_at = now
        return max(-self._tokens / self._per_second, 0.0)


class LimitedWritePool(WritePool):
    """A `WritePool` whose requests wait for a token; the wait is no part of their time-out."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        user_agent: str,
        observe_call: CallObserver,
        bucket: TokenBucket,
    ) -> None:
        super().__init__(credentials, user_agent=user_agent, observe_call=observe_call)
        self._bucket = bucket

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
        """Wait for a token, then do as `WritePool.request`."""
        delay = self._bucket.take()
        if delay > 0:
            await asyncio.sleep(delay)
        return await super().request(
            method,
            path,
            body,
            resource=resource,
            content_type=content_type,
            timeout_seconds=timeout_seconds,
            may_send=may_send,
        )
