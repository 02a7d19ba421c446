"""Calls to one extender.

Source: pkg/scheduler/extender.go (`send`), v1.36.3. Differences: redirects are not followed,
proxies are not used, and only so many calls are under way at once; the time limit counts from
when it is a call's turn.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from kubeio.errors import ConnectionLostError, KubeError
from scheduler_svc.shell.extenders.connections import ExtenderConnections
from scheduler_svc.shell.extenders.metrics import ExtenderMetrics
from scheduler_svc.shell.extenders.plan import PlannedExtender
from scheduler_svc.shell.extenders.wire import ExtenderError

T = TypeVar("T")

CONCURRENCY: Final = 32
DEFAULT_TIMEOUT_SECONDS: Final = 5.0
_OK: Final = 200


class ExtenderClient:
    """Sends questions; `close` ends its connections.

    Attributes
    ----------
    turns
        To be held while a question is made and asked: so no more of them, each as long as the Nodes
        that it is about, are in memory than are under way.
    """

    def __init__(self, planned: PlannedExtender, metrics: ExtenderMetrics) -> None:
        config = planned.config
        self.core = planned.core
        self.config = config
        self.url = planned.url
        seconds = config.http_timeout_seconds or DEFAULT_TIMEOUT_SECONDS
        self._timeout_seconds = seconds if seconds > 0 else None
        server_name = (config.tls_config.server_name or None) if config.tls_config else None
        self._connections = ExtenderConnections(planned.ssl_context, server_name)
        self._metrics = metrics
        self.turns = asyncio.Semaphore(CONCURRENCY)

    async def close(self) -> None:
        """Close all connections; calls under way fail."""
        await self._connections.close()

    async def ask(self, kind: str, verb: str, body: bytes, decode: Callable[[bytes], T]) -> T:
        """POST to a verb and read the answer; `kind` is what it is for, in metrics.

        The caller has one of the `turns`. Sent once more where the connection ends without an
        answer, but for a Binding.

        Raises
        ------
        ExtenderError
            No answer, none in time, not 200, one that `decode` cannot read, or a refusal.
        """
        started = time.monotonic()
        is_error = True
        try:
            answer = decode(await self._post(verb, body, is_repeatable=kind != "bind"))
            is_error = False
        except msgspec.DecodeError as error:
            text = f"the answer of {kind} from the extender at URL {self._at(verb)}"
            raise ExtenderError(f"{text} cannot be read: {error}") from error
        finally:
            seconds = time.monotonic() - started
            self._metrics.observe(self.url, kind, seconds, is_error=is_error)
        return answer

    async def _post(self, verb: str, body: bytes, *, is_repeatable: bool) -> bytes:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                try:
                    return await self._send(verb, body)
                except ConnectionLostError:
                    # A kept connection that the extender was just about to close, most likely.
                    if not is_repeatable:
                        raise
                    return await self._send(verb, body)
        except TimeoutError as error:
            waited = f"no answer within {self._timeout_seconds:g} s"
            raise ExtenderError(f"{self._request(verb)}: {waited}") from error
        except KubeError as error:
            raise ExtenderError(str(error)) from error
        except ValueError as error:
            raise ExtenderError(f"{self._request(verb)}: {error}") from error

    async def _send(self, verb: str, body: bytes) -> bytes:
        url = f"{self.config.url_prefix.rstrip('/')}/{verb}"
        answer = await self._connections.post(url, body, self._request(verb))
        if answer.status != _OK:
            raise ExtenderError(
                f"failed {verb} with extender at URL {self._at(verb)}, code {answer.status}"
            )
        return answer.body

    def _at(self, verb: str) -> str:
        return f"{self.url.rstrip('/')}/{verb}"

    def _request(self, verb: str) -> str:
        return f'Post "{self._at(verb)}"'
