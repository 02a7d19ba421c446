"""A real Prometheus on loopback, as the tests run it: configured, asked, stopped."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import urllib.parse
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from tests.integration.rest import TIMEOUT_SECONDS, wait_for
from tests.monitoring.prometheus_package import program


class PrometheusProcess:
    """Scrapes `jobs` every two seconds and evaluates `rule_files`; killed on leaving."""

    def __init__(
        self, folder: Path, jobs: list[dict[str, Any]], rule_files: tuple[Path, ...]
    ) -> None:
        self._program = program("prometheus")
        self._folder = folder
        self._configuration = {
            # An interval is the time-out, too, and the machine may be busy.
            "global": {"scrape_interval": "2s", "evaluation_interval": "2s"},
            "rule_files": [str(path) for path in rule_files],
            "scrape_configs": jobs,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    def __enter__(self) -> Self:
        path = self._folder / "prometheus.yaml"
        path.write_text(yaml.safe_dump(self._configuration))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        command = [
            str(self._program),
            f"--config.file={path}",
            f"--storage.tsdb.path={self._folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self._port}",
        ]
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_for("Prometheus is ready", self._is_ready)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()
        if error is not None:
            print(self.log())  # noqa: T201 - pytest shows it with the failure

    def log(self) -> str:
        """Everything it has written so far."""
        return (self._folder / "log").read_text()

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Ask for the value of an expression now: one document a series."""
        parameters = urllib.parse.urlencode({"query": expression})
        result: list[dict[str, Any]] = self.get(f"/api/v1/query?{parameters}")["result"]
        return result

    def get(self, path: str) -> dict[str, Any]:
        """GET something of its API, which has to succeed; give the ``data``."""
        status, text = self._request(path)
        assert status == 200, text
        data: dict[str, Any] = json.loads(text)["data"]
        return data

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log()
        try:
            return self._request("/-/ready")[0] == 200
        except ConnectionError:
            return False

    def _request(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def _end(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
