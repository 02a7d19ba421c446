"""Workloads, read from ``workloads.toml``: how many Nodes and Pods, of which shapes.

Which Node has which shape and which class of Pods is made of which template follows from their
numbers alone, so every run of a workload makes the same cluster.
"""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Protocol, TypeVar

import msgspec

from benchmarks.errors import BenchmarkError

DEFAULT_FILE: Final = Path(__file__).with_name("workloads.toml")

Count = Annotated[int, msgspec.Meta(ge=1)]
Ratio = Annotated[float, msgspec.Meta(gt=0)]


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file; a field that is not known is a mistake."""


class NodeShape(_Table, frozen=True, kw_only=True):
    """What some Nodes of a pool are like; `share` in parts of the pool.

    Of each of the `objects` there is one for each Node.
    """

    allocatable: dict[str, str]
    labels: dict[str, str] = {}
    taints: tuple[dict[str, str], ...] = ()
    objects: tuple[str, ...] = ()
    share: Count = 1


class PodRequests(_Table, frozen=True, kw_only=True):
    """What the one container of a Pod requests."""

    milli_cpu: Count
    mebibytes: Count


class PodTemplate(_Table, frozen=True, kw_only=True):
    """What some classes of a pool are like; `share` in parts of the pool's classes.

    A class requests `class_step_milli_cpu` more than the class before it. `spec` is laid
    over the Pod's specification, in the API's own terms. Of each of the `objects` there is one
    for each Pod.
    """

    requests: PodRequests
    class_step_milli_cpu: int = 0
    labels: dict[str, str] = {}
    spec: dict[str, Any] = {}
    objects: tuple[str, ...] = ()
    share: Count = 1


class ObjectTemplate(_Table, frozen=True, kw_only=True):
    """An object that Nodes, Pods or a shape need; `path` is where it is created.

    In both ``{pod}``, ``{namespace}`` and ``{node}`` stand for the names of what it is made for.
    """

    path: str
    manifest: dict[str, Any]


class Workload(_Table, frozen=True, kw_only=True):
    """What all workloads have: pools by name, and sizes for a quick run."""

    node_count: Count
    pod_count: Count
    node_pool: str
    pod_pool: str
    quick: dict[str, int] = {}


class CoreWorkload(Workload, frozen=True, kw_only=True):
    """Decisions without an API server.

    `class_count` classes come in turn; after them come `new_class_count` Pods, each the first
    of its class. `in_flight_count` Pods are decided but not yet bound at any time.
    """

    name: str
    class_count: Count
    new_class_count: Count
    in_flight_count: Count = 32


class EndToEndWorkload(Workload, frozen=True, kw_only=True):
    """Pods that a client creates, `create_concurrency` at a time, until all are bound.

    `warm_up_pod_count` are bound before.
    """

    warm_up_pod_count: Count
    create_concurrency: Count


class Churn(_Table, frozen=True, kw_only=True):
    """What a client does besides, again and again, while Pods are measured.

    It creates a Pod of `pod_pool`, if one is named, and `objects`; after it has deleted those of
    the time before if it `replaces` them. With `deletes_placed` it deletes a placed Pod.
    """

    every_milliseconds: Count
    pod_pool: str = ""
    objects: tuple[str, ...] = ()
    replaces: bool = False
    deletes_placed: bool = False


class ShapeExtender(_Table, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An extender of both schedulers, in the terms of KubeSchedulerConfiguration; its verbs.

    `benchmarks.extender_server` answers.
    """

    filter_verb: Literal["", "filter"] = ""
    prioritize_verb: Literal["", "prioritize"] = ""
    weight: int = 0
    node_cache_capable: bool = False
    managed_resources: tuple[dict[str, Any], ...] = ()
    ignorable: bool = False


