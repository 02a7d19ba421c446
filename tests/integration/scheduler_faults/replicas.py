"""Replicas that compete for a Lease, each with a link of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from deploy.controlplane import ControlPlane
from tests.faultproxy import Match, RequestRecord
from tests.integration.scheduler_faults.cluster import Cluster
from tests.integration.scheduler_faults.link import BINDING, Link
from tests.integration.scheduler_faults.loop_thread import LoopThread
from tests.integration.scheduler_faults.stage import start_scheduler
from tests.integration.scheduler_process import SchedulerProcess


class Replica:
    """A scheduler process, its link, and what can be read from what went over it."""

    def __init__(self, link: Link, process: SchedulerProcess, lease: str) -> None:
        self.link = link
        self.process = process
        self._lease = Match(path=f"/leases/{lease}$|/leases$")

    @classmethod
    @contextmanager
    def start(
        cls, cluster: Cluster, loop: LoopThread, plane: ControlPlane, directory: Path, *flags: str
    ) -> Iterator[Self]:
        """Start one that competes for a Lease of the cluster's name."""
        with Link(loop, plane, directory) as link:
            lease = f"--leader-elect-resource-name={cluster.name}"
            with start_scheduler(link, directory / "log", lease, *flags) as process:
                yield cls(link, process, cluster.name)

    def wait_leading(self) -> None:
        """Wait until it says that it leads."""
        self.process.wait_line("Leading:")

    def wait_standing_by(self) -> None:
        """Wait until it knows the cluster and whose the Lease is."""
        self.process.wait_line("Listed the cluster")
        self.process.wait_line("New leader elected")

    def bindings(self) -> list[RequestRecord]:
        """Give the Bindings that it has sent."""
        return self.link.requests(BINDING)

    def renewals(self) -> list[float]:
        """Give when it sent the writes that gave it the Lease, or kept it (`time.monotonic`)."""
        return [
            request.at
            for request in self.link.requests(self._lease)
            if request.method in ("POST", "PUT")
            and request.status in (200, 201)
            and json.loads(request.body)["spec"]["holderIdentity"]
        ]


def cpu_share(processes: list[SchedulerProcess], *, seconds: float) -> list[float]:
    """Measure how much of one core each process uses."""
    begun = time.monotonic()
    before = [process.cpu_seconds() for process in processes]
    time.sleep(seconds)
    lasted = time.monotonic() - begun
    return [
        (process.cpu_seconds() - used) / lasted
        for process, used in zip(processes, before, strict=True)
    ]
