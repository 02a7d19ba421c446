"""The decision core alone: what one Pod costs from its arrival to being bound.

Pods are JSON that is decoded and interned before the clock starts, so what is timed is
``Scheduler`` and nothing else: ``handle(PodUpserted)`` puts the Pod into the queue, ``step``
decides, assumes and gives effects, ``handle(BindSucceeded)`` ends it. Then the watch tells of the
bound Pod, which is timed too but reported beside the sum.

CPU time of the thread, read around every call; what reading the clock costs is measured and taken
off. Every repetition runs in a process of its own, with the garbage collector as in the scheduler's
process: frozen once the cluster is known.
"""

import gc
import itertools
import multiprocessing
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final

import msgspec

from benchmarks.distributions import Distribution, distribution
from benchmarks.errors import BenchmarkError
from benchmarks.machine import Quietness, look_around
from benchmarks.manifests import ReplicaSetPods, as_stored, node_manifest
from benchmarks.workloads import CoreWorkload, NodeShape, PodTemplate, Workloads
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import BindPod
from scheduler_svc.core.events import BindSucceeded, NodeUpserted, PodUpserted
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Node, Pod
from scheduler_svc.core.pods import PodInfo, PodInterner
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.shell.app import GC_THRESHOLDS
from scheduler_svc.shell.config import default_configuration, rename_for_live
from scheduler_svc.shell.profiles import make_profiles

SCHEDULER_NAME: Final = "berthmaster"
_CLOCK_READINGS: Final = 20_000


class CoreRun(msgspec.Struct, frozen=True, kw_only=True):
    """One repetition; microseconds of CPU.

    Attributes
    ----------
    queue, step, bound
        The three calls that make up a Pod, for Pods of classes that came before.
    confirmed
        Taking in the watch's word on the bound Pod.
    new_class_step
        `step` for the first Pod of a class.
    """

    queue: Distribution
    step: Distribution
    bound: Distribution
    confirmed: Distribution
    new_class_step: Distribution

    @property
    def known_class_mean(self) -> float:
        """CPU of a Pod of a known class, all three calls."""
        return self.queue.mean + self.step.mean + self.bound.mean


class CoreResult(msgspec.Struct, frozen=True):
    """All repetitions of one workload, and how busy the machine was before each."""

    workload: CoreWorkload
    runs: tuple[CoreRun, ...]
    quietness: tuple[Quietness, ...]


def measure_core(
    workload: CoreWorkload, workloads: Workloads, *, repetitions: int, tell: Callable[[str], None]
) -> CoreResult:
    """Run a workload several times, each time in a new process."""
    nodes, pods = workloads.node_pools[workload.node_pool], workloads.pod_pools[workload.pod_pool]
    runs: list[CoreRun] = []
    quietness: list[Quietness] = []
    context = multiprocessing.get_context("spawn")
    for repetition in range(1, repetitions + 1):
        quietness.append(look_around(tell))
        with ProcessPoolExecutor(max_workers=1, mp_context=context) as executor:
            run = executor.submit(run_core, workload, nodes, pods).result()
        runs.append(run)
        tell(
            f"core, {workload.name}, {repetition} of {repetitions}: "
            f"{run.known_class_mean:.1f} µs a Pod, step p99 {run.step.p99:.0f} µs, "
            f"new class {run.new_class_step.mean:.0f} µs"
        )
    return CoreResult(workload, tuple(runs), tuple(quietness))


def run_core(
    workload: CoreWorkload, nodes: Sequence[NodeShape], pods: Sequence[PodTemplate]
) -> CoreRun:
    """Run a workload once, in this process.

    Raises
    ------
    BenchmarkError
        Where not every Pod got a Node: such figures would mean something else.
    """
    scheduler = Scheduler([default_profile()])
    for index in range(workload.node_count):
        raw = msgspec.json.encode(node_manifest(index, nodes))
        node = NodeInfo.from_node(msgspec.json.decode(raw, type=Node))
        scheduler.handle(NodeUpserted(node), _now())
    arrivals = _Arrivals(pods)
    known_count = workload.class_count
    known = [arrivals.pod(index % known_count) for index in range(workload.pod_count)]
    new = [arrivals.pod(known_count + index) for index in range(workload.new_class_count)]
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    stopwatch = DecisionStopwatch(scheduler, workload.in_flight_count)
    stopwatch.schedule(known)
    stopwatch.schedule(new)
    scheduler.validate()
    # Pods are decided in the order they came: the first of each class is the new one.
    steps = stopwatch.steps
    decided_known = steps[: len(known)]
    return CoreRun(
        queue=distribution(stopwatch.queue[: len(known)]),
        step=distribution(decided_known[known_count:]),
        bound=distribution(stopwatch.bound),
        confirmed=distribution(stopwatch.confirmed),
        new_class_step=distribution(decided_known[:known_count] + steps[len(known) :]),
    )


