"""Our daemons in processes that are forked from one that has imported everything already.

A process is started within a tenth of a second instead of one or two; hundreds are needed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from multiprocessing.context import ForkServerProcess
from typing import BinaryIO, Protocol

from berthmaster.cli.root import cli

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "berthmaster.cli.scheduler",
        "berthmaster.cli.agent",
        "berthmaster.cli.controller",
        "kubeio.kubeconfig",
        "kubeio.self_signed",
    ]
)


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


def _run(arguments: list[str], log_path: str) -> None:
    with open(log_path, "ab") as log:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(log.fileno(), stream.fileno())
    cli.main(arguments, prog_name="berthmaster")


def fork(arguments: list[str], log: BinaryIO) -> Running:
    """Start ``berthmaster`` with `arguments`; what it writes goes to the end of a log."""
    return _Forked(_CONTEXT.Process(target=_run, args=(arguments, log.name), daemon=True))
