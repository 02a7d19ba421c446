"""The decision core alone, in a cluster full of Pods that want to be near others, or away.

``python -m benchmarks.affinity_decisions``: 20 classes in turn, at 5,000 Nodes on which 50,000
Pods of these classes are. Timed as in ``core_decisions``; each run has a process of its own.
"""

import argparse
import gc
import multiprocessing
import random
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from types import MappingProxyType
from typing import Any, Final

import msgspec
from rich.console import Console

from benchmarks.core_decisions import (
    SCHEDULER_NAME,
    CoreRun,
    DecisionStopwatch,
    default_profile,
)
from benchmarks.distributions import distribution
from benchmarks.machine import Quietness, describe_quietness, look_around, use_cores
from benchmarks.manifests import as_stored, node_manifest, node_name
from benchmarks.tables import Table, show
from benchmarks.verdicts import at_most, cell, middle
from benchmarks.workloads import NodeShape
from scheduler_svc.core.clock import Now
from scheduler_svc.core.events import NodeUpserted, PodUpserted
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Node, Pod
from scheduler_svc.core.pods import PodInfo, PodInterner
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.shell.app import GC_THRESHOLDS

GOAL_MEAN_MICROSECONDS: Final = 200
CLASS_COUNT: Final = 20
PLACED_PODS_PER_NODE: Final = 10
IN_FLIGHT_COUNT: Final = 32
HOST: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NODE: Final = NodeShape(allocatable={"cpu": "64", "memory": "256Gi", "pods": "110"})

Manifest = dict[str, Any]


class Sizes(msgspec.Struct, frozen=True):
    """How many Nodes there are, and how many Pods are decided."""

    node_count: int = 5_000
    pod_count: int = 4_000


def _required(own: str, _other: str) -> Manifest:
    return {
        "podAntiAffinity": {REQUIRED: [_term(own, HOST)]},
        "podAffinity": {REQUIRED: [_term(own, ZONE)]},
    }


def _preferred(own: str, other: str) -> Manifest:
    away = {"weight": 50, "podAffinityTerm": _term(own, ZONE)}
    near = {"weight": 10, "podAffinityTerm": _term(other, HOST)}
    return {"podAntiAffinity": {PREFERRED: [away]}, "podAffinity": {PREFERRED: [near]}}


def _both(own: str, other: str) -> Manifest:
    required, preferred = _required(own, other), _preferred(own, other)
    return {kind: {**required[kind], **preferred[kind]} for kind in required}


def _nothing(_own: str, _other: str) -> Manifest:
    return {}


def _term(app: str, key: str) -> Manifest:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


SHAPES: Final = MappingProxyType(
    {"plain": _nothing, "required": _required, "preferred": _preferred, "both": _both}
)
"""What the Pods of an app want of others of their app, and of those of the next one."""


class _Pods:
    """Makes Pods of one shape, decoded and interned as the reflector delivers them."""

    def __init__(self, shape: str) -> None:
        self._affinity = SHAPES[shape]
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
                "affinity": self._affinity(own, other),
                "containers": [{"name": "c", "image": "x", "resources": {"requests": requests}}],
                **({"nodeName": place} if place else {}),
            },
        }
        raw = msgspec.json.encode(as_stored(manifest, index=self._count))
        return self._interner.intern(msgspec.json.decode(raw, type=Pod))


def run_shape(shape: str, sizes: Sizes) -> CoreRun:
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


def table_of(runs: dict[str, list[CoreRun]], sizes: Sizes) -> Table:
    """Show the shapes side by side; the goal is for the last one."""
    rows = []
    for position, (name, figure) in enumerate(_ROWS):
        last = middle(list(runs.values())[-1], figure)
        verdict = at_most(last, GOAL_MEAN_MICROSECONDS) if position == 0 else ""
        rows.append((name, *(cell(of_shape, figure) for of_shape in runs.values()), verdict))
    title = (
        f"Pods near others and away: {sizes.node_count:,} Nodes, "
        f"{sizes.node_count * PLACED_PODS_PER_NODE:,} Pods on them, {CLASS_COUNT} classes"
    )
    return Table(title, ("µs of CPU a Pod", *runs, "to reach (both)"), tuple(rows))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.affinity_decisions", description=__doc__
    )
    parser.add_argument("--quick", action="store_true", help="a small cluster, one run")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs (default: 3)")
    options = parser.parse_args(arguments)
    sizes = Sizes(500, 400) if options.quick else Sizes()
    use_cores(2)

    def tell(text: str) -> None:
        print(text, file=sys.stderr)

    runs: dict[str, list[CoreRun]] = {shape: [] for shape in SHAPES}
    quietness: list[Quietness] = []
    context = multiprocessing.get_context("spawn")
    for _ in range(1 if options.quick else options.runs):
        for shape, done in runs.items():
            quietness.append(look_around(tell))
            with ProcessPoolExecutor(max_workers=1, mp_context=context) as executor:
                done.append(executor.submit(run_shape, shape, sizes).result())
            tell(f"{shape}: {done[-1].known_class_mean:.1f} µs, p99 {done[-1].step.p99:.0f} µs")
    console = Console(highlight=False)
    console.print(describe_quietness(quietness))
    show([table_of(runs, sizes)], console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
