"""Starting, finding and ending the processes of one control plane, and never another's.

Every process is started with an environment variable that names the state directory it belongs to.
The kernel shows that environment in ``/proc/<pid>/environ`` from the moment of ``execve``, so the
processes are found even when their starter was killed before it could write a pid down.

A pid read from ``/proc`` can be reused before a signal arrives. Signals therefore go through a
pidfd, which is opened first and checked second: it can only ever mean the process that was checked.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MARKER = "BERTHMASTER_CONTROL_PLANE_OF"
COMPONENT_MARKER = "BERTHMASTER_CONTROL_PLANE_COMPONENT"
GRACE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process as ``/proc`` shows it; pid and start time together are never used twice.

    ``start_ticks`` counts clock ticks since boot (field 22 of ``/proc/<pid>/stat``, proc(5)).
    """

    pid: int
    start_ticks: int
    component: str


def spawn(
    command: Sequence[str | Path],
    *,
    owner: Path,
    component: str,
    log: Path,
    environment: Mapping[str, str],
    directory: Path | None = None,
    output: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, marked as belonging to ``owner``.

    It runs in ``directory``, by default in ``owner``. What it writes is appended to ``log``, except
    that its standard output replaces the content of ``output`` if one is given. Files that it makes
    are readable by their owner only.
    """
    marked = {**environment, MARKER: str(owner), COMPONENT_MARKER: component}
    with contextlib.ExitStack() as stack:
        errors = stack.enter_context(_open_private(log, os.O_APPEND))
        standard_output = errors
        if output is not None:
            standard_output = stack.enter_context(_open_private(output, os.O_TRUNC))
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=standard_output,
            stderr=errors,
            cwd=directory or owner,
            env=marked,
            start_new_session=True,
            umask=0o077,
        )


def find(owner: Path, component: str | None = None, *, but: str = "") -> list[ProcessIdentity]:
    """List this user's living processes that are marked as belonging to ``owner``.

    Only those of ``component``, if one is given, and none of the component ``but``.
    """
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            identity = identify(int(entry.name), owner)
            if identity is None or identity.component == but:
                continue
            if component in (None, identity.component):
                found.append(identity)
    return sorted(found, key=lambda identity: identity.start_ticks)


def identify(pid: int, owner: Path) -> ProcessIdentity | None:
    """Return who ``pid`` is, or None unless it lives, is ours and is marked with ``owner``."""
    directory = Path("/proc") / str(pid)
    try:
        if directory.stat().st_uid != os.geteuid():
            return None
        environment = _read_environment(directory)
        if environment.get(MARKER) != str(owner) or not _shares_pid_namespace(directory):
            return None
        state, start_ticks = _read_stat(directory)
    except (OSError, ValueError):
        return None  # it ended while we looked, or it isn't for us to see
    if state in "ZX":
        return None
    return ProcessIdentity(pid, start_ticks, environment.get(COMPONENT_MARKER, ""))


def send_signal(identity: ProcessIdentity, owner: Path, number: signal.Signals) -> bool:
    """Signal exactly the process that ``identity`` names; False if it is gone."""
    with _open_verified(identity, owner) as descriptor:
        if descriptor is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, number)
        return True


def read_start_ticks(pid: int) -> int:
    """Return when a process was started, in clock ticks since boot.

    Raises
    ------
    ProcessLookupError
        If there is no such process.
    """
    try:
        return _read_stat(Path("/proc") / str(pid))[1]
    except (OSError, ValueError) as error:
        raise ProcessLookupError(pid) from error


def terminate(
    owner: Path,
    component: str | None = None,
    *,
    but: str = "",
    grace_seconds: float = GRACE_SECONDS,
) -> int:
    """End the processes that ``find`` lists and wait until they're gone.

    SIGTERM first, SIGKILL after ``grace_seconds``. Looks again until a look finds none, so that a
    process started meanwhile is not missed. Returns how many were ended.
    """
    ended: set[ProcessIdentity] = set()
    deadline_seconds = time.monotonic() + grace_seconds
    while identities := find(owner, component, but=but):
        remaining_seconds = deadline_seconds - time.monotonic()
        kill = remaining_seconds <= 0
        for identity in identities:
            if kill:
                send_signal(identity, owner, signal.SIGKILL)
            elif identity not in ended:
                send_signal(identity, owner, signal.SIGTERM)
                # A stopped process acts on SIGTERM only when it goes on.
                send_signal(identity, owner, signal.SIGCONT)
            ended.add(identity)
        wait_ended(identities, owner, 1.0 if kill else min(0.5, remaining_seconds))
    return len(ended)


def terminate_all(owner: Path) -> int:
    """End everything marked with ``owner``, etcd last; return how many processes that were."""
    # The others would spend their time on reconnecting to it.
    return terminate(owner, but="etcd") + terminate(owner)


def wait_ended(identities: Sequence[ProcessIdentity], owner: Path, timeout_seconds: float) -> bool:
    """Wait until all are gone; False if some still live after ``timeout_seconds``."""
    deadline_seconds = time.monotonic() + timeout_seconds
    for identity in identities:
        with _open_verified(identity, owner) as descriptor:
            if descriptor is None:
                continue
            poller = select.poll()
            poller.register(descriptor, select.POLLIN)
            remaining_seconds = max(0.0, deadline_seconds - time.monotonic())
            if not poller.poll(remaining_seconds * 1000):
                return False
    return True


@contextlib.contextmanager
def _open_verified(identity: ProcessIdentity, owner: Path) -> Iterator[int | None]:
    """Give a pidfd of the very process that ``identity`` names, or None if that is gone."""
    try:
        descriptor = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        yield None
        return
    try:
        yield descriptor if identify(identity.pid, owner) == identity else None
    finally:
        os.close(descriptor)


def _open_private(path: Path, flags: int) -> BinaryIO:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    return os.fdopen(descriptor, "wb")


def _read_environment(directory: Path) -> dict[str, str]:
    raw = (directory / "environ").read_bytes()
    pairs = (os.fsdecode(item).partition("=") for item in raw.split(b"\0") if item)
    return {name: value for name, _, value in pairs}


def _read_stat(directory: Path) -> tuple[str, int]:
    # The second field is the program's name in parentheses, and may itself hold some.
    fields = (directory / "stat").read_text().rpartition(")")[2].split()
    return fields[0], int(fields[19])


def _shares_pid_namespace(directory: Path) -> bool:
    """Tell whether the process is in our pid namespace, not in a container's with equal paths."""
    return (directory / "ns" / "pid").readlink() == Path("/proc/self/ns/pid").readlink()
