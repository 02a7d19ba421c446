"""Our commands in processes that are forked from one that has imported everything already.

A process is started within a tenth of a second instead of one or two; hundreds are needed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from subprocess import CompletedProcess
from typing import BinaryIO, Final, Protocol

from berthmaster.cli.root import cli

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "berthmaster.cli.scheduler",
        "berthmaster.cli.agent",
        "berthmaster.cli.controller",
        "berthmaster.cli.explain",
        "berthmaster.cli.diagnose",
        "berthmaster.cli.timeline",
        "kubeio.kubeconfig",
        "kubeio.self_signed",
    ]
)


TIMEOUT_SECONDS: Final = 60.0


class Running(Protocol):
    """What is needed of a process: `subprocess.Popen` is one."""

    @property
    def pid(self) -> int:
        """The process id."""

    def poll(self) -> int | None:
        """Give the exit code, None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends; give the exit code, negative for a signal."""

    def send_signal(self, number: int, /) -> None:
        """Send it a signal."""

    def kill(self) -> None:
        """Send it SIGKILL."""


class _Forked:
    """A `Running` process."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process
        process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        assert self._process.exitcode is not None, "it did not end in time"
        return self._process.exitcode

    def send_signal(self, number: int, /) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        if self._process.is_alive():
            self.send_signal(signal.SIGKILL)


def _run(arguments: list[str], input_path: str, output_path: str, errors_path: str) -> None:
    with open(input_path, "rb") as given:
        os.dup2(given.fileno(), 0)
    sys.stdin = os.fdopen(0, encoding="utf-8")  # multiprocessing has closed its own
    for stream, path in ((sys.stdout, output_path), (sys.stderr, errors_path)):
        with open(path, "ab") as file:
            os.dup2(file.fileno(), stream.fileno())
    cli.main(arguments, prog_name="berthmaster")


def _forked(*arguments: object) -> _Forked:
    return _Forked(_CONTEXT.Process(target=_run, args=arguments, daemon=True))


def fork(arguments: list[str], log: BinaryIO) -> Running:
    """Start ``berthmaster`` with `arguments`; what it writes goes to the end of a log."""
    return _forked(arguments, os.devnull, log.name, log.name)


def run(*arguments: str, stdin: str = "") -> CompletedProcess[str]:
    """Run ``berthmaster`` to its end, without a terminal; give what it wrote."""
    with tempfile.TemporaryDirectory() as directory:
        given, output, errors = (Path(directory, name) for name in ("input", "output", "errors"))
        given.write_text(stdin, encoding="utf-8")
        process = _forked(list(arguments), str(given), str(output), str(errors))
        try:
            code = process.wait(TIMEOUT_SECONDS)
        finally:
            process.kill()
        return CompletedProcess(arguments, code, output.read_text(), errors.read_text())
