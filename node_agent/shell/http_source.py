"""Static Pods from a URL, asked for again and again at a constant pace.

As in the kubelet, an answer that is equal to the last one is not looked at again, be it that
the last one was refused, or that an empty answer has taken its Pods away meanwhile.

Source: pkg/kubelet/config/http.go, v1.36.3. Difference: the environment names no proxy.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from kubeio.logs import fields, verbosity_level
from node_agent.core.clock import Now
from node_agent.core.events import PodsListed
from node_agent.core.objects import Pod
from node_agent.core.operations import Source
from node_agent.core.static_pods import Origin, Refusal, static_pods
from node_agent.shell.clock import read_now
from node_agent.shell.manifest_text import MAX_BYTES, TOO_BIG, parse_manifest
from node_agent.shell.pod_source import Emit, RefusedManifests, shown_url

DEFAULT_PERIOD_SECONDS: Final = 20.0
TIMEOUT_SECONDS: Final = 10.0
_LOUD_FAILURES: Final = 3
_CHUNK_BYTES: Final = 2**16
_TRAP: Final = (
    "the same answer as before the empty one: the kubelet takes no Pods from it until it changes"
)
_V4: Final = verbosity_level(4)

_logger = logging.getLogger(__name__)


class _FetchError(Exception):
    """No answer that could be used; the text says why."""


class HttpSource:
    """Fetches a manifest, a Pod or a PodList.

    Parameters
    ----------
    url
        With scheme http or https; user, password and query are sent and never shown.
    headers
        Values by name, sent as they are and never shown.
    emit
        Takes the lists.
    period_seconds
        From the end of one request to the next.
    timeout_seconds
        For all of a request, the body included.

    Attributes
    ----------
    refused
        The URL, if what it gives is no manifest.
    """

    source: Final = Source.HTTP

    def __init__(
        self,
        url: str,
        node_name: str,
        emit: Emit,
        *,
        headers: Mapping[str, Sequence[str]] | None = None,
        period_seconds: float = DEFAULT_PERIOD_SECONDS,
        timeout_seconds: float = TIMEOUT_SECONDS,
        read_now: Callable[[], Now] = read_now,
    ) -> None:
        self._url = url
        if any(name.lower() == "authorization" for name in headers or {}):
            self._url = str(URL(url).with_user(None))  # the header wins, as in Go
        self._shown_url = shown_url(url)
        self._node_name = node_name
        self._emit = emit
        self._headers = CIMultiDict(
            (name, value) for name, values in (headers or {}).items() for value in values
        )
        self._period_seconds = period_seconds
        self._timeout_seconds = timeout_seconds
        self._read_now = read_now
        self._last_body = b""
        self._is_emptied = False
        self._failures = 0
        self._problem = "not fetched yet"
        self.refused = RefusedManifests(Source.HTTP)

    def problem(self) -> str | None:
        """Say why the last list is missing or may be old."""
        return f"{self._shown_url}: {self._problem}" if self._problem else None

    async def run(self) -> None:
        """Fetch until cancelled."""
        async with self.open_session() as session:
            while True:
                await self.fetch(session)
                await asyncio.sleep(self._period_seconds)

    def open_session(self) -> aiohttp.ClientSession:
        """Give a session for `fetch`."""
        return aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self._timeout_seconds),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=CIMultiDict({"Accept-Encoding": "identity"}),
            auto_decompress=False,
            read_bufsize=_CHUNK_BYTES,
        )

    async def fetch(self, session: aiohttp.ClientSession) -> None:
        """Fetch once, and hand over what the answer says, if it says anything new."""
        try:
            body = await self._get(session)
            received = self._read_now()
        except _FetchError as error:
            self._note_failure(str(error))
            return
        if not body:
            self._is_emptied = True
            self._note_failure("an empty answer: there are no Pods now")
            await self._emit(PodsListed(Source.HTTP, (), received))
            return
        self._note_success()
        if body == self._last_body:
            return
        self._last_body, self._is_emptied = body, False
        await self._take(body, received)

    async def _take(self, body: bytes, received: Now) -> None:
        pods, notice = await asyncio.to_thread(self._read_body, body)
        if isinstance(pods, Refusal):
            self._problem = pods.message
            self.refused.note(self._shown_url, pods, next_step="wait until the answer changes")
            return
        self._problem = ""
        self.refused.accept(self._shown_url, notice)
        await self._emit(PodsListed(Source.HTTP, pods, received))

    def _read_body(self, body: bytes) -> tuple[tuple[Pod, ...] | Refusal, str]:
        """Give its Pods and a notice of what was left out; a second for the largest answers."""
        parsed = parse_manifest(body)
        if isinstance(parsed, Refusal):
            return parsed, ""
        origin = Origin(Source.HTTP, self._url)
        return static_pods(parsed.document, origin, self._node_name), parsed.notice

    async def _get(self, session: aiohttp.ClientSession) -> bytes:
        """Give the body of an answer that has status 200."""
        try:
            async with session.get(self._url, headers=self._headers) as answer:
                body = bytearray()
                while chunk := await answer.content.read(_CHUNK_BYTES):
                    body += chunk
                    if len(body) >= MAX_BYTES:
                        answer.close()
                        raise _FetchError(TOO_BIG.message)
                if answer.status != 200:
                    raise _FetchError(_shown(f"HTTP {answer.status} {answer.reason}"))
        except TimeoutError as error:
            raise _FetchError(f"no answer within {self._timeout_seconds:g} s") from error
        except aiohttp.TooManyRedirects as error:
            raise _FetchError(f"more than {len(error.history)} redirects") from error
        except aiohttp.ClientPayloadError as error:
            raise _FetchError("the answer ended before its body did") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _FetchError(f"no answer: {_why(error)}") from error
        return bytes(body)

    def _note_failure(self, problem: str) -> None:
        self._problem = problem
        self._failures += 1
        is_loud = self._failures <= _LOUD_FAILURES
        _logger.log(
            logging.WARNING if is_loud else _V4,
            "Cannot fetch manifests",
            extra=fields(url=self._shown_url, err=problem, failures=self._failures),
        )
        if self._failures == _LOUD_FAILURES + 1:
            _logger.warning(
                "Manifests still cannot be fetched; further failures are told at -v 4 only",
                extra=fields(url=self._shown_url, err=problem),
            )

    def _note_success(self) -> None:
        if self._failures:
            _logger.info(
                "Manifests can be fetched again",
                extra=fields(url=self._shown_url, failures=self._failures),
            )
            self._failures = 0
        refusal = self.refused.by_place.get(self._shown_url)
        self._problem = refusal.message if refusal is not None else ""
        if self._is_emptied and not self._problem:
            self._problem = _TRAP


def _why(error: Exception) -> str:
    """Say what went wrong, in one line and without URLs: they may have secrets in them."""
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return "a redirect to what is no http:// or https:// URL"
    if isinstance(error, aiohttp.ClientResponseError):
        # Its text has the URL, and what was read: only what is wrong with that is told.
        return _shown(error.message.partition("\n")[0].partition(" b'")[0].rstrip(": "))
    return _shown(str(error) or type(error).__name__)


def _shown(text: str) -> str:
    """Give text as one line that may be printed: others have written it."""
    characters = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(characters).strip()
