"""The shapes of scheduler_perf on a real API server: raw bind run, kube-scheduler, Berthmaster.

As ``end_to_end``, but in a cluster that has Pods already, with Pods that want something, and with
a client that does other things besides. What Pods need (claims, volumes) is there before the clock
starts. After each run the cluster is read and checked: `shape_checks`. A run in which not every Pod
is bound, or in which something is wrong, says so in its faults; the others go on.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import uvloop

from benchmarks.cluster import Cluster, each_of
from benchmarks.contestants import CONTESTANTS, name_of, rotated, scheduler_name_of
from benchmarks.machine import Quietness, look_around
from benchmarks.raw_binder import RawBinder
from benchmarks.scheduler_process import Contestant, SchedulerProcess, running
from benchmarks.shape_checks import Object, faults_of, read_placement
from benchmarks.shape_cluster import CHURN, MEASURED, WARM_UP, PodMaker, ShapeCluster
from benchmarks.throughput import ThroughputMeter, ThroughputRun
from benchmarks.workloads import ShapeWorkload, Workloads
from deploy.controlplane import ControlPlane


class ShapeRun(ThroughputRun, frozen=True, kw_only=True):
    """One run.

    Attributes
    ----------
    churn_pod_count, churn_bound_count
        Pods that the client created besides and that are still there; those on a Node.
    faults
        What was wrong; empty for a good run.
    """

    churn_pod_count: int
    churn_bound_count: int
    faults: tuple[str, ...]


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
    with ControlPlane(state_dir, with_controller_manager=False) as plane:
        scheduler_name = scheduler_name_of(contestant)
        uvloop.run(_fill(plane.kubeconfig_path, workloads, shape, scheduler_name))
        with contextlib.ExitStack() as stack:
            process = stack.enter_context(running(contestant, plane)) if contestant else None
            run = _Run(plane, workloads, shape, contestant, process)
            return uvloop.run(run.measure(plane.kubeconfig_path, quietness))


async def _fill(
    kubeconfig: Path, workloads: Workloads, shape: ShapeWorkload, scheduler_name: str
) -> None:
    async with Cluster.connect(kubeconfig) as cluster:
        await ShapeCluster(cluster, workloads, shape, scheduler_name).fill()


class _Run:
    """One run; `contestant` and `process` are None for the raw bind run."""

    def __init__(
        self,
        plane: ControlPlane,
        workloads: Workloads,
        shape: ShapeWorkload,
        contestant: Contestant | None,
        process: SchedulerProcess | None,
    ) -> None:
        self._workloads = workloads
        self._shape = shape
        self._contestant = contestant
        self._meter = ThroughputMeter(plane, process, create_concurrency=shape.create_concurrency)
        self._faults: list[str] = []

    async def measure(self, kubeconfig: Path, quietness: Quietness) -> ShapeRun:
        shape, meter, is_raw = self._shape, self._meter, self._contestant is None
        async with Cluster.connect(kubeconfig) as cluster:
            scheduler_name = scheduler_name_of(self._contestant)
            filler = ShapeCluster(cluster, self._workloads, shape, scheduler_name)
            raw = RawBinder(cluster, node_count=shape.node_count) if is_raw else None
            warm_up, measured = filler.makers()
            for maker, namespace, count in (
                (warm_up, WARM_UP, shape.warm_up_pod_count),
                (measured, MEASURED, shape.pod_count),
            ):
                await self._create_needed(filler, maker, namespace, count)
            await self._schedule(filler, raw, warm_up, WARM_UP, shape.warm_up_pod_count)
            if await meter.wait_quiet() is None:
                self._faults.append("the processes did not come to rest before the run")
            meter.begin()
            async with churning(filler, shape):
                bound_at = await self._schedule(filler, raw, measured, MEASURED, shape.pod_count)
                meter.note_bound()
            run = await meter.finish(name_of(self._contestant), quietness, bound_at)
            placement = await read_placement(cluster)
        if not is_raw:
            self._faults += faults_of(placement)
        return ShapeRun(
            **msgspec.structs.asdict(run),
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
        self,
        filler: ShapeCluster,
        raw: RawBinder | None,
        maker: PodMaker,
        namespace: str,
        count: int,
    ) -> Mapping[str, float]:
        """Create Pods and wait until all are bound; gives when each was."""
        pods = _pods(filler, maker, namespace, count)
        bound_at, fault = await self._meter.schedule(filler.cluster, namespace, pods, raw)
        if fault:
            self._faults.append(fault)
        return bound_at


def _pods(
    filler: ShapeCluster, maker: PodMaker, namespace: str, count: int
) -> Iterator[tuple[str, bytes]]:
    for place in (filler.place(namespace, index) for index in range(count)):
        yield place[1], maker.body(place)


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
