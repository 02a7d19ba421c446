"""Whether Pods are where the extender of a shape has them: read from the API server afterwards."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

from benchmarks.distributions import Distribution, distribution
from benchmarks.extender_rule import HIGHEST_SCORE, allows, score
from benchmarks.shape_checks import Object, Placement
from benchmarks.shape_cluster import MEASURED, WARM_UP
from benchmarks.workloads import ShapeExtender

_LOWEST_MEAN_SCORE: Final = 0.75 * HIGHEST_SCORE
"""Nodes at random have half the highest score."""


def asks(extender: ShapeExtender, pod: Object) -> bool:
    """Whether a Pod that a scheduler got is the extender's matter."""
    if pod["metadata"]["namespace"] not in (MEASURED, WARM_UP):
        return False
    managed = {resource["name"] for resource in extender.managed_resources}
    return not managed or any(
        managed & container["resources"].get("requests", {}).keys()
        for container in pod["spec"]["containers"]
    )


def faults_of_extender(extender: ShapeExtender, placement: Placement) -> list[str]:
    """Give what is wrong: Pods that the extender forbids where they are, or likes elsewhere."""
    places = [
        (pod["metadata"]["name"], pod["spec"]["nodeName"])
        for pod in placement.pods
        if asks(extender, pod)
    ]
    faults = []
    forbidden = [f"{pod} on {node}" for pod, node in places if not allows(pod, node)]
    if forbidden:
        faults.append(
            f"a Pod is where its extender forbids it, {len(forbidden)} times; for one: "
            f"{forbidden[0]}"
        )
    if extender.prioritize_verb and places:
        mean = fmean(score(node) for _, node in places)
        if mean < _LOWEST_MEAN_SCORE:
            faults.append(f"the extender's mean score of the Nodes is {mean:.1f}")
    return faults


def latencies(
    extender: ShapeExtender,
    placement: Placement,
    created_at_seconds: Mapping[str, float],
    bound_at_seconds: Mapping[str, float],
) -> tuple[Distribution | None, Distribution | None]:
    """Describe created to bound, in milliseconds: of measured Pods that asked, of the others."""
    asking = {
        pod["metadata"]["name"]
        for pod in placement.pods
        if pod["metadata"]["namespace"] == MEASURED and asks(extender, pod)
    }
    of_both: tuple[list[float], list[float]] = ([], [])
    for name, at_seconds in bound_at_seconds.items():
        of_both[name not in asking].append((at_seconds - created_at_seconds[name]) * 1000)
    return _described(of_both[0]), _described(of_both[1])


def _described(values: Sequence[float]) -> Distribution | None:
    return distribution(values) if values else None
