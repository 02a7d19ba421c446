"""Asks the API server what time it is: the ``Date`` of an answer that anybody may have."""

import asyncio
import logging
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Final, Protocol

from kubeio.errors import KubeError
from kubeio.logs import fields
from kubeio.response import Response
from node_agent.core.clock import Now
from node_agent.core.journey.clock_skew import ClockSkew

PATH: Final = "/version"
FAST_SECONDS: Final = 1.07
"""Between the first questions: each falls on another fraction of a second, which narrows the
estimate down."""
FAST_COUNT: Final = 16
SLOW_SECONDS: Final = 60.07
TIMEOUT_SECONDS: Final = 5.0

_logger = logging.getLogger(__name__)


class DateClient(Protocol):
    """What is needed of a client: `kubeio.client.KubeClient` is one."""

    async def request(self, method: str, path: str, /, *, timeout_seconds: float) -> Response:
        """Make one call, whatever its status."""


class SkewProbe:
    """Asks now and then, and tells `ClockSkew`."""

    def __init__(self, client: DateClient, skew: ClockSkew, read_now: Callable[[], Now]) -> None:
        self._client = client
        self._skew = skew
        self._read_now = read_now

    async def run(self) -> None:
        """Ask until cancelled."""
        asked = 0
        while True:
            await self.ask()
            asked += 1
            await asyncio.sleep(FAST_SECONDS if asked < FAST_COUNT else SLOW_SECONDS)

    async def ask(self) -> bool:
        """Ask once; tell whether an answer came that says the time."""
        sent = self._read_now()
        try:
            response = await self._client.request("GET", PATH, timeout_seconds=TIMEOUT_SECONDS)
        except KubeError as error:
            _logger.debug("The API server did not tell its time", extra=fields(error=str(error)))
            return False
        received = self._read_now()
        seconds = date_seconds(response.headers.get("date"))
        if seconds is None:
            return False
        self._skew.add_answer(sent.wall_nanoseconds, received.wall_nanoseconds, seconds)
        return True


def date_seconds(header: str | None) -> int | None:
    """Read a ``Date`` header as Unix seconds; None where it is none."""
    if header is None:
        return None
    try:
        return int(parsedate_to_datetime(header).timestamp())
    except (ValueError, OverflowError):
        return None
