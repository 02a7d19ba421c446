"""Calls to one extender.

Source: pkg/scheduler/extender.go (`send`), v1.36.3. Differences: redirects are not followed,
proxies are not used, and only so many calls are under way at once; the time limit counts from
when it is a call's turn.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final, TypeVar

import aiohttp
import msgspec

from kubeio.sockets import keepalive_socket
from kubeio.transport import words_of
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
        self._ssl_context = planned.ssl_context
        self._server_name = (config.tls_config.server_name or None) if config.tls_config else None
        self._metrics = metrics
        self.turns = asyncio.Semaphore(CONCURRENCY)
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections; calls under way fail."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

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
                except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                    # A kept connection that the extender was just about to close, most likely.
                    if isinstance(error, aiohttp.ClientConnectorError) or not is_repeatable:
                        raise
                    return await self._send(verb, body)
        except TimeoutError as error:
            waited = f"no answer within {self._timeout_seconds:g} s"
            raise ExtenderError(f'Post "{self._at(verb)}": {waited}') from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            said = str(error).replace(self.config.url_prefix.rstrip("/"), self.url.rstrip("/"))
            text = words_of(said) or type(error).__name__
            raise ExtenderError(f'Post "{self._at(verb)}": {text}') from error

    async def _send(self, verb: str, body: bytes) -> bytes:
        async with self._open_session().post(
            f"{self.config.url_prefix.rstrip('/')}/{verb}",
            data=body,
            headers={"Content-Type": "application/json"},
            allow_redirects=False,
            ssl=self._ssl_context,
            server_hostname=self._server_name,
        ) as answer:
            if answer.status != _OK:
                raise ExtenderError(
                    f"failed {verb} with extender at URL {self._at(verb)}, code {answer.status}"
                )
            return await answer.read()

    def _at(self, verb: str) -> str:
        return f"{self.url.rstrip('/')}/{verb}"

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=CONCURRENCY, socket_factory=keepalive_socket),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                headers={"Accept": "application/json", "Accept-Encoding": "identity"},
                trust_env=False,
            )
        return self._session
