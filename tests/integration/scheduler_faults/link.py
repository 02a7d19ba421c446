"""The way from one scheduler to the API server, which a test can break."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from deploy.controlplane import ControlPlane
from tests.faultproxy import Fault, FaultProxy, Match, RequestRecord
from tests.integration.rest import wait_for
from tests.integration.scheduler_faults.loop_thread import LoopThread

F = TypeVar("F", bound=Fault)

WATCH = Match(method="GET", watch=True)
BINDING = Match(method="POST", path=r"/binding$")


class Link:
    """A `FaultProxy` in the background, as blocking calls."""

    def __init__(self, loop: LoopThread, plane: ControlPlane, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        self._loop = loop
        self._proxy = FaultProxy(
            plane.url, ca_path=plane.ca_path, token=plane.token, directory=directory
        )

    def __enter__(self) -> Self:
        self._loop.run(self._proxy.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.run(self._proxy.__aexit__(kind, error, trace))

    @property
    def kubeconfig_path(self) -> Path:
        """For the scheduler."""
        return self._proxy.kubeconfig_path

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._proxy.url

    @property
    def ca_path(self) -> Path:
        """The certificate that it shows."""
        return self._proxy.ca_path

    def add(self, fault: F) -> F:
        """Put a fault in force for requests to come."""
        return self._loop.call(lambda: self._proxy.add(fault))

    def clear(self) -> None:
        """End all faults for requests to come."""
        self._loop.call(self._proxy.clear)

    def drop(self) -> None:
        """Reset every connection there is; new ones are taken."""
        self._loop.run(self._proxy.drop_connections())

    def refuse(self) -> None:
        """Reset every connection there is, and take no new ones."""
        self._loop.run(self._proxy.refuse_connections())

    def accept(self) -> None:
        """Take connections again, on the same port."""
        self._loop.run(self._proxy.accept_connections())

    def freeze(self) -> None:
        """Let nothing pass, with every connection left open."""
        self._loop.call(self._proxy.freeze)

    def requests(self, match: Match | None = None, *, since: int = 0) -> list[RequestRecord]:
        """Give the requests so far, from number `since` on."""
        found = self._proxy.requests[since:]
        wanted = match or Match()
        return [request for request in found if wanted.matches(request.method, request.target)]

    def wait_hits(self, fault: Fault, count: int = 1) -> None:
        """Wait until a fault has struck so often."""
        wait_for(f"{type(fault).__name__} strikes {count} times", lambda: fault.hits >= count)
