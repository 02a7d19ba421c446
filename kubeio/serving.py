"""The HTTPS server of a daemon: probes, metrics, effective configuration.

Same paths, texts and status codes as kube-scheduler's, so that probes, scrape
configurations and dashboards written for it work.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from aiohttp import web
from prometheus_client import CollectorRegistry

Check = Callable[[], str | None]
"""A named check: None if all is well, else the reason in one line."""


class Authorizer(Protocol):
    """Says who may read a path that is not open to all."""

    async def decide(self, authorization: str | None, path: str, verb: str) -> web.Response | None:
        """None to let the request through, else the refusal (401, 403, 503)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingOptions:
    """Where and with which certificate to serve.

    Attributes
    ----------
    bind_address
        IP to listen on.
    port
        0 for any free one.
    certificate_file, key_file
        PEM; both or neither. Neither: self-signed, in memory. Read again on change.
    """

    bind_address: str = "0.0.0.0"  # noqa: S104 - as kube-scheduler; probes come from the Node
    port: int = 10259
    certificate_file: str | None = None
    key_file: str | None = None


class HttpsServer:
    """Serves until the context ends.

    Parameters
    ----------
    options
        Address and certificate.
    registry
        What ``/metrics`` shows.
    configz
        What ``/configz`` shows: a value msgspec can encode as JSON.
    authorizer
        Guards ``/metrics``, ``/configz`` and added routes; None lets everybody in.
    """

    def __init__(
        self,
        options: ServingOptions,
        *,
        registry: CollectorRegistry,
        configz: Callable[[], object],
        authorizer: Authorizer | None = None,
    ) -> None:
        raise NotImplementedError

    def add_check(
        self, name: str, check: Check, *, healthz: bool = False, livez: bool = False
    ) -> None:
        """Add a named check to ``/readyz``, and to ``/healthz`` and ``/livez`` if asked."""
        raise NotImplementedError

    def add_route(
        self, method: str, path: str, handler: Callable[[web.Request], Awaitable[web.Response]]
    ) -> None:
        """Add a guarded route; before the server starts."""
        raise NotImplementedError

    @property
    def port(self) -> int:
        """The port listened on."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        raise NotImplementedError

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        raise NotImplementedError
