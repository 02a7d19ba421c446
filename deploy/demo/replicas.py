"""The scheduler's replicas, started as users start them, and asked as a Prometheus asks them.

They belong to the control plane's state directory: whatever ends the control plane there also ends
them, even after this process was killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from deploy.controlplane import ControlPlane, pki
from deploy.demo.access import USER_AGENT, fixed_credentials
from deploy.demo.errors import DemoError
from deploy.programs import interrupts, processes
from deploy.programs.private_files import write_private
from kubeio.client import KubeClient
from kubeio.errors import KubeError

PROJECT = Path(__file__).resolve().parents[2]
STOP_SECONDS = 8.0
LOG_TAIL_LINES = 15
POLL_SECONDS = 0.1
ASK_SECONDS = 5.0
LEADER_METRIC = "leader_election_master_status"
_SERVING = re.compile(r"Serving securely.*\bport=(\d+)")


class Replica:
    """One scheduler process.

    Parameters
    ----------
    plane
        Where it schedules, and where its log goes.
    name
        ``scheduler-1``.
    certificate
        Files to serve with: certificate and key.
    """

    def __init__(self, plane: ControlPlane, name: str, certificate: tuple[Path, Path]) -> None:
        self.name = name
        self.log_path = plane.log_path(name)
        self._plane = plane
        self._owner = plane.directory.path
        certificate_path, key_path = certificate
        command = [
            sys.executable,
            *("-m", "berthmaster", "scheduler"),
            f"--kubeconfig={plane.kubeconfig_path}",
            "--bind-address=127.0.0.1",
            "--secure-port=0",
            f"--tls-cert-file={certificate_path}",
            f"--tls-private-key-file={key_path}",
            "--v=2",
        ]
        with interrupts.deferred():
            self._process = processes.spawn(
                command,
                owner=self._owner,
                component=name,
                log=self.log_path,
                environment={"HOME": str(self._owner), "PATH": os.environ.get("PATH", os.defpath)},
                directory=PROJECT,
            )

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def url(self) -> str:
        """Where it serves, as its log says; "" until it does."""
        found = _SERVING.search(self.log_path.read_text(errors="replace"))
        return f"https://127.0.0.1:{found[1]}" if found else ""

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def check_alive(self) -> None:
        """Raise a `DemoError` with the log's last lines if the process has ended."""
        code = self._process.poll()
        if code is not None:
            raise DemoError(f"{self.name} ended by itself (exit code {code})\n{self.log_tail()}")

    def kill(self) -> None:
        """End the process with SIGKILL: it has no time for anything."""
        self._process.kill()
        self._process.wait()

    def ask_to_stop(self) -> None:
        """Send SIGTERM, unless it has ended."""
        self._process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """Wait for its end after `ask_to_stop`; SIGKILL if that takes too long."""
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def log_tail(self) -> str:
        """Give the log's last lines."""
        lines = self.log_path.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
        return f"the last lines of {self.log_path}:\n" + "\n".join(f"  {line}" for line in lines)

    async def get(self, path: str) -> str:
        """GET one of its endpoints, as the administrator; `KubeError` if that fails."""
        credentials = fixed_credentials(
            self.url, token=self._plane.token, ca_path=self._plane.ca_path
        )
        async with KubeClient(credentials, user_agent=USER_AGENT) as client:
            response = await client.call("GET", path, timeout_seconds=ASK_SECONDS)
        return response.body.decode()

    async def is_ready(self) -> bool:
        """Ask ``/readyz``."""
        if not self.url:
            return False
        try:
            await self.get("/readyz")
        except KubeError:
            return False
        return True

    async def is_leading(self) -> bool:
        """Ask ``/metrics`` whether it holds the Lease."""
        try:
            return _is_leading(await self.get("/metrics"))
        except KubeError:
            return False


@contextlib.contextmanager
def run_replicas(plane: ControlPlane, count: int, *, keep: bool = False) -> Iterator[list[Replica]]:
    """Start replicas; end them in good order on leaving, unless they are to be kept."""
    authority = pki.KeyPair(
        plane.directory.authority.read_bytes(), plane.directory.authority_key.read_bytes()
    )
    serving = pki.create_serving(authority)
    certificate = (
        plane.directory.certificates / "scheduler.crt",
        plane.directory.certificates / "scheduler.key",
    )
    write_private(certificate[0], serving.certificate)
    write_private(certificate[1], serving.key)
    replicas: list[Replica] = []
    is_over = False
    try:
        replicas.extend(
            Replica(plane, f"scheduler-{number}", certificate) for number in range(1, count + 1)
        )
        yield replicas
        is_over = True
    finally:
        if not (keep and is_over):
            with interrupts.deferred():
                _stop(replicas)


async def wait_for_leader(replicas: Sequence[Replica], *, timeout_seconds: float) -> Replica:
    """Wait until all are ready and one leads; give that one.

    Raises
    ------
    DemoError
        If one ends, or it takes too long.
    """
    try:
        async with asyncio.timeout(timeout_seconds):
            while True:
                for replica in replicas:
                    replica.check_alive()
                if all([await replica.is_ready() for replica in replicas]):
                    leading = [replica for replica in replicas if await replica.is_leading()]
                    if len(leading) == 1:
                        return leading[0]
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError as error:
        tails = "\n".join(replica.log_tail() for replica in replicas)
        raise DemoError(
            f"the schedulers are not ready, one of them leading, after {timeout_seconds:g} s\n"
            f"{tails}"
        ) from error


def _stop(replicas: Sequence[Replica]) -> None:
    living = [replica for replica in replicas if replica.is_alive]
    for replica in living:
        replica.ask_to_stop()
    for replica in living:
        replica.stop()


def _is_leading(exposition: str) -> bool:
    return any(
        sample.value == 1
        for family in text_string_to_metric_families(exposition)
        if family.name == LEADER_METRIC
        for sample in family.samples
    )