class ShapeWorkload(Workload, frozen=True, kw_only=True):
    """A shape of scheduler_perf's: `pod_count` Pods of `pod_pool` in a cluster that has others.

    Before them are `placed_count` Pods on the Nodes in turn, of `placed_pools` in turn, in
    `namespace_count` namespaces; and `waiting_count` Pods of `waiting_pool` that no scheduler may
    take. A pool stands for its first template, but for Pods that are scheduled all templates come
    in turn. `raw_ratio` is what part of the raw bind run is to be reached.
    """

    name: str
    upstream: str
    node_pool: str = "perf"
    placed_count: int = 0
    placed_pools: tuple[str, ...] = ("plain",)
    namespace_count: Count = 1
    waiting_count: int = 0
    waiting_pool: str = "plain"
    warm_up_pool: str = "plain"
    warm_up_pod_count: Count = 20
    objects: tuple[str, ...] = ()
    churn: Churn | None = None
    extender: ShapeExtender | None = None
    raw_ratio: Ratio | None = None
    create_concurrency: Count = 32

    @property
    def pools(self) -> set[str]:
        """The Pod pools that are used."""
        pools = {self.pod_pool, self.waiting_pool, self.warm_up_pool, *self.placed_pools}
        if self.churn is not None and self.churn.pod_pool:
            pools.add(self.churn.pod_pool)
        return pools


class PodGroupVariant(_Table, frozen=True, kw_only=True):
    """What groups there are in a run.

    The measured Pods are in groups of `member_count`; with 0 each is on its own. Beside them
    wait groups of `waiting_member_count` Pods of `waiting_pool`, if one is named.
    """

    name: str
    member_count: int = 0
    waiting_pool: str = ""
    waiting_member_count: int = 0


class PodGroupWorkload(ShapeWorkload, frozen=True, kw_only=True):
    """The same Pods without any group (`baseline`), and with those of each variant.

    `waiting_group_count` groups wait, in variants that have some. `plain_ratio` is what part
    of the baseline's Pods/s is to be reached, `together_seconds` how long after a group's first
    member its last may be bound.
    """

    upstream: str = ""
    baseline: str
    variants: tuple[PodGroupVariant, ...]
    waiting_group_count: int = 0
    plain_ratio: Ratio
    together_seconds: Ratio | None = None

    @property
    def pools(self) -> set[str]:
        """The Pod pools that are used."""
        waiting = {variant.waiting_pool for variant in self.variants if variant.waiting_pool}
        return super().pools | waiting


class FootprintWorkload(Workload, frozen=True, kw_only=True):
    """A full cluster, for a scheduler that starts in it."""

    class_count: Count
    environment_variable_count: int
    create_concurrency: Count


class AgentGoals(_Table, frozen=True, kw_only=True):
    """What the node agent is to reach; CPU in percent of one core."""

    memory_mebibytes: Ratio
    rest_cpu_percent: Ratio
    seen_p99_milliseconds: Ratio
    operations_seconds: Ratio


class AgentWorkload(_Table, frozen=True, kw_only=True):
    """A Node for the node agent: its Pods, how long they are left alone, and how they change.

    It is left alone for `settle_seconds` before `rest_seconds` are measured: about new Pods
    it asks the kubelet each second for a while. `operation_count` operations go through the
    agent's core alone.
    """

    pod_count: Count
    pod_pool: str
    environment_variable_count: int
    settle_seconds: Count
    rest_seconds: Count
    churn_seconds: Count
    churned_pods_per_second: Ratio
    operation_count: Count
    goals: AgentGoals
    quick: dict[str, int] = {}


class ControllerGoals(_Table, frozen=True, kw_only=True):
    """What the controller is to reach."""

    memory_mebibytes: Ratio
    restart_seconds: Ratio


class ControllerWorkload(_Table, frozen=True, kw_only=True):
    """Groups for the controller: every second one runs, the others do not fit."""

    group_count: Count
    member_count: Count
    goals: ControllerGoals
    quick: dict[str, int] = {}


class Goals(_Table, frozen=True, kw_only=True):
    """What is to be reached. Microseconds and milliseconds are CPU time, for one Pod."""

    known_class_mean_microseconds: Ratio
    step_p99_microseconds: Ratio
    new_class_mean_microseconds: Ratio
    ten_times_nodes_ratio: Ratio
    throughput_to_raw_ratio: Ratio
    throughput_to_kube_scheduler_ratio: Ratio
    events_to_kube_scheduler_ratio: Ratio
    scheduler_cpu_milliseconds: Ratio
    memory_mebibytes: Ratio
    startup_to_kube_scheduler_ratio: Ratio


