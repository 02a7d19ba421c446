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
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec
import uvloop

from benchmarks.cluster import Cluster, encode
from benchmarks.contestants import CONTESTANTS, RAW, name_of, rotated, scheduler_name_of
from benchmarks.errors import BenchmarkError
from benchmarks.machine import Quietness, look_around
from benchmarks.manifests import plain_pod
from benchmarks.raw_binder import RawBinder
from benchmarks.scheduler_process import Contestant, SchedulerProcess, running
from benchmarks.throughput import ThroughputMeter, ThroughputRun
from benchmarks.workloads import EndToEndWorkload, PodTemplate, Workloads
from deploy.controlplane import ControlPlane

WARM_UP: Final = "warm-up"
MEASURED: Final = "measured"
EVENTS_STALLED_SECONDS: Final = 45.0
"""Berthmaster may hold an event back for 30 s."""
_POLL_SECONDS: Final = 0.1
_RECOUNT_SECONDS: Final = 1.0


class EndToEndRun(ThroughputRun, frozen=True, kw_only=True):
    """One run.

    Attributes
    ----------
    events_seconds
        Until every Pod's Scheduled event could be read; None where none is written, or some
        never came (`event_count` says how many did).
    """

    events_seconds: float | None
    event_count: int

    @property
    def pods_per_second_with_events(self) -> float | None:
        """Throughput until every Scheduled event is readable."""
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
            template = workloads.pod_pools[workload.pod_pool][0]
            run = _Run(plane, workload, template, contestant, process)
            return uvloop.run(run.measure(plane.kubeconfig_path, quietness))


async def _prepare(kubeconfig: Path, workloads: Workloads) -> None:
    workload = workloads.end_to_end
    async with Cluster.connect(kubeconfig) as cluster:
        await cluster.create_nodes(workloads.node_pools[workload.node_pool], workload.node_count)
        for namespace in (WARM_UP, MEASURED):
            await cluster.create_namespace(namespace)


class _Run:
    """One run; `contestant` and `process` are None for the raw bind run."""

    def __init__(
        self,
        plane: ControlPlane,
        workload: EndToEndWorkload,
        template: PodTemplate,
        contestant: Contestant | None,
        process: SchedulerProcess | None,
    ) -> None:
        self._workload = workload
        self._template = template
        self._contestant = contestant
        self._meter = ThroughputMeter(
            plane, process, create_concurrency=workload.create_concurrency
        )

    async def measure(self, kubeconfig: Path, quietness: Quietness) -> EndToEndRun:
        workload, meter, name = self._workload, self._meter, name_of(self._contestant)
        async with Cluster.connect(kubeconfig) as cluster:
            is_raw = self._contestant is None
            raw = RawBinder(cluster, node_count=workload.node_count) if is_raw else None
            await self._schedule(cluster, raw, WARM_UP, workload.warm_up_pod_count)
            if await meter.wait_quiet() is None:
                raise BenchmarkError(f"{name}: the processes do not come to rest before the run")
            meter.begin()
            bound_at = await self._schedule(cluster, raw, MEASURED, workload.pod_count)
            meter.note_bound()
            event_count, events_at = 0, None
            if not is_raw:
                event_count, events_at = await self._wait_events(cluster, workload.pod_count)
            run = await meter.finish(name, quietness, bound_at)
        first = min(meter.created_at_seconds.values())
        return EndToEndRun(
            **msgspec.structs.asdict(run),
            events_seconds=None if events_at is None else events_at - first,
            event_count=event_count,
        )

    async def _schedule(
        self, cluster: Cluster, raw: RawBinder | None, namespace: str, count: int
    ) -> Mapping[str, float]:
        """Create Pods and wait until all are bound; gives when each was."""
        pods = self._pods(namespace, count)
        bound_at, fault = await self._meter.schedule(cluster, namespace, pods, raw)
        if fault:
            raise BenchmarkError(fault)
        return bound_at

    def _pods(self, namespace: str, count: int) -> Iterator[tuple[str, bytes]]:
        scheduler_name = scheduler_name_of(self._contestant)
        for name in (f"pod-{index:05d}" for index in range(count)):
            yield (
                name,
                encode(
                    plain_pod(
                        name, self._template, namespace=namespace, scheduler_name=scheduler_name
                    )
                ),
            )

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
            self._meter.check_alive()
            await asyncio.sleep(_POLL_SECONDS)


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