def default_profile() -> Profile:
    """Build the profile that a scheduler without a configuration file has."""
    configuration = rename_for_live(default_configuration(), SCHEDULER_NAME)
    return make_profiles(configuration).profiles[0]


class _Arrivals:
    """Pods as the reflector delivers them: decoded from JSON and interned."""

    def __init__(self, pool: Sequence[PodTemplate]) -> None:
        self._pods = ReplicaSetPods(pool, scheduler_name=SCHEDULER_NAME)
        self._interner = PodInterner()
        self._numbers = itertools.count()

    def pod(self, class_index: int) -> PodInfo:
        stored = as_stored(self._pods.pod(class_index), index=next(self._numbers))
        decoded = msgspec.json.decode(msgspec.json.encode(stored), type=Pod)
        return self._interner.intern(decoded)


class DecisionStopwatch:
    """Takes Pods through the scheduler and notes what each call costs, in microseconds."""

    def __init__(self, scheduler: Scheduler, in_flight_count: int) -> None:
        self._scheduler = scheduler
        self._in_flight_count = in_flight_count
        self._overhead_nanoseconds = clock_overhead_nanoseconds()
        self.queue: list[float] = []
        self.steps: list[float] = []
        self.bound: list[float] = []
        self.confirmed: list[float] = []

    def schedule(self, pods: Sequence[PodInfo]) -> None:
        """Queue all Pods, then decide one after the other; a bind takes a few Pods' time."""
        handle = self._scheduler.handle
        for pod in pods:
            event, now = PodUpserted(pod), _now()
            began = time.thread_time_ns()
            handle(event, now)
            self._note(self.queue, began)
        by_uid = {pod.uid: pod for pod in pods}
        in_flight: deque[tuple[PodInfo, str]] = deque()
        for effect in self._decisions():
            in_flight.append((by_uid.pop(effect.pod.uid), effect.node_name))
            if len(in_flight) > self._in_flight_count:
                self._bind(*in_flight.popleft())
        for pod, node in in_flight:
            self._bind(pod, node)
        if by_uid:
            raise BenchmarkError(
                f"{len(by_uid)} of {len(pods)} Pods got no Node: the workload does not fit"
            )

    def _decisions(self) -> Iterator[BindPod]:
        while True:
            now = _now()
            began = time.thread_time_ns()
            effects = self._scheduler.step(now)
            if effects is None:
                return
            self._note(self.steps, began)
            yield from (effect for effect in effects if isinstance(effect, BindPod))

    def _bind(self, pod: PodInfo, node: str) -> None:
        handle = self._scheduler.handle
        succeeded, now = BindSucceeded(pod.uid), _now()
        began = time.thread_time_ns()
        handle(succeeded, now)
        self._note(self.bound, began)
        version = str(int(pod.resource_version) + 1_000_000)
        placed = PodUpserted(msgspec.structs.replace(pod, node_name=node, resource_version=version))
        began = time.thread_time_ns()
        handle(placed, now)
        self._note(self.confirmed, began)

    def _note(self, values: list[float], began: int) -> None:
        nanoseconds = time.thread_time_ns() - began - self._overhead_nanoseconds
        values.append(max(0, nanoseconds) / 1000)


def clock_overhead_nanoseconds() -> int:
    """Measure what a pair of readings of the thread's clock shows with nothing between."""
    differences = []
    for _ in range(_CLOCK_READINGS):
        began = time.thread_time_ns()
        differences.append(time.thread_time_ns() - began)
    return sorted(differences)[len(differences) // 2]


def _now() -> Now:
    return Now(time.monotonic(), time.time())
