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
from benchmarks.contestants import (
    CONTESTANTS,
    name_of,
    rotated,
    scheduler_name_of,
    with_extender,
)
from benchmarks.distributions import Distribution
from benchmarks.extender_checks import faults_of_extender, latencies
from benchmarks.extender_process import RunningExtender, running_extender
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
    asking_latency_milliseconds, other_latency_milliseconds
        As `latency_milliseconds`, of the Pods that the shape's extender was asked about, and of
        the others; None where there are none.
    """

    churn_pod_count: int
    churn_bound_count: int
    faults: tuple[str, ...]
    asking_latency_milliseconds: Distribution | None = None
    other_latency_milliseconds: Distribution | None = None

    @property
    def extender_cpu_milliseconds(self) -> float | None:
        """CPU of the extender a Pod, until quiet if that came; None where there was none."""
        used = self.cpu_until_quiet or self.cpu_until_bound
        if "extender" not in used or not self.pod_count:
            return None
        return used["extender"] * 1000 / self.pod_count


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
            process = extender = None
            if contestant is not None:
                extender = stack.enter_context(running_extender(shape.extender, plane))
                if extender is not None:
                    contestant = with_extender(contestant, extender.entry)
                process = stack.enter_context(running(contestant, plane))
            run = _Run(plane, workloads, shape, contestant, process, extender)
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
        extender: RunningExtender | None,
    ) -> None:
        self._workloads = workloads
        self._shape = shape
        self._contestant = contestant
        self._meter = ThroughputMeter(
            plane,
            process,
            create_concurrency=shape.create_concurrency,
            others={"extender": extender.pid} if extender else {},
        )
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
        asking = others = None
        if not is_raw:
            self._faults += faults_of(placement, ignored=_ignored_resources(shape))
        if not is_raw and shape.extender is not None:
            self._faults += faults_of_extender(shape.extender, placement)
            asking, others = latencies(
                shape.extender, placement, meter.created_at_seconds, bound_at
            )
        return ShapeRun(
            **msgspec.structs.asdict(run),
            churn_pod_count=_count_churned([*placement.pods, *placement.pending]),
            churn_bound_count=_count_churned(placement.pods),
            faults=tuple(self._faults),
            asking_latency_milliseconds=asking,
            other_latency_milliseconds=others,
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
    for index in range(count):
        place = filler.place(namespace, index)
        yield place[1], maker.body(place, index)


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


def _ignored_resources(shape: ShapeWorkload) -> frozenset[str]:
    """Give the resources that an extender alone accounts for: no Node offers them."""
    managed = shape.extender.managed_resources if shape.extender else ()
    return frozenset(each["name"] for each in managed if each.get("ignoredByScheduler"))


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
    for name, each in (
        ("asking", run.asking_latency_milliseconds),
        ("others", run.other_latency_milliseconds),
    ):
        if each is not None:
            parts.append(f"{name} p50 {each.p50:.0f} ms, p99 {each.p99:.0f} ms")
    if run.churn_pod_count:
        parts.append(f"besides {run.churn_bound_count} of {run.churn_pod_count} bound")
    parts += [f"WRONG: {fault}" for fault in run.faults]
    return ", ".join(parts)
