"""Whom to evict from one Node, Pod by Pod; nominated Pods and budgets count."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from scheduler_svc.core.disruption_objects import PodDisruptionBudget
from scheduler_svc.core.objects import Pod
from tests.reference.cluster import HostedNode
from tests.reference.filters import FILTERS
from tests.reference.matching import host_ports
from tests.reference.settings import Settings

NO_VICTIMS = ("UnschedulableAndUnresolvable", ["No preemption victims found for incoming pod"])

Nominated = Mapping[str, Sequence[Pod]]
Rejection = tuple[str, list[str]]


class Victims(msgspec.Struct, frozen=True):
    """Names of Pods, the most important first, and how many of them break a budget."""

    names: tuple[str, ...]
    violation_count: int


def priority(pod: Pod) -> int:
    return pod.spec.priority or 0


def rejection(pod: Pod, node: HostedNode, nominated: Nominated) -> Rejection | None:
    """Say why a Pod may not run on a Node, with the nominated Pods there and without."""
    respected = [
        other
        for other in nominated.get(node.name, ())
        if priority(other) >= priority(pod) and other.metadata.uid != pod.metadata.uid
    ]
    for extra in [respected, []] if respected else [[]]:
        hosted = HostedNode(node.node, [*node.pods, *extra])
        for judge in FILTERS.values():
            found = judge(pod, hosted, Settings())
            if found is not None:
                return found
    return None


def victims_on(
    pod: Pod,
    node: HostedNode,
    nominated: Nominated,
    budgets: Sequence[PodDisruptionBudget],
) -> Victims | Rejection:
    """Give who would have to go, or why that is of no use."""
    lower = [other for other in node.pods if priority(other) < priority(pod)]
    if not lower:
        return NO_VICTIMS
    staying = [other for other in node.pods if other not in lower]
    for other in lower:
        staying = _with_ports_freed(staying, other)
    found = rejection(pod, HostedNode(node.node, staying), nominated)
    if found is not None:
        return found
    lower = _sorted(lower)
    violating, others = _split(lower, budgets)
    victims = []
    violation_count = 0
    for other in [*violating, *others]:
        if rejection(pod, HostedNode(node.node, [*staying, other]), nominated) is None:
            staying.append(other)
        else:
            victims.append(other)
            staying = _with_ports_freed(staying, other)
            violation_count += other in violating
    victims.sort(key=_importance)
    return Victims(tuple(victim.metadata.name for victim in victims), violation_count)


def _importance(pod: Pod) -> tuple[int, str]:
    return (-priority(pod), pod.status.start_time or "~")


def _sorted(pods: Sequence[Pod]) -> list[Pod]:
    """Insert one after the other, as Go does with twelve; of those not started the later first."""
    ordered: list[Pod] = []
    for pod in pods:
        place = len(ordered)
        while place and (
            _importance(pod) < _importance(ordered[place - 1])
            or (_importance(pod) == _importance(ordered[place - 1]) and not pod.status.start_time)
        ):
            place -= 1
        ordered.insert(place, pod)
    return ordered


def _with_ports_freed(pods: Sequence[Pod], leaving: Pod) -> list[Pod]:
    """Have nobody hold the ports of a Pod that leaves: to upstream a Node's ports are a set."""
    freed = set(host_ports(leaving))
    return [_without_ports(pod) if freed & set(host_ports(pod)) else pod for pod in pods]


def _without_ports(pod: Pod) -> Pod:
    """Leave out the ports, of which each Pod has one here."""
    containers = tuple(replace(container, ports=()) for container in pod.spec.containers)
    return replace(pod, spec=replace(pod.spec, containers=containers))


def _split(
    pods: Sequence[Pod], budgets: Sequence[PodDisruptionBudget]
) -> tuple[list[Pod], list[Pod]]:
    allowed = [budget.status.disruptions_allowed for budget in budgets]
    violating: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        breaks = False
        for index, budget in enumerate(budgets):
            if _is_of(budget, pod) and pod.metadata.name not in budget.status.disrupted_pods:
                allowed[index] -= 1
                breaks = breaks or allowed[index] < 0
        (violating if breaks else others).append(pod)
    return violating, others


def _is_of(budget: PodDisruptionBudget, pod: Pod) -> bool:
    selector = budget.spec.selector
    wanted = {} if selector is None else selector.match_labels or {}
    labels = pod.metadata.labels or {}
    return (
        budget.metadata.namespace == pod.metadata.namespace
        and bool(wanted)
        and all(labels.get(key) == value for key, value in wanted.items())
    )
