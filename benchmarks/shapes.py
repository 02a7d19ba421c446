"""The shapes of scheduler_perf on a real API server: raw bind run, kube-scheduler, Berthmaster.

As ``end_to_end``, but in a cluster that has Pods already, with Pods that want something, and with
a client that does other things besides. What Pods need (claims, volumes) is there before the clock
starts. After each run the cluster is read and checked: `shape_checks`. A run in which not every Pod
is bound, or in which something is wrong, says so in its faults; the others go on.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
import uvloop

from benchmarks.binding_watch import BindingWatch
from benchmarks.cluster import PODS, Cluster, each_of
from benchmarks.distributions import Distribution, distribution
from benchmarks.end_to_end import CONTESTANTS, QUIET_TIMEOUT_SECONDS, RAW, rotated
from benchmarks.errors import BenchmarkError
from benchmarks.machine import Quietness, look_around, others_share, read_machine_cpu
from benchmarks.processes import CpuSeconds, read_cpu, used_since, wait_quiet
from benchmarks.raw_binder import RawBinder
from benchmarks.scheduler_process import Contestant, SchedulerProcess, running
from benchmarks.shape_checks import Object, faults_of, read_placement
from benchmarks.shape_cluster import CHURN, MEASURED, WARM_UP, PodMaker, ShapeCluster
from benchmarks.workloads import ShapeWorkload, Workloads
from deploy.controlplane import ControlPlane

STALLED_SECONDS: Final = 45.0
"""No Pod was bound for so long: no more will be."""
BIND_TIMEOUT_SECONDS: Final = 600.0


class ShapeRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run; times from the first create that was sent.

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
    churn_pod_count, churn_bound_count
        Pods that the client created besides and that are still there; those on a Node.
    faults
        What was wrong; empty for a good run.
    """

    contestant: str
    pod_count: int
    quietness: Quietness
    bound_seconds: float
    latency_milliseconds: Distribution
    cpu_until_bound: CpuSeconds
    cpu_until_quiet: CpuSeconds | None
    others_share: float
    churn_pod_count: int
    churn_bound_count: int
    faults: tuple[str, ...]

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


class ShapeResult(msgspec.Struct, frozen=True):
    """All runs of one shape, in the order they were made."""

    workload: ShapeWorkload
    runs: tuple[ShapeRun, ...]

    def of(self, contestant: str) -> list[ShapeRun]:
        """Give the runs of one contestant."""
        return [run for run in self.runs if run.contestant == contestant]


def measure_shape(
    shape: ShapeWorkload,
    workloads: Workloads,
    *,
    repetitions: int,
    state_dir: Path,
    tell: Callable[[str], None],
    contestants: Sequence[Contestant | None] = CONTESTANTS,
) -> ShapeResult:
    """Make all runs of a shape; a different contestant begins each round."""
    runs = []
    for repetition in range(repetitions):
        for contestant in rotated(contestants, repetition):
            run = _run(contestant, shape, workloads, state_dir, tell)
            runs.append(run)
            tell(f"{shape.name}, {repetition + 1} of {repetitions}: {_summary(run)}")
    return ShapeResult(shape, tuple(runs))


def _run(
    contestant: Contestant | None,
    shape: ShapeWorkload,
    workloads: Workloads,
    state_dir: Path,
    tell: Callable[[str], None],
) -> ShapeRun:
    quietness = look_around(tell)
    scheduler_name = contestant.scheduler_name if contestant else "nobody"
    with ControlPlane(state_dir, with_controller_manager=False) as plane:
        uvloop.run(_fill(plane.kubeconfig_path, workloads, shape, scheduler_name))
        with contextlib.ExitStack() as stack:
            process = stack.enter_context(running(contestant, plane)) if contestant else None
            run = _Run(plane, workloads, shape, scheduler_name, process)
            return uvloop.run(run.measure(contestant.name if contestant else RAW, quietness))


async def _fill(
    kubeconfig: Path, workloads: Workloads, shape: ShapeWorkload, scheduler_name: str
) -> None:
    async with Cluster.connect(kubeconfig) as cluster:
        await ShapeCluster(cluster, workloads, shape, scheduler_name).fill()


