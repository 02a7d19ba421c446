import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from berthmaster.plugin import Pod
from berthmaster.testing import cluster, node, pod
from examples.licences import PRODUCT, Licences, LicencesArgs


class Service(ThreadingHTTPServer):
    """A licence server that has one licence."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.holders: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Gives the licence to the first who asks."""

    server: Service

    def do_PUT(self) -> None:
        refused = bool(self.server.holders - {self.path})
        if not refused:
            self.server.holders.add(self.path)
        self._answer(409 if refused else 200)

    def do_DELETE(self) -> None:
        self.server.holders.discard(self.path)
        self._answer(200)

    def _answer(self, status: int) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_a_licence_is_taken_before_the_pod_is_bound(service: Service) -> None:
    licences = Licences(LicencesArgs(url=service.url))
    world = cluster(nodes=[node("a")], plugins=[licences])
    assert world.schedule(pod("p", annotations={PRODUCT: "solver"})).node == "a"
    assert service.holders == {"/licences/default/p"}


def test_a_pod_without_the_annotation_needs_none(service: Service) -> None:
    world = cluster(nodes=[node("a")], plugins=[Licences(LicencesArgs(url=service.url))])
    assert world.schedule(pod("p")).node == "a"
    assert service.holders == set()


def test_refusals_are_raised_and_what_was_taken_is_given_back(service: Service) -> None:
    licences = Licences(LicencesArgs(url=service.url))
    first, second = (Pod(pod(name, annotations={PRODUCT: "solver"})) for name in ("p", "q"))
    asyncio.run(licences.pre_bind(first, "a"))
    with pytest.raises(RuntimeError, match=r"answered 409$"):
        asyncio.run(licences.pre_bind(second, "a"))
    asyncio.run(licences.undo_pre_bind(first, "a"))
    asyncio.run(licences.pre_bind(second, "a"))
