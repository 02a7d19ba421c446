"""The figures that the demonstration shows, made from Pods' records; pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deploy.demo.plan import PlannedNode
from deploy.demo.records import PodRecord
from deploy.demo.resources import Resources, total
from deploy.demo.shapes import SHAPE_BY_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How fast Pods were bound.

    Attributes
    ----------
    bound_count
        Pods that were bound.
    seconds
        From the first Pod's creation to the last binding, waiting for gates included.
    best_second
        Most bindings within one second.
    p50_seconds, p99_seconds
        Created → bound, of Pods without gates; None where there are none.
    """

    bound_count: int
    seconds: float
    best_second: int
    p50_seconds: float | None
    p99_seconds: float | None

    @property
    def per_second(self) -> float:
        """Bindings per second, on average."""
        return self.bound_count / self.seconds if self.seconds > 0 else 0.0


def measure_speed(records: Iterable[PodRecord]) -> Speed:
    """Measure from records' times."""
    records = list(records)
    bound = sorted(r.bound_seconds for r in records if r.bound_seconds is not None)
    waits = [
        record.bound_seconds - record.created_seconds
        for record in records
        if record.bound_seconds is not None and not _was_gated(record)
    ]
    began = min((record.created_seconds for record in records), default=0.0)
    return Speed(
        bound_count=len(bound),
        seconds=bound[-1] - began if bound else 0.0,
        best_second=most_within(bound, 1.0),
        p50_seconds=percentile(waits, 50),
        p99_seconds=percentile(waits, 99),
    )


def percentile(values: Iterable[float], percent: float) -> float | None:
    """Give the smallest value that ``percent`` of the values don't exceed; None of none."""
    ordered = sorted(values)
    if not ordered:
        return None
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def most_within(ordered: Sequence[float], window_seconds: float) -> int:
    """Count the most of ``ordered`` times that lie within less than a window."""
    most = first = 0
    for last, moment in enumerate(ordered):
        while moment - ordered[first] >= window_seconds:
            first += 1
        most = max(most, last - first + 1)
    return most


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLoad:
    """What a Node carries."""

    node: PlannedNode
    pod_count: int
    requested: Resources
    host_ports: tuple[int, ...]


def measure_loads(nodes: Iterable[PlannedNode], records: Iterable[PodRecord]) -> list[NodeLoad]:
    """Add up what each Node carries; Pods of no known shape count without requests."""
    on_node: dict[str, list[PodRecord]] = {}
    for record in records:
        on_node.setdefault(record.node, []).append(record)
    loads = []
    for node in nodes:
        pods = on_node.get(node.name, [])
        shapes = [SHAPE_BY_NAME[pod.shape] for pod in pods if pod.shape in SHAPE_BY_NAME]
        loads.append(
            NodeLoad(
                node=node,
                pod_count=len(pods),
                requested=total(shape.requests for shape in shapes),
                host_ports=tuple(port for shape in shapes for port in shape.host_ports),
            )
        )
    return loads


def group_loads(loads: Iterable[NodeLoad]) -> Mapping[tuple[str, str], list[NodeLoad]]:
    """Group by pool and zone."""
    groups: dict[tuple[str, str], list[NodeLoad]] = {}
    for load in loads:
        groups.setdefault((load.node.pool.name, load.node.zone), []).append(load)
    return groups


def count_states(records: Iterable[PodRecord]) -> Counter[str]:
    """Count Pods by state."""
    return Counter(record.state.value for record in records)


def most_common_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Sort by count, then by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _was_gated(record: PodRecord) -> bool:
    shape = SHAPE_BY_NAME.get(record.shape)
    return shape is not None and shape.is_gated
