"""Ends a library user's control plane when that user dies without having done so.

The user holds the other end of this process's standard input. It is closed by ``stop``, or by the
kernel when the user's process ends in any way, SIGKILL included. This process is in no session of
the user's, so a Ctrl-C doesn't reach it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from deploy.controlplane.layout import StateDirectory
from deploy.controlplane.statelock import StateLock
from deploy.programs.processes import terminate_all

FAREWELL = b"done"
LOCK_TIMEOUT_SECONDS = 2.0
_PROJECT = Path(__file__).resolve().parents[2]


class Watchdog:
    """The watching process, seen from its user."""

    def __init__(self, directory: StateDirectory) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "deploy.controlplane.watchdog", str(directory.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PYTHONPATH": str(_PROJECT), "PATH": os.environ.get("PATH", os.defpath)},
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """Tell it that nothing is left to do, and wait until it has ended."""
        with contextlib.suppress(BrokenPipeError):  # it was killed
            self._child.communicate(FAREWELL)


def main(state_directory: str) -> None:
    """Wait until the user is gone; if it said no farewell, end what it left, remove the files."""
    if sys.stdin.buffer.read() == FAREWELL:
        return
    directory = StateDirectory(Path(state_directory))
    with StateLock(directory.lock) as lock:
        # Its user held the lock. Whoever has it now has taken over, and sees what runs.
        if directory.path.exists() and lock.acquire("down", timeout_seconds=LOCK_TIMEOUT_SECONDS):
            terminate_all(directory.path)
            directory.remove()


if __name__ == "__main__":
    main(sys.argv[1])
