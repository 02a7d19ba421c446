"""Long-running commands of others: their output goes to a log, how far they are to the person."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from deploy.programs import interrupts
from deploy.programs.errors import DeployError
from deploy.programs.reporting import Reporter

POLL_SECONDS = 0.25
FAILURE_LINES = 5


def run_logged(
    command: Sequence[str | Path],
    *,
    log: Path,
    saying: str,
    reporter: Reporter,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> None:
    """Run a command to its end; interrupted, end it and all that it has started.

    Parameters
    ----------
    command
        The program and its arguments.
    log
        The file to which its output is appended; its directory is made.
    saying
        What the command does, e.g. ``unpacking Debian``; shown with the elapsed time and the last
        line of output.
    environment
        Variables in place of this process's, if given.
    directory
        Where it runs; by default where this process does.

    Raises
    ------
    DeployError
        If it can't be started or fails; with its last lines.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        offset = output.tell()
        try:
            with interrupts.deferred():
                child = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    cwd=directory,
                    start_new_session=True,
                )
        except OSError as error:
            raise DeployError(f"{saying}: {error}") from error
        try:
            _watch(child, log, offset, saying, reporter)
        finally:
            if child.poll() is None:
                # Not yet waited for, so the number can't have become another group's.
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
    if child.returncode != 0:
        tail = "\n  ".join(_last_lines(log, offset) or [f"exit code {child.returncode}"])
        raise DeployError(f"{saying} failed: {Path(command[0]).name} said\n  {tail}\nlog: {log}")


def _watch(
    child: subprocess.Popen[bytes], log: Path, offset: int, saying: str, reporter: Reporter
) -> None:
    began_seconds = time.monotonic()
    while True:
        try:
            child.wait(POLL_SECONDS)
        except subprocess.TimeoutExpired:
            elapsed_seconds = int(time.monotonic() - began_seconds)
            last = "".join(_last_lines(log, offset)[-1:])[:60]
            reporter.progress(f"{saying}, {elapsed_seconds} s: {last}")
        else:
            return


def _last_lines(log: Path, offset: int) -> list[str]:
    with log.open("rb") as written:
        size = written.seek(0, os.SEEK_END)
        written.seek(max(offset, size - 8192))
        lines = written.read().decode(errors="replace").splitlines()
    return [line.strip() for line in lines if line.strip()][-FAILURE_LINES:]
