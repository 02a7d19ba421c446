"""Starting, finding and ending the processes of one control plane, and never another's.

Every process is started with an environment variable that names the state directory it belongs to.
The kernel shows that environment in ``/proc/<pid>/environ``, so the processes are found even when
their starter was killed before it could write a pid down.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MARKER = "BERTHMASTER_CONTROL_PLANE_OF"
COMPONENT_MARKER = "BERTHMASTER_CONTROL_PLANE_COMPONENT"
GRACE_SECONDS = 5.0
EXEC_SECONDS = 0.5
YOUNG_SECONDS = 2.0
SETTLE_SECONDS = 0.05
KERNEL_THREAD_FLAG = 0x00200000  # PF_KTHREAD of include/linux/sched.h


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


def send_signal(identity: ProcessIdentity, number: signal.Signals) -> bool:
    """Signal exactly the process that ``identity`` names; False if it is gone."""
    with _opened(identity) as descriptor:
        if descriptor is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, number)
        return True


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
    asked: set[ProcessIdentity] = set()
    deadline_seconds = time.monotonic() + grace_seconds
    # A process that is exiting has lost its environment and is found no more, but isn't gone.
    while remaining := {*find(owner, component, but=but), *filter(_lives, asked)}:
        left_seconds = deadline_seconds - time.monotonic()
        for identity in remaining:
            if left_seconds <= 0:
                send_signal(identity, signal.SIGKILL)
            elif identity not in asked:
                send_signal(identity, signal.SIGTERM)
                # A stopped process acts on SIGTERM only when it goes on.
                send_signal(identity, signal.SIGCONT)
        asked |= remaining
        wait_ended(remaining, timeout_seconds=min(0.5, left_seconds) if left_seconds > 0 else 1.0)
    return len(asked)


def terminate_all(owner: Path) -> int:
    """End everything marked with ``owner``, etcd last; return how many processes that were."""
    # The others would spend their time on reconnecting to it.
    ended = terminate(owner, but="etcd") + terminate(owner)
    # A starter that was killed just now may have left a child that is not yet what it will be.
    time.sleep(SETTLE_SECONDS)
    return ended + terminate(owner)


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


def wait_ended(identities: Iterable[ProcessIdentity], *, timeout_seconds: float) -> bool:
    """Wait until all are gone; False if some still live after ``timeout_seconds``."""
    deadline_seconds = time.monotonic() + timeout_seconds
    for identity in identities:
        with _opened(identity) as descriptor:
            if descriptor is None:
                continue
            poller = select.poll()
            poller.register(descriptor, select.POLLIN)
            remaining_seconds = max(0.0, deadline_seconds - time.monotonic())
            if not poller.poll(remaining_seconds * 1000):
                return False
    return True


def _lives(identity: ProcessIdentity) -> bool:
    return not wait_ended([identity], timeout_seconds=0.0)


@contextlib.contextmanager
def _opened(identity: ProcessIdentity) -> Iterator[int | None]:
    """Give a pidfd of the very process that ``identity`` names, or None if that is gone."""
    try:
        descriptor = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        yield None
        return
    try:
        yield descriptor if _starts_at(identity.pid) == identity.start_ticks else None
    finally:
        os.close(descriptor)


def _starts_at(pid: int) -> int | None:
    try:
        return read_start_ticks(pid)
    except ProcessLookupError:
        return None


def _open_private(path: Path, flags: int) -> BinaryIO:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    return os.fdopen(descriptor, "wb")


def _read_environment(directory: Path) -> dict[str, str]:
    raw = _read_environment_bytes(directory)
    pairs = (os.fsdecode(item).partition("=") for item in raw.split(b"\0") if item)
    return {name: value for name, _, value in pairs}


def _read_environment_bytes(directory: Path) -> bytes:
    # While the kernel is about to run a program (after closing what is marked close-on-exec, which
    # is what `Popen` waits for), the environment looks empty. Few programs really have none.
    deadline_seconds = time.monotonic() + EXEC_SECONDS
    while not (raw := (directory / "environ").read_bytes()):
        if time.monotonic() > deadline_seconds or not _may_be_starting(directory):
            break
        time.sleep(0.001)
    return raw


def _may_be_starting(directory: Path) -> bool:
    fields = _read_stat_fields(directory)
    if fields[0] in "ZX" or int(fields[6]) & KERNEL_THREAD_FLAG:
        return False
    uptime_seconds = float(Path("/proc/uptime").read_text().split()[0])
    started_seconds = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return uptime_seconds - started_seconds < YOUNG_SECONDS


def _read_stat(directory: Path) -> tuple[str, int]:
    fields = _read_stat_fields(directory)
    return fields[0], int(fields[19])


def _read_stat_fields(directory: Path) -> list[str]:
    """Return the fields of proc_pid_stat(5) from the third, the state, on."""
    # The second field is the program's name in parentheses, and may itself hold some.
    return (directory / "stat").read_text().rpartition(")")[2].split()


def _shares_pid_namespace(directory: Path) -> bool:
    """Tell whether the process is in our pid namespace, not in a container's with equal paths."""
    return (directory / "ns" / "pid").readlink() == Path("/proc/self/ns/pid").readlink()