class _Run:
    """One run; `process` is None for the raw bind run."""

    def __init__(
        self,
        plane: ControlPlane,
        workloads: Workloads,
        shape: ShapeWorkload,
        scheduler_name: str,
        process: SchedulerProcess | None,
    ) -> None:
        self._kubeconfig = plane.kubeconfig_path
        self._workloads = workloads
        self._shape = shape
        self._scheduler_name = scheduler_name
        self._process = process
        self._servers = dict(plane.pids)
        if process is not None:
            self._servers["scheduler"] = process.pid
        self._pids = {**self._servers, "client": os.getpid()}
        self._created_at_seconds: dict[str, float] = {}
        self._faults: list[str] = []

    async def measure(self, name: str, quietness: Quietness) -> ShapeRun:
        shape = self._shape
        async with Cluster.connect(self._kubeconfig) as cluster:
            filler = ShapeCluster(cluster, self._workloads, shape, self._scheduler_name)
            raw = RawBinder(cluster, node_count=shape.node_count)
            warm_up, measured = filler.makers()
            for maker, namespace, count in (
                (warm_up, WARM_UP, shape.warm_up_pod_count),
                (measured, MEASURED, shape.pod_count),
            ):
                await self._create_needed(filler, maker, namespace, count)
            await self._schedule(filler, raw, warm_up, WARM_UP, shape.warm_up_pod_count)
            if await wait_quiet(self._servers, timeout_seconds=QUIET_TIMEOUT_SECONDS) is None:
                self._faults.append("the processes did not come to rest before the run")
            self._created_at_seconds.clear()
            async with churning(filler, shape):
                machine_before, cpu_before = read_machine_cpu(), read_cpu(self._pids)
                bound_at = await self._schedule(filler, raw, measured, MEASURED, shape.pod_count)
                machine_bound, cpu_bound = read_machine_cpu(), read_cpu(self._pids)
            cpu_quiet = await self._read_quiet_cpu()
            placement = await read_placement(cluster)
        if self._process is not None:
            self._faults += faults_of(placement)
        created_at = self._created_at_seconds
        cpu_until_bound = used_since(cpu_before, cpu_bound)
        return ShapeRun(
            contestant=name,
            pod_count=len(bound_at),
            quietness=quietness,
            bound_seconds=max(bound_at.values(), default=0) - min(created_at.values()),
            latency_milliseconds=distribution(
                [(bound_at[pod] - created_at[pod]) * 1000 for pod in bound_at]
            ),
            cpu_until_bound=cpu_until_bound,
            cpu_until_quiet=cpu_quiet and used_since(cpu_before, cpu_quiet),
            others_share=others_share(machine_before, machine_bound, sum(cpu_until_bound.values())),
            churn_pod_count=_count_churned([*placement.pods, *placement.pending]),
            churn_bound_count=_count_churned(placement.pods),
            faults=tuple(self._faults),
        )

    async def _create_needed(
        self, filler: ShapeCluster, maker: PodMaker, namespace: str, count: int
    ) -> None:
        async def create(index: int) -> None:
            await filler.create_needed(maker, filler.place(namespace, index))

        if maker.objects:
            await each_of(range(count), create, concurrency=self._shape.create_concurrency)

    async def _schedule(
        self, filler: ShapeCluster, raw: RawBinder, maker: PodMaker, namespace: str, count: int
    ) -> dict[str, float]:
        """Create Pods and wait until all are bound; gives when each was."""
        pods = PODS.in_namespace(namespace)
        bodies = [
            (place[1], maker.body(place))
            for place in (filler.place(namespace, index) for index in range(count))
        ]

        async def create(pod: tuple[str, bytes]) -> None:
            name, body = pod
            if self._process is None:
                await raw.create_and_bind(pods, name, body, self._note_created)
            else:
                self._note_created(name)
                await filler.cluster.create(pods, body)

        async with BindingWatch.of(filler.cluster.client, namespace) as watch:
            await each_of(bodies, create, concurrency=self._shape.create_concurrency)
            try:
                await watch.wait_bound(
                    count,
                    check=lambda: self._check(watch),
                    timeout_seconds=BIND_TIMEOUT_SECONDS,
                )
            except BenchmarkError as error:
                self._faults.append(
                    f"{len(watch.bound_at_seconds):,} of {count:,} Pods were bound in "
                    f"{namespace}: {error}"
                )
            return dict(watch.bound_at_seconds)

    def _note_created(self, name: str) -> None:
        self._created_at_seconds[name] = time.perf_counter()

    def _check(self, watch: BindingWatch) -> None:
        if self._process is not None:
            self._process.check_alive()
        if time.perf_counter() - watch.changed_at_seconds > STALLED_SECONDS:
            raise BenchmarkError(f"none was bound for {STALLED_SECONDS:.0f} s")

    async def _read_quiet_cpu(self) -> CpuSeconds | None:
        """Give all CPU as it was when quiet came; the client's is what it is by now."""
        servers = await wait_quiet(self._servers, timeout_seconds=QUIET_TIMEOUT_SECONDS)
        return servers and {**read_cpu(self._pids), **servers}


@contextlib.asynccontextmanager
async def churning(filler: ShapeCluster, shape: ShapeWorkload) -> AsyncIterator[None]:
    """Let the client do what it does besides during the block; its failure ends the run."""
    if shape.churn is None:
        yield
        return
    task = asyncio.create_task(filler.churn(shape.churn))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def _count_churned(pods: Sequence[Object]) -> int:
    return sum(pod["metadata"]["namespace"] == CHURN for pod in pods)


def _summary(run: ShapeRun) -> str:
    latency = run.latency_milliseconds
    parts = [
        f"{run.contestant}: {run.pods_per_second:.0f} Pods/s",
        f"p50 {latency.p50:.0f} ms, p99 {latency.p99:.0f} ms",
    ]
    cpu = run.scheduler_cpu_milliseconds
    if cpu is not None:
        parts.append(f"{cpu:.2f} ms of the scheduler's CPU a Pod")
    if run.churn_pod_count:
        parts.append(f"besides {run.churn_bound_count} of {run.churn_pod_count} bound")
    parts += [f"WRONG: {fault}" for fault in run.faults]
    return ", ".join(parts)
