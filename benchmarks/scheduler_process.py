"""A scheduler under test, run as a process of its own beside the control plane.

It is started as part of the control plane's state directory, so it ends with it, also when the
benchmark is killed.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

from benchmarks.errors import BenchmarkError
from deploy.controlplane import ControlPlane
from deploy.programs.processes import spawn

STOP_TIMEOUT_SECONDS: Final = 30.0
_LOG_TAIL_LINES: Final = 15
# What a user's environment may say about proxies, kubeconfigs or GOGC is not part of the measure.
_ENVIRONMENT: Final = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH")


class Contestant(Protocol):
    """A scheduler that is compared.

    `name` is for people; Pods ask for `scheduler_name`.
    """

    name: str
    scheduler_name: str

    def command(self, plane: ControlPlane) -> Sequence[str | Path]:
        """Give its command line; may write files into the state directory."""


class SchedulerProcess:
    """A scheduler that was started."""

    def __init__(self, name: str, child: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.started_at_seconds = time.perf_counter()
        self._child = child
        self._log = log

    @property
    def pid(self) -> int:
        """Its process."""
        return self._child.pid

    def check_alive(self) -> None:
        """Raise `BenchmarkError` with the end of its log if it has ended."""
        if self._child.poll() is not None:
            raise BenchmarkError(
                f"{self.name} ended with exit code {self._child.returncode}; the last lines of "
                f"its log:\n{self.log_tail()}"
            )

    def log_tail(self) -> str:
        """Give the last lines of its log."""
        lines = self._log.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:]
        return "\n".join(f"  {line[:400]}" for line in lines)

    def stop(self) -> None:
        """End it and wait."""
        self._child.send_signal(signal.SIGTERM)
        try:
            self._child.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


@contextlib.contextmanager
def running(contestant: Contestant, plane: ControlPlane) -> Iterator[SchedulerProcess]:
    """Run a scheduler during the block."""
    log = plane.directory.log(contestant.name)
    child = spawn(
        [str(part) for part in contestant.command(plane)],
        owner=plane.directory.path,
        component=contestant.name,
        log=log,
        environment={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        directory=Path(__file__).resolve().parents[1],
    )
    process = SchedulerProcess(contestant.name, child, log)
    try:
        yield process
    finally:
        process.stop()
