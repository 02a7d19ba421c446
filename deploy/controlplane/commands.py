"""What the command line does: ``up``, ``down``, ``status`` and ``binaries``."""

from __future__ import annotations

import shlex
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.controlplane.components import DEFAULT_PORTS
from deploy.controlplane.layout import DEFAULT_STATE_DIRECTORY, StateDirectory
from deploy.controlplane.plane import ControlPlane
from deploy.controlplane.record import load
from deploy.controlplane.statelock import StateLock
from deploy.controlplane.supervisor import Supervisor
from deploy.programs import interrupts, processes
from deploy.programs.binaries import SOURCE_KINDS, obtain_binaries
from deploy.programs.errors import DeployError
from deploy.programs.reporting import Reporter
from deploy.programs.sources import Binary

OTHER_UP_TIMEOUT_SECONDS = 1800.0
INTERRUPTED_UP_TIMEOUT_SECONDS = 20.0
KILLED_UP_TIMEOUT_SECONDS = 5.0
GET_KUBECTL = 'alias kubectl="$(.venv/bin/python -m deploy.controlplane binaries kubectl)"'


@dataclass(frozen=True, slots=True)
class UpOptions:
    """Options of ``up``, as on the command line."""

    state_dir: Path = DEFAULT_STATE_DIRECTORY
    kubernetes_version: str | None = None
    with_kwok: bool = True
    apiserver_args: tuple[str, ...] = ()
    kinds: tuple[str, ...] = SOURCE_KINDS


def up(options: UpOptions, reporter: Reporter) -> None:
    """Bring the control plane up, or what of it doesn't run; it outlives this process.

    Interrupted, it leaves nothing that it started; what ran before goes on.

    Raises
    ------
    DeployError
        If it can't be started; the log files stay.
    """
    plane = ControlPlane(
        options.state_dir,
        with_kwok=options.with_kwok,
        apiserver_args=options.apiserver_args,
        kubernetes_version=options.kubernetes_version,
        reporter=reporter,
    )
    directory = plane.directory
    directory.create()
    with StateLock(directory.lock) as lock:
        _wait_for_other_up(lock, directory, reporter)
        before = frozenset(processes.find(directory.path))

        def find_binaries(names: Sequence[str]) -> Mapping[str, Binary]:
            return obtain_binaries(
                names,
                kubernetes_version=options.kubernetes_version,
                reporter=reporter,
                owner=directory.path,
                kinds=options.kinds,
            )

        try:
            started = plane.start(find_binaries, preferred_ports=DEFAULT_PORTS)
        except BaseException as error:
            with interrupts.deferred():
                reporter.end_progress()
                failed = isinstance(error, DeployError) and directory.has_logs()
                _clean_up(directory, before, keep_files=failed)
            raise
        if not started:
            reporter.step("already running, and ready")
        _tell_what_next(plane, reporter)


def down(state_dir: Path, reporter: Reporter) -> None:
    """End everything that belongs to a state directory, and remove its files.

    An ``up`` that is under way there is ended first. The cache of programs stays.

    Raises
    ------
    DeployError
        If another process uses the control plane as a library, or won't end.
    """
    directory = StateDirectory(state_dir)
    if not directory.path.exists():
        ended = processes.terminate_all(directory.path)
    else:
        directory.create()  # refuses a directory that isn't ours
        with StateLock(directory.lock) as lock:
            _take_over(lock, directory, reporter)
            ended = processes.terminate_all(directory.path)
            directory.remove()
    reporter.step(f"ended {ended} processes; nothing is left in {directory.path}")


def status(state_dir: Path, reporter: Reporter) -> bool:
    """Write which components run and whether they are ready; True if all are."""
    directory = StateDirectory(state_dir)
    record = load(directory)
    if record is None:
        reporter.plain(f"no control plane in {directory.path}")
        return False
    supervisor = Supervisor(directory, record, reporter)
    ready = True
    for name in record.shape.components:
        why_not = supervisor.probe(name)
        process = supervisor.find(name)
        pid = f"pid {process.pid}" if process else "-"
        port = f"port {record.ports[name]}" if name in record.ports else "socket"
        reporter.plain(f"{name:24} {pid:12} {port:11} {why_not or 'ready'}")
        ready = ready and not why_not
    reporter.plain(f"Kubernetes {record.kubernetes_version}, logs in {directory.logs}")
    reporter.plain(f"export KUBECONFIG={shlex.quote(str(directory.kubeconfig))}")
    return ready


