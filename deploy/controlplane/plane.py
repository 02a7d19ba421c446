"""A real API server on loopback: as a context manager, and for the commands ``up`` and ``down``.

``start`` begins with whatever is there: nothing, all of it running, or some of it dead. Ports are
chosen once and kept; when a server finds its port taken in spite of that, everything is started
anew with other ports.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from deploy.controlplane import pki, ports
from deploy.controlplane.components import (
    DEFAULT_PORTS,
    describe,
    kubeconfig,
    new_token,
    write_files,
)
from deploy.controlplane.layout import StateDirectory
from deploy.controlplane.record import Record, Shape, load
from deploy.controlplane.statelock import StateLock
from deploy.controlplane.supervisor import Supervisor
from deploy.controlplane.watchdog import Watchdog
from deploy.programs import interrupts
from deploy.programs.binaries import obtain_binaries
from deploy.programs.errors import DeployError, PortTakenError
from deploy.programs.private_files import write_private
from deploy.programs.reporting import Reporter, SilentReporter
from deploy.programs.sources import Binary
from deploy.programs.versions import requested_version

START_ATTEMPTS = 5
SERVICE_ACCOUNT_TIMEOUT_SECONDS = 30.0
STOP_GRACE_SECONDS = 5.0

BinariesFinder = Callable[[Sequence[str]], Mapping[str, Binary]]


class ControlPlane:
    """etcd and kube-apiserver, and kube-controller-manager and kwok if wanted, on loopback.

    As a context manager it starts them, waits until they are ready, and on exit ends them and
    removes their files. They end with this process, even if it is killed.

    Without kwok new Nodes are not tainted as not ready, since nothing would lift the taint. Without
    the controller manager Pods need no service account, since nothing would make one.

    Parameters
    ----------
    state_dir
        Where its files go; a new temporary directory if None.
    with_kwok
        Run kwok, and with it the node-lifecycle controller: Nodes with the annotation
        ``kwok.x-k8s.io/node: fake`` become Ready, and Pods bound to them run.
    with_controller_manager
        Run kube-controller-manager.
    controllers
        Its ``--controllers`` list, e.g. ``*,-node-ipam-controller``; None for what suits.
    apiserver_args
        Arguments to kube-apiserver after the usual ones.
    kubernetes_version
        The version to find, download or build, e.g. ``1.36.3``.
    reporter
        Where progress is written; nowhere if None.
    """

    def __init__(
        self,
        state_dir: str | os.PathLike[str] | None = None,
        *,
        with_kwok: bool = False,
        with_controller_manager: bool = True,
        controllers: str | None = None,
        apiserver_args: Sequence[str] = (),
        kubernetes_version: str | None = None,
        reporter: Reporter | None = None,
    ) -> None:
        temporary = Path(tempfile.gettempdir()) / f"berthmaster-{secrets.token_hex(8)}"
        self.directory = StateDirectory(Path(state_dir or temporary))
        self._shape = Shape(
            with_kwok=with_kwok,
            with_controller_manager=with_controller_manager or with_kwok,
            controllers=controllers or "",
            apiserver_args=tuple(apiserver_args),
        )
        self._kubernetes_version = kubernetes_version
        self._reporter = reporter or SilentReporter()
        self._lock = StateLock(self.directory.lock)
        self._watchdog: Watchdog | None = None
        self._supervisor: Supervisor | None = None

    def __enter__(self) -> Self:
        self.directory.create()
        if not self._lock.try_acquire("library"):
            raise DeployError(f"{self.directory.path} is in use by another command")
        try:
            if self.directory.record.exists():
                raise DeployError(f"a control plane is in {self.directory.path} already")
            with interrupts.deferred():
                self._watchdog = Watchdog(self.directory)
            self.start(self.find_binaries)
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave()

    @property
    def kubeconfig_path(self) -> Path:
        """The administrator's kubeconfig."""
        return self.directory.kubeconfig

    @property
    def url(self) -> str:
        """The API server's address, ``https://127.0.0.1:<port>``."""
        return self._running.record.url

    @property
    def token(self) -> str:
        """The administrator's bearer token."""
        return self._running.record.token

    @property
    def ca_path(self) -> Path:
        """The certificate (PEM) that verifies the API server."""
        return self.directory.authority

    @property
    def kubernetes_version(self) -> str:
        """The version of the API server that runs, e.g. ``1.36.3``."""
        return self._running.record.kubernetes_version

    @property
    def pids(self) -> dict[str, int]:
        """The pid of each component that runs."""
        found = {name: self._running.find(name) for name in self._shape.components}
        return {name: process.pid for name, process in found.items() if process is not None}

    def log_path(self, component: str) -> Path:
        """Name the log file of a component."""
        return self.directory.log(component)

    def find_binaries(self, names: Sequence[str]) -> Mapping[str, Binary]:
        """Find programs for this control plane from all sources."""
        return obtain_binaries(
            names,
            kubernetes_version=self._kubernetes_version,
            reporter=self._reporter,
            owner=self.directory.path,
        )

    def start(
        self, find_binaries: BinariesFinder, *, preferred_ports: Mapping[str, int] | None = None
    ) -> bool:
        """Start what doesn't run yet and wait until all is ready; False if all was.

        Parameters
        ----------
        find_binaries
            Finds the programs by name; not called if all run.
        preferred_ports
            Ports to use where they are free.

        Raises
        ------
        DeployError
            If it can't be started, or is there already with another shape or version.
        UsageError
            If the version is none that is supported.
        """
        names = self._shape.components
        old = load(self.directory)
        self._check_asked_version(old)
        if old is not None and self._is_ready(old):
            return False
        binaries = find_binaries(names)
        version = str(binaries["kube-apiserver"].version)
        self._check_same(old, version)
        plan = Record(
            shape=self._shape,
            kubernetes_version=version,
            binaries={name: str(binary.path) for name, binary in binaries.items()},
            ports=old.ports if old else dict(preferred_ports or {}),
            token=old.token if old else new_token(),
            controller_manager_token=old.controller_manager_token if old else new_token(),
        )
        self._start_with_ports(plan)
        return True

    def stop(self) -> None:
        """End all components and remove their files."""
        if self._supervisor is not None:
            self._supervisor.stop_all()
        self.directory.remove()

    def stop_component(self, name: str, *, force: bool = False) -> None:
        """End one component, with SIGTERM or (``force``) at once with SIGKILL, and wait."""
        self._running.stop(name, grace_seconds=0.0 if force else STOP_GRACE_SECONDS)

    def start_component(self, name: str) -> None:
        """Start a component that was stopped, on the same port, and wait until it is ready."""
        self._running.ensure_ready(name)

    def freeze(self, name: str) -> None:
        """Stop a component's execution (SIGSTOP): its connections stay open and silent."""
        self._running.signal(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """Let a frozen component go on (SIGCONT)."""
        self._running.signal(name, signal.SIGCONT)

    def write_client_kubeconfig(
        self, path: Path, *, user: str, groups: tuple[str, ...] = ()
    ) -> None:
        """Write a kubeconfig of another user, who authenticates with a client certificate.

        The user may do what RBAC allows the user and the groups, and nothing else. Certificate and
        key lie beside it as ``.crt`` and ``.key``.
        """
        authority = pki.KeyPair(
            self.directory.authority.read_bytes(), self.directory.authority_key.read_bytes()
        )
        pair = pki.create_client(authority, user, groups)
        certificate_path, key_path = path.with_suffix(".crt"), path.with_suffix(".key")
        write_private(certificate_path, pair.certificate)
        write_private(key_path, pair.key)
        files = {"client-certificate": str(certificate_path), "client-key": str(key_path)}
        write_private(path, kubeconfig(self._running.record, self.directory, files))

    @property
    def _running(self) -> Supervisor:
        if self._supervisor is None:
            raise DeployError("the control plane has not been started")
        return self._supervisor

    def _leave(self) -> None:
        with interrupts.deferred():
            if self._supervisor is not None:
                self.stop()
            if self._watchdog is not None:
                self._watchdog.dismiss()
                self._watchdog = None
            self._lock.release()

    def _is_ready(self, old: Record) -> bool:
        supervisor = Supervisor(self.directory, old, self._reporter)
        if old.shape != self._shape or any(supervisor.probe(name) for name in old.shape.components):
            return False
        self._supervisor = supervisor
        return True

    def _check_asked_version(self, old: Record | None) -> None:
        """Refuse to go on with another version than just the one that was asked for."""
        asked, is_exact = requested_version(self._kubernetes_version)
        if old is not None and is_exact and old.kubernetes_version != str(asked):
            raise self._differs(f"is of Kubernetes {old.kubernetes_version}, not {asked}")

    def _differs(self, how: str) -> DeployError:
        return DeployError(f"the control plane in {self.directory.path} {how}: take it down first")

    def _check_same(self, old: Record | None, version: str) -> None:
        """Refuse to go on with what another shape or version has left."""
        if old is None:
            return
        differs = ""
        if old.shape != self._shape:
            differs = f"has other options ({old.shape})"
        elif old.kubernetes_version.split(".")[:2] != version.split(".")[:2]:
            differs = f"is of Kubernetes {old.kubernetes_version}, not {version}"
        if differs:
            raise self._differs(differs)

    def _start_with_ports(self, plan: Record) -> None:
        for attempt in range(1, START_ATTEMPTS + 1):
            supervisor = Supervisor(self.directory, plan, self._reporter)
            chosen = self._choose_ports(supervisor, fresh=attempt > 1)
            supervisor.record = plan = dataclasses.replace(plan, ports=chosen)
            self._supervisor = supervisor
            plan.save(self.directory)
            write_files(plan, self.directory)
            try:
                self._bring_up(supervisor)
                return
            except PortTakenError as error:
                supervisor.stop_all()
                if attempt == START_ATTEMPTS:
                    raise
                self._reporter.step(f"{str(error).splitlines()[0]}: trying other ports")

    def _choose_ports(self, supervisor: Supervisor, *, fresh: bool) -> dict[str, int]:
        """Keep the ports of what runs and choose others where they are taken."""
        listening = [name for name in self._shape.components if name in DEFAULT_PORTS]
        planned = {} if fresh else supervisor.record.ports
        dead = [name for name in listening if supervisor.find(name) is None]
        alive = {name: planned[name] for name in listening if name in planned and name not in dead}
        chosen = ports.choose({name: planned.get(name) for name in dead})
        if alive and chosen.get("kube-apiserver") not in (None, planned.get("kube-apiserver")):
            # The living ones have connected to a port that somebody else has now.
            supervisor.stop_all()
            return chosen | ports.choose(dict.fromkeys(alive))
        return alive | chosen

    def _bring_up(self, supervisor: Supervisor) -> None:
        supervisor.ensure_ready("etcd")
        supervisor.ensure_ready("kube-apiserver")
        # These two don't depend on each other, and start side by side.
        rest = self._shape.components[2:]
        dead = [name for name in rest if supervisor.find(name) is None]
        for name in dead:
            supervisor.start(name)
        for name in rest:
            if name in dead:
                supervisor.wait_ready(name)
            else:
                supervisor.ensure_ready(name)
        if self._shape.with_controller_manager:
            self._wait_service_account(supervisor)
        self._reporter.step("ready")

    def _wait_service_account(self, supervisor: Supervisor) -> None:
        """Wait for the default namespace's service account, without which Pods are refused."""
        probe = describe("kube-apiserver", supervisor.record, self.directory).probe
        path = "/api/v1/namespaces/default/serviceaccounts/default"
        deadline_seconds = time.monotonic() + SERVICE_ACCOUNT_TIMEOUT_SECONDS
        while why_not := dataclasses.replace(probe, path=path).run():
            if time.monotonic() > deadline_seconds:
                raise DeployError(
                    f"the controller manager made no service account in time ({why_not}); "
                    f"its log is {self.log_path('kube-controller-manager')}"
                )
            time.sleep(0.1)
