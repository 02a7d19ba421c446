"""Created to bound on a real API server: the raw bind run, kube-scheduler, Berthmaster, in turn.

Every run has an etcd and a kube-apiserver of its own with nothing in them but what is told here.
They, the scheduler and the client share the same cores. A run:

1. create the Nodes, start the scheduler, wait until it has bound some Pods and all is quiet;
2. create the Pods, so many at a time, and watch until the last one is bound;
3. wait until every Scheduled event can be read, and until all is quiet again.

CPU is counted from the begin of 2 to the quiet of 3, so that work put off is counted as well.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import uvloop

from benchmarks.berthmaster_process import Berthmaster
from benchmarks.binding_watch import BindingWatch
from benchmarks.cluster import PODS, Cluster, each_of, encode
from benchmarks.distributions import Distribution, distribution
from benchmarks.errors import BenchmarkError
from benchmarks.kube_scheduler import KubeScheduler
from benchmarks.machine import Quietness, look_around, others_share, read_machine_cpu
from benchmarks.manifests import plain_pod
from benchmarks.processes import CpuSeconds, read_cpu, used_since, wait_quiet
from benchmarks.raw_binder import RawBinder
from benchmarks.scheduler_process import Contestant, SchedulerProcess, running
from benchmarks.workloads import EndToEndWorkload, PodTemplate, Workloads
from deploy.controlplane import ControlPlane

T = TypeVar("T")

RAW: Final = "raw bind run"
KUBE_SCHEDULER: Final = KubeScheduler.name
BERTHMASTER: Final = Berthmaster.name
CONTESTANTS: Final[tuple[Contestant | None, ...]] = (None, KubeScheduler(), Berthmaster())
"""In the order of the first round; None is the raw bind run."""

WARM_UP: Final = "warm-up"
MEASURED: Final = "measured"
BIND_TIMEOUT_SECONDS: Final = 300.0
QUIET_TIMEOUT_SECONDS: Final = 60.0
EVENTS_STALLED_SECONDS: Final = 45.0
"""Berthmaster may hold an event back for 30 s."""
_POLL_SECONDS: Final = 0.1
_RECOUNT_SECONDS: Final = 1.0


class EndToEndRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run; times from the first create that was sent.

    Attributes
    ----------
    bound_seconds
        Until the watch told of the last Pod.
    latency_milliseconds
        Of each Pod: from its own create to the watch's word that it is bound.
    events_seconds
        Until every Pod's Scheduled event could be read; None where none is written, or some
        never came (`event_count` says how many did).
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
    events_seconds: float | None
    event_count: int
    cpu_until_bound: CpuSeconds
    cpu_until_quiet: CpuSeconds | None
    others_share: float

    @property
    def pods_per_second(self) -> float:
        """Throughput, from the first create to the last Pod bound."""
        return self.pod_count / self.bound_seconds

    @property
    def pods_per_second_with_events(self) -> float | None:
        """The same until every Scheduled event is readable."""
        return None if self.events_seconds is None else self.pod_count / self.events_seconds


class EndToEndResult(msgspec.Struct, frozen=True):
    """All runs, in the order they were made."""

    workload: EndToEndWorkload
    runs: tuple[EndToEndRun, ...]

    def of(self, contestant: str) -> list[EndToEndRun]:
        """Give the runs of one contestant."""
        return [run for run in self.runs if run.contestant == contestant]


def measure_end_to_end(
    workloads: Workloads, *, repetitions: int, state_dir: Path, tell: Callable[[str], None]
) -> EndToEndResult:
    """Make all runs; a different contestant begins each round."""
    runs = []
    for repetition in range(repetitions):
        for contestant in rotated(CONTESTANTS, repetition):
            run = _run(contestant, workloads, state_dir, tell)
            runs.append(run)
            tell(f"end to end, {repetition + 1} of {repetitions}: {_summary(run)}")
    return EndToEndResult(workloads.end_to_end, tuple(runs))


def rotated(contestants: Sequence[T], turns: int) -> tuple[T, ...]:
    """Let another one begin."""
    turns %= len(contestants)
    return (*contestants[turns:], *contestants[:turns])


def _run(
    contestant: Contestant | None,
    workloads: Workloads,
    state_dir: Path,
    tell: Callable[[str], None],
) -> EndToEndRun:
    quietness = look_around(tell)
    workload = workloads.end_to_end
    with ControlPlane(state_dir, with_controller_manager=False) as plane:
        uvloop.run(_prepare(plane.kubeconfig_path, workloads))
        with contextlib.ExitStack() as stack:
            process = stack.enter_context(running(contestant, plane)) if contestant else None
            run = _Run(
                plane,
                workload,
                workloads.pod_pools[workload.pod_pool][0],
                scheduler_name=contestant.scheduler_name if contestant else "nobody",
                process=process,
            )
            name = contestant.name if contestant else RAW
            return uvloop.run(run.measure(name, quietness))


async def _prepare(kubeconfig: Path, workloads: Workloads) -> None:
    workload = workloads.end_to_end
    async with Cluster.connect(kubeconfig) as cluster:
        await cluster.create_nodes(workloads.node_pools[workload.node_pool], workload.node_count)
        for namespace in (WARM_UP, MEASURED):
            await cluster.create_namespace(namespace)


class _Run:
    """One run; `process` is None for the raw bind run."""

    def __init__(
        self,
        plane: ControlPlane,
        workload: EndToEndWorkload,
        template: PodTemplate,
        *,
        scheduler_name: str,
        process: SchedulerProcess | None,
    ) -> None:
        self._kubeconfig = plane.kubeconfig_path
        self._workload = workload
        self._template = template
        self._scheduler_name = scheduler_name
        self._process = process
        self._servers = dict(plane.pids)
        if process is not None:
            self._servers["scheduler"] = process.pid
        self._pids = {**self._servers, "client": os.getpid()}
        self._created_at_seconds: dict[str, float] = {}

    async def measure(self, name: str, quietness: Quietness) -> EndToEndRun:
        workload = self._workload
        async with Cluster.connect(self._kubeconfig) as cluster:
            raw = RawBinder(cluster, node_count=workload.node_count)
            await self._schedule(cluster, raw, WARM_UP, workload.warm_up_pod_count)
            if await wait_quiet(self._servers, timeout_seconds=QUIET_TIMEOUT_SECONDS) is None:
                raise BenchmarkError(f"{name}: the processes do not come to rest before the run")
            self._created_at_seconds.clear()
            machine_before, cpu_before = read_machine_cpu(), read_cpu(self._pids)
            bound_at = await self._schedule(cluster, raw, MEASURED, workload.pod_count)
            machine_bound, cpu_bound = read_machine_cpu(), read_cpu(self._pids)
            created_at = self._created_at_seconds
            first = min(created_at.values())
            event_count, events_at = 0, None
            if self._process is not None:
                event_count, events_at = await self._wait_events(cluster, workload.pod_count)
            cpu_quiet = await self._read_quiet_cpu()
        cpu_until_bound = used_since(cpu_before, cpu_bound)
        return EndToEndRun(
            contestant=name,
            pod_count=workload.pod_count,
            quietness=quietness,
            bound_seconds=max(bound_at.values()) - first,
            latency_milliseconds=distribution(
                [(bound_at[pod] - created_at[pod]) * 1000 for pod in created_at]
            ),
            events_seconds=None if events_at is None else events_at - first,
            event_count=event_count,
            cpu_until_bound=cpu_until_bound,
            cpu_until_quiet=cpu_quiet and used_since(cpu_before, cpu_quiet),
            others_share=others_share(machine_before, machine_bound, sum(cpu_until_bound.values())),
        )

    async def _schedule(
        self, cluster: Cluster, raw: RawBinder, namespace: str, count: int
    ) -> dict[str, float]:
        """Create Pods and wait until all are bound; gives when each was."""
        pods = PODS.in_namespace(namespace)
        bodies = [
            (
                name,
                encode(
                    plain_pod(
                        name,
                        self._template,
                        namespace=namespace,
                        scheduler_name=self._scheduler_name,
                    )
                ),
            )
            for name in (f"pod-{index:05d}" for index in range(count))
        ]

        async def create(pod: tuple[str, bytes]) -> None:
            name, body = pod
            if self._process is None:
                await raw.create_and_bind(pods, name, body, self._note_created)
            else:
                self._note_created(name)
                await cluster.create(pods, body)

        async with BindingWatch.of(cluster.client, namespace) as watch:
            await each_of(bodies, create, concurrency=self._workload.create_concurrency)
            await watch.wait_bound(count, check=self._check, timeout_seconds=BIND_TIMEOUT_SECONDS)
            return watch.bound_at_seconds

    def _note_created(self, name: str) -> None:
        self._created_at_seconds[name] = time.perf_counter()

    def _check(self) -> None:
        if self._process is not None:
            self._process.check_alive()

    async def _wait_events(self, cluster: Cluster, count: int) -> tuple[int, float | None]:
        """Wait for the events; give how many Pods have one, and when the last was there.

        Reading them all takes the API server long, so they are only counted until enough are
        there. What is counted may be something else, and is then looked at more seldom.
        """
        most, changed_at = -1, time.perf_counter()
        while True:
            now = time.perf_counter()
            found = await cluster.count_events(MEASURED)
            if found > most:
                most, changed_at = found, now
            is_stalled = now - changed_at > EVENTS_STALLED_SECONDS
            if found >= count or is_stalled:
                complete = await cluster.count_scheduled_pods_with_events(MEASURED)
                if complete >= count or is_stalled:
                    return complete, now if complete >= count else None
                await asyncio.sleep(_RECOUNT_SECONDS)
            self._check()
            await asyncio.sleep(_POLL_SECONDS)

    async def _read_quiet_cpu(self) -> CpuSeconds | None:
        """Give all CPU as it was when quiet came; the client's is what it is by now."""
        servers = await wait_quiet(self._servers, timeout_seconds=QUIET_TIMEOUT_SECONDS)
        return servers and {**read_cpu(self._pids), **servers}


def _summary(run: EndToEndRun) -> str:
    parts = [f"{run.contestant}: {run.pods_per_second:.0f} Pods/s"]
    if run.contestant != RAW:
        cpu = (run.cpu_until_quiet or run.cpu_until_bound)["scheduler"]
        parts.append(f"{cpu / run.pod_count * 1000:.2f} ms of the scheduler's CPU a Pod")
        events = run.events_seconds
        parts.append(
            f"only {run.event_count} of {run.pod_count} events"
            if events is None
            else f"events after {events:.1f} s"
        )
    return ", ".join(parts)