def _wait_for_other_up(lock: StateLock, directory: StateDirectory, reporter: Reporter) -> None:
    """Take the lock; wait for another ``up`` that has it."""
    deadline_seconds = time.monotonic() + OTHER_UP_TIMEOUT_SECONDS
    told = False
    while not lock.acquire("up", timeout_seconds=1.0):
        holder = lock.holder()
        if holder is not None and holder.purpose == "library":
            raise DeployError(f"{directory.path} is in use by process {holder.pid}")
        if time.monotonic() > deadline_seconds:
            raise DeployError(f"another command works in {directory.path} and doesn't end")
        if not told:
            told = True
            who = f"process {holder.pid} (`{holder.purpose}`)" if holder else "another command"
            reporter.step(f"waiting for {who}, which works in {directory.path}")
    directory.create()  # that command may have been `down`, and have removed it


def _take_over(lock: StateLock, directory: StateDirectory, reporter: Reporter) -> None:
    """Take the lock; end an ``up`` that has it, first with SIGTERM so that it cleans up."""
    if lock.try_acquire("down"):
        return
    for number, timeout_seconds in (
        (signal.SIGTERM, INTERRUPTED_UP_TIMEOUT_SECONDS),
        (signal.SIGKILL, KILLED_UP_TIMEOUT_SECONDS),
    ):
        holder = lock.holder()
        if holder is not None and holder.purpose == "library":
            raise DeployError(
                f"process {holder.pid} uses the control plane in {directory.path}: end that first"
            )
        if holder is not None and holder.purpose == "up":
            reporter.step(f"ending `up`, process {holder.pid}, with {number.name}")
            processes.send_signal(holder.process, number)
            processes.send_signal(holder.process, signal.SIGCONT)
        if lock.acquire("down", timeout_seconds=timeout_seconds):
            return
    raise DeployError(f"another command works in {directory.path} and doesn't end")


def _clean_up(
    directory: StateDirectory, before: frozenset[processes.ProcessIdentity], *, keep_files: bool
) -> None:
    """End what was started since ``before``; remove the files if nothing ran then."""
    if not before:
        processes.terminate_all(directory.path)
        if not keep_files:
            directory.remove()
        return
    for component in {process.component for process in processes.find(directory.path)}:
        new = set(processes.find(directory.path, component)) - before
        if new:
            processes.terminate(directory.path, component)


def _tell_what_next(plane: ControlPlane, reporter: Reporter) -> None:
    kubeconfig = shlex.quote(str(plane.kubeconfig_path))
    reporter.plain()
    reporter.plain(f"API server  {plane.url} (Kubernetes {plane.kubernetes_version})")
    reporter.plain(f"kubeconfig  {plane.kubeconfig_path}")
    reporter.plain(f"logs        {plane.directory.logs}")
    reporter.plain()
    reporter.plain("What next:")
    reporter.plain(f"  export KUBECONFIG={kubeconfig}")
    if plane.directory.path == DEFAULT_STATE_DIRECTORY:
        if shutil.which("kubectl") is None:
            reporter.plain(f"  {GET_KUBECTL}    # none is on PATH; found or built, and kept")
        reporter.plain(
            "  kubectl apply -f deploy/manifests/playground.yaml    # Nodes and Pods to try"
        )
        reporter.plain("  .venv/bin/berthmaster scheduler    # gives the Pods their Nodes")
    reporter.plain(f"  {_down_command(plane.directory.path)}    # ends it and removes its files")


def _down_command(path: Path) -> str:
    if path == DEFAULT_STATE_DIRECTORY:
        return "make down"
    return f"python -m deploy.controlplane down --state-dir {shlex.quote(str(path))}"


def binaries(
    names: Sequence[str], kubernetes_version: str | None, kinds: Sequence[str], reporter: Reporter
) -> list[Binary]:
    """Find or fetch programs, in the order of ``names``."""
    found = obtain_binaries(
        names, kubernetes_version=kubernetes_version, reporter=reporter, kinds=kinds
    )
    return [found[name] for name in names]
