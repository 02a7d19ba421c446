"""Groups of Pods on a real API server: as fast as Pods on their own, and in nobody's way.

As ``shapes``, but what takes turns are not schedulers: it is the same Pods without any group, then
in groups, or beside groups that do not fit. PodGroups, and the groups that are to wait, are there
before the clock starts; the latter have been tried, and all is quiet. The members of a group are
created one after the other, then those of the next one.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import uvloop

from benchmarks.berthmaster_process import Berthmaster
from benchmarks.cluster import Cluster
from benchmarks.contestants import rotated
from benchmarks.distributions import Distribution, distribution
from benchmarks.machine import Quietness, look_around
from benchmarks.pod_group_cluster import Members, define_pod_groups, faults_of_groups
from benchmarks.scheduler_process import SchedulerProcess, running
from benchmarks.shape_checks import faults_of, read_placement
from benchmarks.shape_cluster import MEASURED, WAITING, WARM_UP, ShapeCluster
from benchmarks.shapes import ShapeRun, churning
from benchmarks.throughput import ThroughputMeter
from benchmarks.workloads import PodGroupVariant, PodGroupWorkload, Workloads
from deploy.controlplane import ControlPlane


class PodGroupRun(ShapeRun, frozen=True, kw_only=True):
    """One run; `contestant` is the variant.

    Attributes
    ----------
    together_milliseconds
        Of each group: from the watch's word on its first Pod to that on its last; None where the
        measured Pods are in no groups.
    """

    together_milliseconds: Distribution | None = None


class PodGroupResult(msgspec.Struct, frozen=True):
    """All runs of one workload, in the order they were made."""

    workload: PodGroupWorkload
    runs: tuple[PodGroupRun, ...]

    def of(self, variant: str) -> list[PodGroupRun]:
        """Give the runs of a variant, or of the baseline."""
        return [run for run in self.runs if run.contestant == variant]


def measure_pod_groups(
    workload: PodGroupWorkload,
    workloads: Workloads,
    *,
    repetitions: int,
    state_dir: Path,
    tell: Callable[[str], None],
) -> PodGroupResult:
    """Make all runs of a workload; another variant begins each round."""
    variants = (PodGroupVariant(name=workload.baseline), *workload.variants)
    runs = []
    for repetition in range(repetitions):
        for variant in rotated(variants, repetition):
            run = _run(variant, workload, workloads, state_dir, tell)
            runs.append(run)
            tell(f"{workload.name}, {repetition + 1} of {repetitions}: {_summary(run)}")
    return PodGroupResult(workload, tuple(runs))


def _run(
    variant: PodGroupVariant,
    workload: PodGroupWorkload,
    workloads: Workloads,
    state_dir: Path,
    tell: Callable[[str], None],
) -> PodGroupRun:
    quietness = look_around(tell)
    contestant = Berthmaster()
    with ControlPlane(state_dir, with_controller_manager=False) as plane:
        filling = _Filling(workload, workloads, variant, contestant.scheduler_name)
        uvloop.run(filling.fill(plane.kubeconfig_path))
        with running(contestant, plane) as process:
            return uvloop.run(
                _Run(plane, filling, process).measure(plane.kubeconfig_path, quietness)
            )


class _Filling:
    """What is created, and when."""

    def __init__(
        self,
        workload: PodGroupWorkload,
        workloads: Workloads,
        variant: PodGroupVariant,
        scheduler_name: str,
    ) -> None:
        self.workload = workload
        self.variant = variant
        self._workloads = workloads
        self._scheduler_name = scheduler_name
        self.measured = self._members(
            workload.pod_pool, MEASURED, workload.pod_count, variant.member_count
        )
        warm_up_count = workload.warm_up_pod_count
        self.warm_up = self._members(
            workload.warm_up_pool, WARM_UP, warm_up_count, variant.member_count and warm_up_count
        )

    def _members(self, pool: str, namespace: str, pod_count: int, member_count: int) -> Members:
        return Members(
            self._workloads.pod_pools[pool][0],
            namespace=namespace,
            scheduler_name=self._scheduler_name,
            pod_count=pod_count,
            member_count=member_count,
        )

    def shape(self, cluster: Cluster) -> ShapeCluster:
        """Give who fills the cluster with all but groups."""
        return ShapeCluster(cluster, self._workloads, self.workload, self._scheduler_name)

    async def fill(self, kubeconfig: Path) -> None:
        """Create all that is there before the scheduler starts."""
        variant = self.variant
        async with Cluster.connect(kubeconfig) as cluster:
            await define_pod_groups(cluster)
            await self.shape(cluster).fill()
            for members in (self.warm_up, self.measured):
                await members.create_groups(cluster)
            if variant.waiting_pool:
                size = variant.waiting_member_count
                count = self.workload.waiting_group_count * size
                waiting = self._members(variant.waiting_pool, WAITING, count, size)
                await waiting.create_groups(cluster)
                await waiting.create_pods(cluster)


class _Run:
    """One run."""

    def __init__(self, plane: ControlPlane, filling: _Filling, process: SchedulerProcess) -> None:
        self._filling = filling
        concurrency = filling.workload.create_concurrency
        self._meter = ThroughputMeter(plane, process, create_concurrency=concurrency)
        self._faults: list[str] = []

    async def measure(self, kubeconfig: Path, quietness: Quietness) -> PodGroupRun:
        filling, meter = self._filling, self._meter
        async with Cluster.connect(kubeconfig) as cluster:
            await self._schedule(cluster, filling.warm_up)
            if await meter.wait_quiet() is None:
                self._faults.append("the processes did not come to rest before the run")
            meter.begin()
            async with churning(filling.shape(cluster), filling.workload):
                bound_at = await self._schedule(cluster, filling.measured)
                meter.note_bound()
            run = await meter.finish(filling.variant.name, quietness, bound_at)
            placement = await read_placement(cluster)
        groups = filling.measured.groups()
        faults = [*faults_of(placement), *faults_of_groups(groups, bound_at, placement)]
        return PodGroupRun(
            **msgspec.structs.asdict(run),
            churn_pod_count=0,
            churn_bound_count=0,
            faults=(*self._faults, *faults),
            together_milliseconds=together(groups, bound_at) if groups else None,
        )

    async def _schedule(self, cluster: Cluster, members: Members) -> Mapping[str, float]:
        """Create Pods and wait until all are bound; gives when each was."""
        bound_at, fault = await self._meter.schedule(cluster, members.namespace, members.pods())
        if fault:
            self._faults.append(fault)
        return bound_at


def together(
    groups: Mapping[str, Sequence[str]], bound_at_seconds: Mapping[str, float]
) -> Distribution:
    """Describe how long after a group's first Pod its last was bound, in milliseconds."""
    times = [
        [bound_at_seconds[pod] for pod in pods if pod in bound_at_seconds]
        for pods in groups.values()
    ]
    return distribution([(max(each) - min(each)) * 1000 for each in times if each])


def _summary(run: PodGroupRun) -> str:
    latency = run.latency_milliseconds
    cpu = run.scheduler_cpu_milliseconds or 0.0
    parts = [
        f"{run.contestant}: {run.pods_per_second:.0f} Pods/s",
        f"p50 {latency.p50:.0f} ms, p99 {latency.p99:.0f} ms",
        f"{cpu:.2f} ms of the scheduler's CPU a Pod",
    ]
    if run.together_milliseconds is not None:
        parts.append(f"first to last of a group at most {run.together_milliseconds.maximum:.0f} ms")
    parts += [f"WRONG: {fault}" for fault in run.faults]
    return ", ".join(parts)
