"""Starts, watches and stops the single components of one control plane."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections import deque
from pathlib import Path

from deploy.controlplane.components import Component, describe
from deploy.controlplane.layout import StateDirectory
from deploy.controlplane.record import Record
from deploy.programs import interrupts, processes
from deploy.programs.errors import DeployError, PortTakenError
from deploy.programs.processes import ProcessIdentity
from deploy.programs.reporting import Reporter

READY_TIMEOUT_SECONDS = 90.0
HUNG_AFTER_SECONDS = 10.0
POLL_SECONDS = 0.1
LOG_TAIL_LINES = 15
PORT_TAKEN = "address already in use"


class Supervisor:
    """Runs the components that ``record`` describes, in ``directory``."""

    def __init__(self, directory: StateDirectory, record: Record, reporter: Reporter) -> None:
        self.directory = directory
        self.record = record
        self._reporter = reporter
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._log_offsets: dict[str, int] = {}

    def find(self, name: str) -> ProcessIdentity | None:
        """Return the component's process, or None if it doesn't run."""
        child = self._children.get(name)
        if child is not None and child.poll() is None:
            return ProcessIdentity(child.pid, processes.read_start_ticks(child.pid), name)
        self._reap(name)
        found = processes.find(self.directory.path, name)
        return found[-1] if found else None

    def start(self, name: str) -> None:
        """Start a component without waiting until it is ready."""
        self._reporter.step(f"starting {name}")
        component = describe(name, self.record, self.directory)
        log = self.directory.log(name)
        self._log_offsets[name] = log.stat().st_size if log.exists() else 0
        command = [self.record.binaries[name], *component.arguments]
        # Nothing of the caller's environment: it may hold secrets, and these programs outlive it.
        environment = {"HOME": str(self.directory.path), "PATH": "/usr/bin:/bin"}
        try:
            with interrupts.deferred():
                self._children[name] = processes.spawn(
                    command,
                    owner=self.directory.path,
                    component=name,
                    log=log,
                    environment=environment,
                )
        except OSError as error:
            raise DeployError(f"{name} cannot be started: {error}") from error

    def ensure_ready(self, name: str) -> bool:
        """Start the component unless it runs and is ready; True if it had to be started.

        One that runs but doesn't become ready is taken for hung, and replaced.
        """
        if self.find(name) is not None:
            with contextlib.suppress(DeployError):
                self.wait_ready(name, timeout_seconds=HUNG_AFTER_SECONDS)
                return False
            self._reporter.step(f"{name} runs but is not ready: restarting it")
            self.stop(name)
        self.start(name)
        self.wait_ready(name)
        return True

    def wait_ready(self, name: str, *, timeout_seconds: float = READY_TIMEOUT_SECONDS) -> None:
        """Wait until the component answers that it is ready.

        Raises
        ------
        PortTakenError
            If it ended since its port is in use.
        DeployError
            If it ended for another reason, or isn't ready in time; with the log's last lines.
        """
        component = describe(name, self.record, self.directory)
        began_seconds = time.monotonic()
        while True:
            why_not = component.probe.run()
            process = self.find(name)
            if process is None:
                raise self._ended(component)
            if not why_not:
                return
            elapsed_seconds = time.monotonic() - began_seconds
            if elapsed_seconds > timeout_seconds:
                raise DeployError(
                    f"{name} is not ready after {timeout_seconds:.0f} s ({why_not})\n"
                    + self._log_tail(name)
                )
            self._reporter.progress(f"{name}: waiting until it is ready ({elapsed_seconds:.0f} s)")
            time.sleep(POLL_SECONDS)

    def probe(self, name: str) -> str:
        """Ask a component once; an empty text if it runs and is ready, else why not."""
        process = self.find(name)
        if process is None:
            return "does not run"
        return describe(name, self.record, self.directory).probe.run()

    def stop(self, name: str, *, grace_seconds: float = 5.0) -> None:
        """End a component and wait until it is gone."""
        processes.terminate(self.directory.path, name, grace_seconds=grace_seconds)
        self._reap(name)

    def stop_all(self) -> int:
        """End everything, etcd last; return how many processes that were."""
        ended = processes.terminate_all(self.directory.path)
        for name in list(self._children):
            self._reap(name)
        return ended

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a component.

        Raises
        ------
        DeployError
            If it doesn't run.
        """
        process = self.find(name)
        if process is None or not processes.send_signal(process, number):
            raise DeployError(f"{name} does not run")

    def _reap(self, name: str) -> None:
        """Take note of a child's end, so that it doesn't stay a zombie."""
        child = self._children.get(name)
        if child is not None and child.poll() is not None:
            del self._children[name]

    def _ended(self, component: Component) -> DeployError:
        name = component.name
        text = f"{name} ended by itself\n{self._log_tail(name)}"
        with contextlib.suppress(OSError), self.directory.log(name).open("rb") as log:
            log.seek(self._log_offsets.get(name, 0))
            if PORT_TAKEN in log.read().decode(errors="replace"):
                return PortTakenError(text)
        return DeployError(text)

    def _log_tail(self, name: str) -> str:
        path = self.directory.log(name)
        return f"the last lines of {path}:\n" + "\n".join(f"  {line}" for line in _tail(path))


def _tail(path: Path) -> list[str]:
    try:
        with path.open(errors="replace") as file:
            lines = deque(file, LOG_TAIL_LINES)
    except OSError as error:
        return [f"({error})"]
    return [line.rstrip()[:400] for line in lines]
