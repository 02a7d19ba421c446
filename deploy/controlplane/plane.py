"""A real API server on loopback, as a context manager and for the ``up`` and ``down`` commands."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from deploy.controlplane import interrupts, pki, ports
from deploy.controlplane.binaries import obtain_binaries
from deploy.controlplane.components import (
    DEFAULT_PORTS,
    describe,
    kubeconfig,
    new_token,
    write_files,
)
from deploy.controlplane.errors import ControlPlaneError, PortTakenError
from deploy.controlplane.layout import StateDirectory, write_private
from deploy.controlplane.record import Record, Shape
from deploy.controlplane.reporting import Reporter, SilentReporter
from deploy.controlplane.supervisor import Supervisor

START_ATTEMPTS = 5
SERVICE_ACCOUNT_TIMEOUT_SECONDS = 30.0


class ControlPlane:
    """etcd and kube-apiserver, and kube-controller-manager and kwok if wanted, on loopback.

    As a context manager it starts them, waits until they are ready, and on exit ends them and
    removes their files; they end with this process even if it is killed.

    Without kwok new Nodes are not tainted as not ready, since nothing would lift the taint. Without
    the controller manager Pods need no service account, since nothing would make one.

    Parameters
    ----------
    state_dir
        Where its files go; a new temporary directory if None.
    with_kwok
        Run kwok and the node-lifecycle controller: Nodes with the annotation
        ``kwok.x-k8s.io/node: fake`` become Ready, Pods bound to them run.
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
        self._temporary = None if state_dir else Path(tempfile.mkdtemp(prefix="berthmaster-"))
        self.directory = StateDirectory(self._temporary or Path(os.fspath(state_dir or "")))
        self._shape = Shape(
            with_kwok=with_kwok,
            with_controller_manager=with_controller_manager or with_kwok,
            controllers=controllers or "",
            apiserver_args=tuple(apiserver_args),
        )
        self._kubernetes_version = kubernetes_version
        self._reporter = reporter or SilentReporter()
        self._supervisor: Supervisor | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            with interrupts.deferred():
                self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with interrupts.deferred():
            self.stop()

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
    def pids(self) -> dict[str, int]:
        """The pid of each component that runs."""
        found = {name: self._running.find(name) for name in self._shape.components}
        return {name: process.pid for name, process in found.items() if process is not None}

    def log_path(self, component: str) -> Path:
        """Name the log file of a component."""
        return self.directory.log(component)

    def start(self) -> None:
        """Start what doesn't run yet and wait until all is ready."""
        self.directory.create()
        names = self._shape.components
        binaries = obtain_binaries(
            names, kubernetes_version=self._kubernetes_version, reporter=self._reporter
        )
        plan = Record(
            shape=self._shape,
            kubernetes_version=binaries["kube-apiserver"].version,
            binaries={name: str(binary.path) for name, binary in binaries.items()},
            token=new_token(),
            controller_manager_token=new_token(),
        )
        for attempt in range(1, START_ATTEMPTS + 1):
            listening = [name for name in names if name in DEFAULT_PORTS]
            plan = dataclasses.replace(plan, ports=ports.choose(dict.fromkeys(listening)))
            self._supervisor = Supervisor(self.directory, plan, self._reporter)
            plan.save(self.directory)
            write_files(plan, self.directory)
            try:
                self._bring_up()
                return
            except PortTakenError:
                self._supervisor.stop_all()
                if attempt == START_ATTEMPTS:
                    raise

    def stop(self) -> None:
        """End all components and remove their files."""
        if self._supervisor is not None:
            self._supervisor.stop_all()
        self.directory.remove()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def stop_component(self, name: str, *, force: bool = False) -> None:
        """End one component, with SIGTERM or (``force``) at once with SIGKILL, and wait."""
        self._running.stop(name, grace_seconds=0.0 if force else 5.0)

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

        The user may do what RBAC allows the user and the groups, and nothing else.
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
            raise ControlPlaneError("the control plane has not been started")
        return self._supervisor

    def _bring_up(self) -> None:
        supervisor = self._running
        supervisor.ensure_ready("etcd")
        supervisor.ensure_ready("kube-apiserver")
        rest = self._shape.components[2:]
        for name in rest:
            if supervisor.find(name) is None:
                supervisor.start(name)
        for name in rest:
            supervisor.ensure_ready(name)
        if self._shape.with_controller_manager:
            self._wait_service_account()

    def _wait_service_account(self) -> None:
        """Wait for the default namespace's service account, without which Pods are refused."""
        supervisor = self._running
        probe = describe("kube-apiserver", supervisor.record, self.directory).probe
        path = "/api/v1/namespaces/default/serviceaccounts/default"
        deadline_seconds = time.monotonic() + SERVICE_ACCOUNT_TIMEOUT_SECONDS
        while why_not := dataclasses.replace(probe, path=path).run():
            if time.monotonic() > deadline_seconds:
                raise ControlPlaneError(
                    f"the controller manager made no service account in time ({why_not}); "
                    f"its log is {self.log_path('kube-controller-manager')}"
                )
            time.sleep(0.1)
