"""The lock of a state directory: one command at a time changes what runs there.

The holder writes its pid into the file, so that ``down`` can end an ``up`` that is under way. The
kernel frees the lock when its holder ends, however that happens.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from deploy.programs.processes import ProcessIdentity, read_start_ticks

POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a lock, and for what: ``up``, ``down`` or ``library``."""

    pid: int
    start_ticks: int
    purpose: str

    @property
    def process(self) -> ProcessIdentity:
        """The holder, to be signalled without hitting another that has its pid by now."""
        return ProcessIdentity(self.pid, self.start_ticks, self.purpose)


class StateLock:
    """A lock on the file ``path``; as a context manager it is released at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def try_acquire(self, purpose: str) -> bool:
        """Take the lock if it is free; True if it is held now."""
        while True:
            # The former holder may have removed the directory as well.
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return False
            if self._is_current(descriptor):
                break
            os.close(descriptor)  # the former holder removed the file: lock the new one
        content = {
            "pid": os.getpid(),
            "start_ticks": read_start_ticks(os.getpid()),
            "purpose": purpose,
        }
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(content).encode(), 0)
        self._descriptor = descriptor
        return True

    def acquire(self, purpose: str, *, timeout_seconds: float) -> bool:
        """Wait for the lock; False if it isn't free in time."""
        deadline_seconds = time.monotonic() + timeout_seconds
        while not self.try_acquire(purpose):
            if time.monotonic() > deadline_seconds:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def holder(self) -> Holder | None:
        """Read who holds the lock; None if that can't be known."""
        try:
            return Holder(**json.loads(self._path.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def release(self) -> None:
        """Free the lock; the file stays, as others may wait for it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except FileNotFoundError:
            return False
