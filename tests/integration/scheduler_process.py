"""The scheduler: a process, its log, and what it serves."""

from __future__ import annotations

import http.client
import json
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, ClassVar, Self

from tests.integration.forked import Running, fork
from tests.integration.rest import POLL_SECONDS, TIMEOUT_SECONDS


class SchedulerProcess:
    """``berthmaster scheduler`` with `arguments`, on a free port; killed on leaving."""

    subcommand: ClassVar[str] = "scheduler"

    def __init__(self, log_path: Path, *arguments: str) -> None:
        self._log_path = log_path
        self._arguments = arguments
        self._process: Running | None = None

    def __enter__(self) -> Self:
        with self._log_path.open("wb") as log:
            self._process = self._start([self.subcommand, *self._arguments], log)
        return self

    def _start(self, arguments: list[str], log: BinaryIO) -> Running:
        return fork(arguments, log)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._running.kill()
        self._running.wait()
        if error is not None:
            print(self.log())  # noqa: T201 - pytest shows it with the failure

    @property
    def _running(self) -> Running:
        assert self._process is not None
        return self._process

    @property
    def pid(self) -> int:
        """The process id."""
        return self._running.pid

    def log(self) -> str:
        """Everything it has written so far."""
        return self._log_path.read_text()

    def wait_line(self, text: str) -> str:
        """Wait for a line that contains `text`; give the first one."""
        deadline_seconds = time.monotonic() + TIMEOUT_SECONDS
        while True:
            found = [line for line in self.log().splitlines() if text in line]
            if found:
                return found[0]
            assert self._running.poll() is None, f"ended without {text!r}:\n{self.log()}"
            assert time.monotonic() < deadline_seconds, f"no {text!r} in time:\n{self.log()}"
            time.sleep(POLL_SECONDS)

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._running.send_signal(number)

    def wait_exit(self) -> int:
        """Wait until it ends; give its exit code, negative for a signal."""
        return self._running.wait(TIMEOUT_SECONDS)

    def get(self, path: str, *, token: str = "") -> tuple[int, str]:
        """GET what it serves, with a bearer token if one is given."""
        return self.request("GET", path, token=token)

    def request(
        self, method: str, path: str, body: str | None = None, *, token: str = ""
    ) -> tuple[int, str]:
        """Send a request to what it serves."""
        port = int(self.wait_line("Serving securely").rpartition("port=")[2])
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connection = http.client.HTTPSConnection(
            "127.0.0.1", port, context=context, timeout=TIMEOUT_SECONDS
        )
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def cpu_seconds(self) -> float:
        """CPU time so far, of all its threads."""
        stat = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / 100


def as_json(line: str) -> dict[str, object]:
    """Read a line of the JSON log."""
    document: dict[str, object] = json.loads(line)
    return document


class StartedScheduler(SchedulerProcess):
    """The same as users start it: by a Python of its own."""

    def _start(self, arguments: list[str], log: BinaryIO) -> Running:
        command = [sys.executable, "-m", "berthmaster", *arguments]
        return subprocess.Popen(command, stdout=log, stderr=log)
