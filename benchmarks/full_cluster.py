"""The decision core alone, in a cluster that is full already.

20 classes come in turn, at 5,000 Nodes on which 50,000 Pods of these classes are. Timed as in
``core_decisions``; each run has a process of its own.
"""

import gc
import multiprocessing
import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from benchmarks.core_decisions import (
    SCHEDULER_NAME,
    CoreRun,
    DecisionStopwatch,
    default_profile,
)
from benchmarks.distributions import distribution
from benchmarks.machine import Quietness, look_around
from benchmarks.manifests import as_stored, node_manifest, node_name
from benchmarks.tables import Table
from benchmarks.verdicts import at_most, cell, middle
from benchmarks.workloads import NodeShape
from scheduler_svc.core.clock import Now
from scheduler_svc.core.events import NodeUpserted, PodUpserted
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Node, Pod
from scheduler_svc.core.pods import PodInfo, PodInterner
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.shell.app import GC_THRESHOLDS

CLASS_COUNT: Final = 20
PLACED_PODS_PER_NODE: Final = 10
IN_FLIGHT_COUNT: Final = 32
HOST: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
_NODE: Final = NodeShape(allocatable={"cpu": "64", "memory": "256Gi", "pods": "110"})

Manifest = dict[str, Any]
# Of the Pods of an app: what their specification says, given the app's name and the next one's.
Shape = Callable[[str, str], Manifest]


class Sizes(msgspec.Struct, frozen=True):
    """How many Nodes there are, and how many Pods are decided."""

    node_count: int = 5_000
    pod_count: int = 4_000


QUICK_SIZES: Final = Sizes(500, 400)


@dataclass(frozen=True)
class FullCluster:
    """Shapes of Pods that are compared in a full cluster; the goal is for the last one's mean."""

    name: str
    subject: str
    shapes: Mapping[str, Shape]
    goal_microseconds: float


class FullClusterResult(msgspec.Struct, frozen=True, kw_only=True):
    """All runs by shape, and how busy the machine was before each."""

    subject: str
    goal_microseconds: float
    sizes: Sizes
    runs: dict[str, tuple[CoreRun, ...]]
    quietness: tuple[Quietness, ...]


def plain(_own: str, _other: str) -> Manifest:
    """Say nothing of other Pods."""
    return {}


class _Pods:
    """Makes Pods of one shape, decoded and interned as the reflector delivers them."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._interner = PodInterner()
        self._count = 0

    def pod(self, class_index: int, place: str = "") -> PodInfo:
        self._count += 1
        own, other = f"app-{class_index}", f"app-{(class_index + 1) % CLASS_COUNT}"
        requests = {"cpu": f"{100 + class_index}m", "memory": "100Mi"}
        manifest = {
            "metadata": {
                "name": f"{own}-{self._count}",
                "namespace": "default",
                "labels": {"app": own, "pod-template-hash": "1"},
            },
            "spec": {
                "schedulerName": SCHEDULER_NAME,
                "priority": 0,
                **self._shape(own, other),
                "containers": [{"name": "c", "image": "x", "resources": {"requests": requests}}],
                **({"nodeName": place} if place else {}),
            },
        }
        raw = msgspec.json.encode(as_stored(manifest, index=self._count))
        return self._interner.intern(msgspec.json.decode(raw, type=Pod))


def run_shape(shape: Shape, sizes: Sizes) -> CoreRun:
    """Fill a cluster and decide Pods, in this process."""
    scheduler = Scheduler([default_profile()])
    now = Now(time.monotonic(), time.time())
    for index in range(sizes.node_count):
        raw = msgspec.json.encode(node_manifest(index, [_NODE]))
        node = NodeInfo.from_node(msgspec.json.decode(raw, type=Node))
        scheduler.handle(NodeUpserted(node), now)
    pods = _Pods(shape)
    chance = random.Random(1)
    names = [node_name(index) for index in range(sizes.node_count)]
    for class_index in range(CLASS_COUNT):
        # No two of a class on one Node, as they may demand.
        placed_count = sizes.node_count * PLACED_PODS_PER_NODE // CLASS_COUNT
        for place in chance.sample(names, placed_count):
            scheduler.handle(PodUpserted(pods.pod(class_index, place)), now)
    wanted = [pods.pod(index % CLASS_COUNT) for index in range(sizes.pod_count)]
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    stopwatch = DecisionStopwatch(scheduler, IN_FLIGHT_COUNT)
    stopwatch.schedule(wanted)
    scheduler.validate()
    return CoreRun(
        queue=distribution(stopwatch.queue),
        step=distribution(stopwatch.steps[CLASS_COUNT:]),
        bound=distribution(stopwatch.bound),
        confirmed=distribution(stopwatch.confirmed),
        new_class_step=distribution(stopwatch.steps[:CLASS_COUNT]),
    )


_ROWS: Final[tuple[tuple[str, Callable[[CoreRun], float]], ...]] = (
    ("known class, mean: queue, step, bound", lambda run: run.known_class_mean),
    ("step, p50", lambda run: run.step.p50),
    ("step, p99", lambda run: run.step.p99),
    ("step of a new class, mean", lambda run: run.new_class_step.mean),
    ("besides: the watch's word on a bound Pod", lambda run: run.confirmed.mean),
)


def measure_full_cluster(
    cluster: FullCluster, *, is_quick: bool, repetitions: int, tell: Callable[[str], None]
) -> FullClusterResult:
    """Measure the shapes in turn, each run in a process of its own."""
    sizes = QUICK_SIZES if is_quick else Sizes()
    runs: dict[str, list[CoreRun]] = {name: [] for name in cluster.shapes}
    quietness: list[Quietness] = []
    context = multiprocessing.get_context("spawn")
    for repetition in range(1, repetitions + 1):
        for name, done in runs.items():
            quietness.append(look_around(tell))
            with ProcessPoolExecutor(max_workers=1, mp_context=context) as executor:
                run = executor.submit(run_shape, cluster.shapes[name], sizes).result()
            done.append(run)
            tell(
                f"{cluster.name}, {name}, {repetition} of {repetitions}: "
                f"{run.known_class_mean:.1f} µs a Pod, step p99 {run.step.p99:.0f} µs"
            )
    return FullClusterResult(
        subject=cluster.subject,
        goal_microseconds=cluster.goal_microseconds,
        sizes=sizes,
        runs={name: tuple(done) for name, done in runs.items()},
        quietness=tuple(quietness),
    )


def full_cluster_table(result: FullClusterResult) -> Table:
    """Show the shapes side by side; the goal, of the mean, is for the last one."""
    runs, sizes = result.runs, result.sizes
    rows = []
    for position, (name, figure) in enumerate(_ROWS):
        last = middle(list(runs.values())[-1], figure)
        verdict = at_most(last, result.goal_microseconds) if position == 0 else ""
        rows.append((name, *(cell(of_shape, figure) for of_shape in runs.values()), verdict))
    title = (
        f"Decision core, {result.subject}: {sizes.node_count:,} Nodes, "
        f"{sizes.node_count * PLACED_PODS_PER_NODE:,} Pods on them, {CLASS_COUNT} classes"
    )
    return Table(title, ("µs of CPU a Pod", *runs, f"to reach ({list(runs)[-1]})"), tuple(rows))
