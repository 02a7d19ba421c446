"""An extender as a real HTTP or HTTPS server, which answers as a test says."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from kubeio.self_signed import self_signed_pem

Json = Any


class RawAnswer(NamedTuple):
    """Bytes as they are sent; a `length` beyond theirs makes it half an answer.

    Status 0: the connection is closed without a word.
    """

    body: bytes = b""
    status: int = 200
    length: int | None = None


Answering = Callable[[Json], Json | RawAnswer]


class ExtenderServer:
    """Notes what it is asked, and asks the test's function of the verb for the answer."""

    def __init__(self, verbs: Mapping[str, Answering], url: str) -> None:
        self.verbs = dict(verbs)
        self.url = url
        self.asked: list[tuple[str, Json]] = []

    def questions(self, verb: str) -> list[Json]:
        """Give what it was asked under a verb."""
        return [body for path, body in self.asked if path == f"/x/{verb}"]


@contextmanager
def serve_extender(
    verbs: Mapping[str, Answering], certificate: Path | None = None
) -> Iterator[ExtenderServer]:
    """Serve on a free port of loopback; over TLS with the certificate and key in a PEM file."""
    server: ExtenderServer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert self.headers["Content-Type"] == "application/json"
            server.asked.append((self.path, body))
            answer = server.verbs[self.path.removeprefix("/x/")](body)
            if not isinstance(answer, RawAnswer):
                answer = RawAnswer(json.dumps(answer).encode())
            if answer.status == 0:
                self.close_connection = True
                return
            self.send_response(answer.status)
            length = len(answer.body) if answer.length is None else answer.length
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(answer.body)
            self.close_connection = answer.length is not None

        def log_message(self, *_: Any) -> None:
            return

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            return

    http = Server(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        http.socket = context.wrap_socket(http.socket, server_side=True)
    scheme = "http" if certificate is None else "https"
    server = ExtenderServer(verbs, f"{scheme}://127.0.0.1:{http.server_port}/x")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def write_certificate(folder: Path, name: str = "127.0.0.1") -> Path:
    """Write a certificate, which is its own authority, and its key."""
    path = folder / f"{name}.pem"
    path.write_bytes(self_signed_pem((name,)))
    return path
