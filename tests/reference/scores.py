"""The scores: how good one Node is for one Pod, before weights. None: the plugin is skipped."""

import math
from fractions import Fraction
from itertools import pairwise

from scheduler_svc.core.objects import Pod
from tests.reference.amounts import is_scalar, pod_requests
from tests.reference.cluster import Cluster, HostedNode
from tests.reference.matching import affinity_of, term_matches, tolerates
from tests.reference.settings import Settings

MIB = 1024 * 1024


def quotient(dividend: int, divisor: int) -> int:
    """Divide as Go divides integers: towards zero."""
    return math.trunc(Fraction(dividend, divisor))


def normalized(scores: dict[str, int], *, reverse: bool) -> dict[str, int]:
    """Scale by the highest of the feasible Nodes."""
    highest = max(scores.values())
    if highest == 0:
        return dict.fromkeys(scores, 100 if reverse else 0)
    scaled = {name: quotient(100 * score, highest) for name, score in scores.items()}
    return {name: 100 - score if reverse else score for name, score in scaled.items()}


def taint_toleration(pod: Pod, feasible: list[HostedNode]) -> dict[str, int]:
    relevant = [t for t in pod.spec.tolerations if t.effect in ("", "PreferNoSchedule")]
    counts = {
        node.name: sum(
            taint.effect == "PreferNoSchedule" and not any(tolerates(t, taint) for t in relevant)
            for taint in node.node.spec.taints
        )
        for node in feasible
    }
    return normalized(counts, reverse=True)


def node_affinity(
    pod: Pod, feasible: list[HostedNode], settings: Settings
) -> dict[str, int] | None:
    affinities = [settings.added_affinity, affinity_of(pod)]
    terms = [term for a in affinities if a is not None for term in a.preferred or ()]
    if not terms:
        return None
    sums = {
        node.name: sum(t.weight for t in terms if term_matches(t.preference, node))
        for node in feasible
    }
    return normalized(sums, reverse=False)


def node_resources_fit(pod: Pod, node: HostedNode, settings: Settings) -> int:
    wanted = pod_requests(pod, on_node=False, pod_level=False, defaults=True)
    scores: list[tuple[int, int]] = []
    for name, weight in settings.fit_resources:
        allocatable = node.allocatable.get(name, 0)
        if allocatable == 0 or (is_scalar(name) and not wanted.get(name)):
            continue
        requested = node.requested(name, defaults=True) + wanted.get(name, 0)
        scores.append((_of_resource(requested, allocatable, settings), weight))
    if settings.strategy == "RequestedToCapacityRatio":
        scores = [(score, weight) for score, weight in scores if score > 0]
    total = sum(score * weight for score, weight in scores)
    weights = sum(weight for _, weight in scores)
    if weights == 0:
        return 0
    if settings.strategy == "RequestedToCapacityRatio":
        return math.floor(Fraction(total, weights) + Fraction(1, 2))
    return quotient(total, weights)


def _of_resource(requested: int, allocatable: int, settings: Settings) -> int:
    if settings.strategy == "LeastAllocated":
        if requested > allocatable:
            return 0
        return quotient((allocatable - requested) * 100, allocatable)
    used = quotient(min(requested, allocatable) * 100, allocatable)
    return used if settings.strategy == "MostAllocated" else _on_line(settings.shape, used)


def _on_line(shape: tuple[tuple[int, int], ...], used: int) -> int:
    points = [(utilization, 10 * score) for utilization, score in shape]
    if used <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in pairwise(points):
        if used <= x1:
            return y0 + quotient((y1 - y0) * (used - x0), x1 - x0)
    return points[-1][1]


def balanced_allocation(pod: Pod, node: HostedNode, settings: Settings) -> int | None:
    wanted = pod_requests(pod, on_node=False)
    resources = [r for r in settings.balanced_resources if not is_scalar(r) or wanted.get(r)]
    if not any(wanted.get(name) for name in resources):
        return None
    offered = [name for name in resources if node.allocatable.get(name)]
    used = {name: node.requested(name) for name in offered}
    without = [min(1.0, float(used[n]) / float(node.allocatable[n])) for n in offered]
    with_pod = [
        min(1.0, float(used[n] + wanted.get(n, 0)) / float(node.allocatable[n])) for n in offered
    ]
    change = _balance(with_pod) - _balance(without)
    return 50 + quotient(50 + change, 2)


def _balance(fractions: list[float]) -> int:
    if len(fractions) == 2:
        deviation = abs(fractions[0] - fractions[1]) / 2
    elif len(fractions) > 2:
        mean = _sum(fractions) / len(fractions)
        squares = [(f - mean) * (f - mean) for f in fractions]
        deviation = math.sqrt(_sum(squares) / len(fractions))
    else:
        deviation = 0
    return int((1 - deviation) * 100)


def _sum(values: list[float]) -> float:
    """Add up one by one, in order: `sum` compensates its rounding since Python 3.12."""
    total = 0.0
    for value in values:
        total += value
    return total


def image_locality(pod: Pod, node: HostedNode, cluster: Cluster) -> int:
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    names = [container.image for container in containers]
    names += [volume.image.reference for volume in pod.spec.volumes if volume.image is not None]
    total = 0
    for name in map(_with_tag, names):
        if name in _sizes(node):
            holders = sum(name in _sizes(other) for other in cluster.nodes)
            total += int(float(_sizes(node)[name]) * (holders / len(cluster.nodes)))
    lowest, highest = 23 * MIB, 1000 * MIB * len(containers)
    clamped = min(max(total, lowest), highest)
    return quotient(100 * (clamped - lowest), highest - lowest)


def _with_tag(name: str) -> str:
    return name if ":" in name.rsplit("/", maxsplit=1)[-1] else f"{name}:latest"


def _sizes(node: HostedNode) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for image in node.node.status.images or ():
        for name in image.names:
            sizes.setdefault(name, image.size_bytes)
    return sizes
