"""What a call to the API server gives back, whichever client made it."""

from collections.abc import Sequence
from functools import cached_property
from typing import Final, Protocol

TRANSPORT_ERROR_CODE: Final = "<error>"
"""The `code` of a call that got no answer, as client-go's metrics write it."""


class CallObserver(Protocol):
    """Is told of every call that ended, for metrics; must not block or raise."""

    def __call__(self, verb: str, resource: str, code: str, seconds: float, /) -> None:
        """Note one call.

        Parameters
        ----------
        verb
            HTTP method, or ``WATCH``.
        resource
            Plural name, with the subresource: ``pods/binding``.
        code
            HTTP status in digits, or `TRANSPORT_ERROR_CODE`.
        seconds
            From the call to the end of the body (of the headers for ``WATCH``).
        """


def ignore_call(verb: str, resource: str, code: str, seconds: float, /) -> None:
    """Observe nothing: the default `CallObserver`."""


class Response:
    """One complete answer: status, headers and body.

    Headers stay as the parser gave them until somebody asks: the hot path reads
    none of them when a write succeeds.
    """

    def __init__(
        self, status: int, raw_headers: Sequence[tuple[bytes, bytes]], body: bytes
    ) -> None:
        self.status = status
        self.raw_headers = raw_headers
        self.body = body

    @cached_property
    def headers(self) -> dict[str, str]:
        """Headers by lower-case name; of a repeated one the last."""
        return {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in self.raw_headers
        }

    @property
    def ok(self) -> bool:
        """True for 2xx."""
        return 200 <= self.status < 300

    def __repr__(self) -> str:
        return f"Response(status={self.status}, body={len(self.body)} bytes)"
