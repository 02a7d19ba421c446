"""How many of each pool and shape there are to be, under which names and in which order.

The tables give shares; a plan of any size has at least one Node of each pool and one Pod of each
shape. The shapes that fit nowhere have one Pod each, whatever the size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deploy.demo.errors import SizeError
from deploy.demo.shapes import NODE_POOLS, POD_SHAPES, ZONES, NodePool, PodShape

FEWEST_NODES = 10
MOST_NODES = 1_000
FEWEST_PODS = 50
PODS_PER_NODE = 5
MOST_PODS_PER_NODE = 8
"""With more, the GPUs would run out, and then Pods that can be bound would not be."""


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A Node to create."""

    name: str
    pool: NodePool
    zone: str


@dataclass(frozen=True, slots=True)
class PlannedPod:
    """A Pod to create."""

    name: str
    shape: PodShape


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is to be created.

    Attributes
    ----------
    nodes
        Zones take turns.
    pods
        In order of creation, shapes mixed; without those that the Deployment makes.
    counts
        Pods of each shape, with the Deployment's.
    """

    nodes: tuple[PlannedNode, ...]
    pods: tuple[PlannedPod, ...]
    counts: dict[str, int]

    @property
    def pod_count(self) -> int:
        """All Pods, those that fit nowhere too."""
        return sum(self.counts.values())

    @property
    def bound_count(self) -> int:
        """Pods that are to be bound in the end."""
        possible = (shape for shape in POD_SHAPES if not shape.is_impossible)
        return sum(self.counts[shape.name] for shape in possible)

    @property
    def gated(self) -> tuple[PlannedPod, ...]:
        """Pods whose gates are lifted halfway."""
        return tuple(pod for pod in self.pods if pod.shape.is_gated)

    @property
    def impossible(self) -> tuple[PlannedPod, ...]:
        """Pods that fit nowhere."""
        return tuple(pod for pod in self.pods if pod.shape.is_impossible)


def make_plan(node_count: int, pod_count: int | None = None) -> Plan:
    """Plan a demonstration, of 5 Pods a Node where none are asked for.

    Raises
    ------
    SizeError
        For sizes that are out of range, or Pods that Nodes could not take.
    """
    _check_size(node_count, pod_count)
    if pod_count is None:
        pod_count = PODS_PER_NODE * node_count
    impossible = [shape for shape in POD_SHAPES if shape.is_impossible]
    possible = [shape for shape in POD_SHAPES if not shape.is_impossible]
    apportioned = apportion(pod_count - len(impossible), [shape.share for shape in possible])
    counts = dict(zip((shape.name for shape in possible), apportioned, strict=True))
    counts |= {shape.name: 1 for shape in impossible}
    return Plan(_plan_nodes(node_count), _plan_pods(counts), counts)


def apportion(total: int, shares: Sequence[int]) -> list[int]:
    """Divide ``total`` by ``shares``: at least 1 for each, the rest by largest remainder.

    ``total`` must be at least the number of shares.
    """
    whole = sum(shares)
    counts = [max(1, total * share // whole) for share in shares]
    remainders = [total * share % whole for share in shares]
    for index in sorted(range(len(shares)), key=lambda index: -remainders[index]):
        if sum(counts) < total:
            counts[index] += 1
    while sum(counts) > total:  # those that were raised to 1 take it from the largest
        counts[counts.index(max(counts))] -= 1
    return counts


def _check_size(node_count: int, pod_count: int | None) -> None:
    mistakes = []
    if not FEWEST_NODES <= node_count <= MOST_NODES:
        mistakes.append(f"--nodes {node_count}: {FEWEST_NODES} to {MOST_NODES} are possible")
    nodes = min(max(node_count, FEWEST_NODES), MOST_NODES)
    most_pods = MOST_PODS_PER_NODE * nodes
    if pod_count is not None and not FEWEST_PODS <= pod_count <= most_pods:
        mistakes.append(
            f"--pods {pod_count}: {FEWEST_PODS} to {most_pods} are possible with {nodes} Nodes "
            f"(all of them must fit: at most {MOST_PODS_PER_NODE} a Node)"
        )
    if mistakes:
        raise SizeError("\n".join(mistakes))


def _plan_nodes(count: int) -> tuple[PlannedNode, ...]:
    counts = apportion(count, [pool.share for pool in NODE_POOLS])
    pools = [pool for pool, number in zip(NODE_POOLS, counts, strict=True) for _ in range(number)]
    return tuple(
        PlannedNode(f"node-{index:04}", pool, ZONES[index % len(ZONES)])
        for index, pool in enumerate(pools)
    )


def _plan_pods(counts: dict[str, int]) -> tuple[PlannedPod, ...]:
    """Mix the shapes evenly: the i-th of n Pods of a shape stands at (i + 1/2) / n of the way."""
    placed = [
        ((index + 0.5) / counts[shape.name], PlannedPod(f"{shape.name}-{index:04}", shape))
        for shape in POD_SHAPES
        if not shape.from_deployment
        for index in range(counts[shape.name])
    ]
    placed.sort(key=lambda item: item[0])
    return tuple(pod for _, pod in placed)
