"""Memory and start-up in a cluster that is full already: kube-scheduler and Berthmaster in turn.

One API server is filled with Nodes and bound Pods of a realistic size; then each scheduler is
started in it several times. One Pod waits for it. Measured are the time until that Pod is bound,
the memory once all is quiet, and the most it ever was, which is while the first list is read. Then
the API server is killed and started again: its history is gone, so everything is listed anew by a
process that knows it all already, and the peak is read once more.

Lease durations are longer than by default, so that nobody loses its Lease to that.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
import uvloop

from benchmarks.berthmaster_process import Berthmaster
from benchmarks.binding_watch import BindingWatch
from benchmarks.cluster import PODS, Cluster, each_of, encode
from benchmarks.errors import BenchmarkError
from benchmarks.kube_scheduler import KubeScheduler
from benchmarks.machine import Quietness, look_around
from benchmarks.manifests import ReplicaSetPods, node_name, plain_pod
from benchmarks.processes import Memory, read_cpu, read_memory, wait_quiet
from benchmarks.scheduler_process import Contestant, SchedulerProcess, running
from benchmarks.workloads import FootprintWorkload, PodTemplate, Workloads
from deploy.controlplane import ControlPlane

CONTESTANTS: Final[tuple[Contestant, ...]] = (
    KubeScheduler(outlives_api_server=True),
    Berthmaster(outlives_api_server=True),
)
FILLED: Final = "filled"
START_TIMEOUT_SECONDS: Final = 300.0
QUIET_TIMEOUT_SECONDS: Final = 120.0


class FootprintRun(msgspec.Struct, frozen=True, kw_only=True):
    """One start of one scheduler.

    Attributes
    ----------
    startup_seconds
        From the start of the process to the first Binding, as a watch tells of it.
    startup_cpu_seconds
        CPU of the scheduler until then.
    memory
        Once all was quiet after the start.
    memory_after_relist
        Once all was quiet after the API server's restart and another Pod bound.
    """

    contestant: str
    quietness: Quietness
    startup_seconds: float
    startup_cpu_seconds: float
    memory: Memory
    memory_after_relist: Memory


class FootprintResult(msgspec.Struct, frozen=True):
    """All starts, in the order they were made; `pod_bytes` is a listed Pod's mean size."""

    workload: FootprintWorkload
    pod_bytes: float
    runs: tuple[FootprintRun, ...]

    def of(self, contestant: str) -> list[FootprintRun]:
        """Give the runs of one contestant."""
        return [run for run in self.runs if run.contestant == contestant]


def measure_footprint(
    workloads: Workloads, *, repetitions: int, state_dir: Path, tell: Callable[[str], None]
) -> FootprintResult:
    """Fill a cluster and make all runs in it; another contestant begins each round."""
    workload = workloads.footprint
    with ControlPlane(state_dir, with_controller_manager=False) as plane:
        tell(f"footprint: creating {workload.node_count} Nodes and {workload.pod_count} bound Pods")
        pod_bytes = uvloop.run(_fill(plane.kubeconfig_path, workloads))
        tell(f"footprint: filled, {pod_bytes:.0f} bytes of JSON a Pod")
        runs: list[FootprintRun] = []
        for repetition in range(repetitions):
            for contestant in CONTESTANTS[:: -1 if repetition % 2 else 1]:
                number = len(runs)
                start = _Start(plane, contestant, workloads.pod_pools[workload.pod_pool][0])
                run = start.measure(f"probe-{number}", tell)
                runs.append(run)
                tell(f"footprint, {repetition + 1} of {repetitions}: {_summary(run)}")
    return FootprintResult(workload, pod_bytes, tuple(runs))


async def _fill(kubeconfig: Path, workloads: Workloads) -> float:
    """Create everything; give the mean size of a Pod."""
    workload = workloads.footprint
    async with Cluster.connect(kubeconfig) as cluster:
        await cluster.create_nodes(workloads.node_pools[workload.node_pool], workload.node_count)
        await cluster.create_namespace(FILLED)
        pods = ReplicaSetPods(
            workloads.pod_pools[workload.pod_pool],
            scheduler_name="default-scheduler",
            environment_variable_count=workload.environment_variable_count,
        )
        bodies = (
            encode(
                pods.pod(
                    index % workload.class_count,
                    namespace=FILLED,
                    node_name=node_name(index % workload.node_count),
                )
            )
            for index in range(workload.pod_count)
        )
        resource = PODS.in_namespace(FILLED)
        await each_of(
            bodies,
            lambda body: cluster.create(resource, body),
            concurrency=workload.create_concurrency,
        )
        return await cluster.mean_pod_bytes()


