"""Asking a component whether it is ready."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROBE_TIMEOUT_SECONDS = 2.0
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Probe:
    """A GET that answers 200 once the component is ready.

    It goes to ``socket`` (plain HTTP on a Unix socket) or else to ``port`` of 127.0.0.1, whose
    server must show a certificate signed by ``authority``.
    """

    path: str
    port: int = 0
    authority: Path | None = None
    socket: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def run(self) -> str:
        """Return an empty text if ready, else why not."""
        where = str(self.socket or f"port {self.port}")
        try:
            status, body = self.get()
        except (OSError, http.client.HTTPException) as error:
            return f"no answer on {where}: {error}"
        if status == http.client.OK:
            return ""
        return f"{self.path} on {where} answers {status}: {body[-500:].strip()}"

    def get(self) -> tuple[int, str]:
        """Send the request; return the status code and the body.

        Raises
        ------
        OSError, http.client.HTTPException
            If there is no answer, or none from the server that is meant.
        """
        connection = self._connection()
        try:
            connection.request("GET", self.path, headers=dict(self.headers))
            response = connection.getresponse()
            return response.status, response.read().decode(errors="replace")
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if self.socket is not None:
            return _UnixConnection(self.socket)
        context = ssl.create_default_context(cafile=self.authority)
        return http.client.HTTPSConnection(
            LOOPBACK, self.port, timeout=PROBE_TIMEOUT_SECONDS, context=context
        )


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=PROBE_TIMEOUT_SECONDS)
        self._path = path

    def connect(self) -> None:
        # A Unix socket's address holds 107 bytes: a path through the open directory always fits.
        directory = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(self.timeout)
            self.sock.connect(f"/proc/self/fd/{directory}/{self._path.name}")
        finally:
            os.close(directory)
