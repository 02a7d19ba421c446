"""One run of any workload of Pods: they are created and bound, and the CPU is counted meanwhile.

CPU is counted from the first create until all processes have come to rest, so that work put off
is counted as well.
"""

import os
import time
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from benchmarks.binding_watch import BindingWatch
from benchmarks.cluster import PODS, Cluster, each_of
from benchmarks.distributions import Distribution, distribution
from benchmarks.errors import BenchmarkError
from benchmarks.machine import Quietness, others_share, read_machine_cpu
from benchmarks.processes import CpuSeconds, read_cpu, used_since, wait_quiet
from benchmarks.raw_binder import RawBinder
from benchmarks.scheduler_process import SchedulerProcess
from deploy.controlplane import ControlPlane

STALLED_SECONDS: Final = 45.0
"""No Pod was bound for so long: no more will be."""
BIND_TIMEOUT_SECONDS: Final = 600.0
QUIET_TIMEOUT_SECONDS: Final = 60.0


class ThroughputRun(msgspec.Struct, frozen=True, kw_only=True):
    """What is told of any run; times from the first create that was sent.

    Attributes
    ----------
    pod_count
        Pods that were bound.
    bound_seconds
        Until the watch told of the last of them.
    latency_milliseconds
        Of each Pod: from its own create to the watch's word that it is bound.
    cpu_until_bound, cpu_until_quiet
        CPU seconds by process. The latter is None if the quiet never came.
    others_share
        Part of the machine's CPU that others used until the last Pod was bound.
    """

    contestant: str
    pod_count: int
    quietness: Quietness
    bound_seconds: float
    latency_milliseconds: Distribution
    cpu_until_bound: CpuSeconds
    cpu_until_quiet: CpuSeconds | None
    others_share: float

    @property
    def pods_per_second(self) -> float:
        """Throughput, from the first create to the last Pod bound."""
        return self.pod_count / self.bound_seconds if self.bound_seconds else 0.0

    @property
    def scheduler_cpu_milliseconds(self) -> float | None:
        """CPU of the scheduler a Pod, until quiet if that came; None for the raw bind run."""
        used = self.cpu_until_quiet or self.cpu_until_bound
        if "scheduler" not in used or not self.pod_count:
            return None
        return used["scheduler"] * 1000 / self.pod_count


class Scheduled(NamedTuple):
    """When the watch told of each Pod that was bound, and why they are not all; "" if they are."""

    bound_at_seconds: Mapping[str, float]
    fault: str


class ThroughputMeter:
    """Takes Pods through one control plane; `process` is None for the raw bind run.

    `others` are processes, by name, that have a part in it besides.

    Attributes
    ----------
    created_at_seconds
        When each Pod's create was sent, by name, since `begin`; ``time.perf_counter``.
    """

    def __init__(
        self,
        plane: ControlPlane,
        process: SchedulerProcess | None,
        *,
        create_concurrency: int,
        others: Mapping[str, int] | None = None,
    ) -> None:
        self._process = process
        self._create_concurrency = create_concurrency
        self._servers = {**plane.pids, **(others or {})}
        if process is not None:
            self._servers["scheduler"] = process.pid
        self._pids = {**self._servers, "client": os.getpid()}
        self.created_at_seconds: dict[str, float] = {}
        self._machine_before = self._machine_bound = read_machine_cpu()
        self._cpu_before: CpuSeconds = {}
        self._cpu_bound: CpuSeconds = {}

    async def wait_quiet(self) -> CpuSeconds | None:
        """Wait until all have come to rest; give their CPU as it was then, None if they do not."""
        return await wait_quiet(self._servers, timeout_seconds=QUIET_TIMEOUT_SECONDS)

    def begin(self) -> None:
        """Begin to count."""
        self.created_at_seconds.clear()
        self._machine_before, self._cpu_before = read_machine_cpu(), read_cpu(self._pids)

    def note_bound(self) -> None:
        """Take note that the last Pod is bound now."""
        self._machine_bound, self._cpu_bound = read_machine_cpu(), read_cpu(self._pids)

    async def schedule(
        self,
        cluster: Cluster,
        namespace: str,
        pods: Iterable[tuple[str, bytes]],
        raw: RawBinder | None = None,
    ) -> Scheduled:
        """Create Pods, names and bodies, and wait until all are bound; `raw` binds them itself."""
        resource, bodies = PODS.in_namespace(namespace), list(pods)

        async def create(pod: tuple[str, bytes]) -> None:
            name, body = pod
            if raw is not None:
                await raw.create_and_bind(resource, name, body, self._note_created)
            else:
                self._note_created(name)
                await cluster.create(resource, body)

        count, fault = len(bodies), ""
        async with BindingWatch.of(cluster.client, namespace) as watch:
            await each_of(bodies, create, concurrency=self._create_concurrency)
            try:
                await watch.wait_bound(
                    count,
                    check=lambda: self._check(watch),
                    timeout_seconds=BIND_TIMEOUT_SECONDS,
                )
            except BenchmarkError as error:
                bound_count = len(watch.bound_at_seconds)
                fault = f"{bound_count:,} of {count:,} Pods were bound in {namespace}: {error}"
            return Scheduled(dict(watch.bound_at_seconds), fault)

    async def finish(
        self, contestant: str, quietness: Quietness, bound_at_seconds: Mapping[str, float]
    ) -> ThroughputRun:
        """Wait for quiet and give all figures since `begin`; the client's CPU is that of now."""
        servers = await self.wait_quiet()
        cpu_quiet = servers and {**read_cpu(self._pids), **servers}
        created_at = self.created_at_seconds
        used = used_since(self._cpu_before, self._cpu_bound)
        return ThroughputRun(
            contestant=contestant,
            pod_count=len(bound_at_seconds),
            quietness=quietness,
            bound_seconds=max(bound_at_seconds.values(), default=0) - min(created_at.values()),
            latency_milliseconds=distribution(
                [(at - created_at[pod]) * 1000 for pod, at in bound_at_seconds.items()]
            ),
            cpu_until_bound=used,
            cpu_until_quiet=cpu_quiet and used_since(self._cpu_before, cpu_quiet),
            others_share=others_share(
                self._machine_before, self._machine_bound, sum(used.values())
            ),
        )

    def check_alive(self) -> None:
        """Raise `BenchmarkError` if the scheduler has ended."""
        if self._process is not None:
            self._process.check_alive()

    def _note_created(self, name: str) -> None:
        self.created_at_seconds[name] = time.perf_counter()

    def _check(self, watch: BindingWatch) -> None:
        self.check_alive()
        if time.perf_counter() - watch.changed_at_seconds > STALLED_SECONDS:
            raise BenchmarkError(f"none was bound for {STALLED_SECONDS:.0f} s")