class _Start:
    """One start of one scheduler in the full cluster."""

    def __init__(self, plane: ControlPlane, contestant: Contestant, template: PodTemplate) -> None:
        self._plane = plane
        self._contestant = contestant
        self._template = template

    def measure(self, namespace: str, tell: Callable[[str], None]) -> FootprintRun:
        """Do it, with Pods of its own in a new namespace."""
        uvloop.run(self._prepare(namespace))
        quietness = look_around(tell)
        with running(self._contestant, self._plane) as process:
            startup_seconds, cpu_seconds = uvloop.run(self._wait_first(namespace, process))
            uvloop.run(self._wait_quiet(process))
            memory = read_memory(process.pid)
            self._plane.stop_component("kube-apiserver", force=True)
            self._plane.start_component("kube-apiserver")
            uvloop.run(self._bind_another(namespace, process))
            uvloop.run(self._wait_quiet(process))
            memory_after_relist = read_memory(process.pid)
            process.check_alive()
        return FootprintRun(
            contestant=self._contestant.name,
            quietness=quietness,
            startup_seconds=startup_seconds,
            startup_cpu_seconds=cpu_seconds,
            memory=memory,
            memory_after_relist=memory_after_relist,
        )

    async def _prepare(self, namespace: str) -> None:
        """Create the Pod that waits, and let the first comer lead."""
        async with Cluster.connect(self._plane.kubeconfig_path) as cluster:
            await cluster.create_namespace(namespace)
            await self._create_pod(cluster, namespace, "first")
            await cluster.delete_leases()
        await self._wait_quiet(None)

    async def _wait_first(self, namespace: str, process: SchedulerProcess) -> tuple[float, float]:
        """Give the seconds and the CPU seconds until the first Binding."""
        async with (
            Cluster.connect(self._plane.kubeconfig_path) as cluster,
            BindingWatch.of(cluster.client, namespace) as watch,
        ):
            await watch.wait_bound(
                1, check=process.check_alive, timeout_seconds=START_TIMEOUT_SECONDS
            )
            cpu_seconds = read_cpu({"scheduler": process.pid})["scheduler"]
            bound_at_seconds = min(watch.bound_at_seconds.values())
        return bound_at_seconds - process.started_at_seconds, cpu_seconds

    async def _bind_another(self, namespace: str, process: SchedulerProcess) -> None:
        """See that the scheduler works again."""
        async with (
            Cluster.connect(self._plane.kubeconfig_path) as cluster,
            BindingWatch.of(cluster.client, namespace) as watch,
        ):
            await self._create_pod(cluster, namespace, "second")
            await watch.wait_bound(
                2, check=process.check_alive, timeout_seconds=START_TIMEOUT_SECONDS
            )

    async def _create_pod(self, cluster: Cluster, namespace: str, name: str) -> None:
        manifest = plain_pod(
            name,
            self._template,
            namespace=namespace,
            scheduler_name=self._contestant.scheduler_name,
        )
        await cluster.create(PODS.in_namespace(namespace), encode(manifest))

    async def _wait_quiet(self, process: SchedulerProcess | None) -> None:
        pids = dict(self._plane.pids)
        if process is not None:
            pids["scheduler"] = process.pid
        if await wait_quiet(pids, timeout_seconds=QUIET_TIMEOUT_SECONDS) is None:
            raise BenchmarkError(
                f"{self._contestant.name}: the processes do not come to rest within "
                f"{QUIET_TIMEOUT_SECONDS:.0f} s"
            )


def _summary(run: FootprintRun) -> str:
    memory, after = run.memory, run.memory_after_relist
    return (
        f"{run.contestant}: first Binding after {run.startup_seconds:.2f} s, "
        f"{mebibytes(memory.resident):.0f} MiB resident, at most "
        f"{mebibytes(memory.peak_resident):.0f} MiB, after a relist "
        f"{mebibytes(after.peak_resident):.0f} MiB"
    )


def mebibytes(size_bytes: float) -> float:
    """Give bytes in MiB."""
    return size_bytes / 2**20