class Workloads(_Table, frozen=True, kw_only=True):
    """The whole file."""

    goals: Goals
    node_pools: dict[str, tuple[NodeShape, ...]]
    pod_pools: dict[str, tuple[PodTemplate, ...]]
    core: tuple[CoreWorkload, ...]
    end_to_end: EndToEndWorkload
    footprint: FootprintWorkload
    agent: AgentWorkload
    controller: ControllerWorkload
    shapes: tuple[ShapeWorkload, ...]
    pod_groups: tuple[PodGroupWorkload, ...]
    objects: dict[str, ObjectTemplate]


class _Shared(Protocol):
    @property
    def share(self) -> int: ...


WorkloadT = TypeVar("WorkloadT", bound=Workload | AgentWorkload | ControllerWorkload)
SharedT = TypeVar("SharedT", bound=_Shared)


def load_workloads(path: Path = DEFAULT_FILE, *, quick: bool = False) -> Workloads:
    """Read the file, with the sizes for a quick run if `quick`.

    Raises
    ------
    BenchmarkError
        Where the file is no TOML, or not what the types here describe.
    """
    try:
        workloads = msgspec.convert(tomllib.loads(path.read_text("utf-8")), Workloads)
        _check_pools(workloads)
        if not quick:
            return workloads
        return msgspec.structs.replace(
            workloads,
            core=tuple(resized(workload) for workload in workloads.core),
            end_to_end=resized(workloads.end_to_end),
            footprint=resized(workloads.footprint),
            agent=resized(workloads.agent),
            controller=resized(workloads.controller),
            shapes=tuple(resized(workload) for workload in workloads.shapes),
            pod_groups=tuple(resized(workload) for workload in workloads.pod_groups),
        )
    except (OSError, ValueError) as error:
        raise BenchmarkError(f"{path}: {error}") from error


def resized(workload: WorkloadT) -> WorkloadT:
    """Give the workload with the sizes of its `quick` table."""
    values = msgspec.to_builtins(workload)
    return msgspec.convert({**values, **workload.quick}, type(workload))


def pick(shapes: Sequence[SharedT], index: int) -> SharedT:
    """Give the shape of number `index`: all shapes come in turn, each as often as its share."""
    position = index % sum(shape.share for shape in shapes)
    for shape in shapes:
        position -= shape.share
        if position < 0:
            return shape
    raise IndexError(index)


def _check_pools(workloads: Workloads) -> None:
    all_workloads: tuple[Workload, ...] = (
        *workloads.core,
        workloads.end_to_end,
        workloads.footprint,
        *workloads.shapes,
        *workloads.pod_groups,
    )
    shapes = (*workloads.shapes, *workloads.pod_groups)
    pod_pools = {workload.pod_pool for workload in all_workloads} | {workloads.agent.pod_pool}
    for workload in all_workloads:
        if not workloads.node_pools.get(workload.node_pool):
            raise ValueError(f"there is no node pool {workload.node_pool!r}")
    for pool in pod_pools.union(*(shape.pools for shape in shapes)):
        if not workloads.pod_pools.get(pool):
            raise ValueError(f"there is no pod pool {pool!r}")
    for name in _objects_of(workloads):
        if name not in workloads.objects:
            raise ValueError(f"there is no object {name!r}")


def _objects_of(workloads: Workloads) -> set[str]:
    of_pools = (
        template.objects
        for pools in (workloads.node_pools, workloads.pod_pools)
        for pool in pools.values()
        for template in pool
    )
    shapes = (*workloads.shapes, *workloads.pod_groups)
    churns = (shape.churn.objects for shape in shapes if shape.churn is not None)
    of_shapes = (shape.objects for shape in shapes)
    return set().union(*of_pools, *churns, *of_shapes)
