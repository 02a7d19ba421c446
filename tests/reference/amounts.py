"""Quantities and what Pods request, as exact fractions."""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

from scheduler_svc.core.objects import (
    Container,
    ContainerStatus,
    Pod,
    QuantityText,
    ResourceRequirements,
)

DEFAULTS = {"cpu": Fraction(1, 10), "memory": Fraction(200 * 1024 * 1024)}

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

Amounts = dict[str, Fraction]


def quantity(text: QuantityText) -> Fraction:
    """Read a quantity."""
    number = str(text)
    suffix = number.lstrip("+-.0123456789")
    number = number.removesuffix(suffix)
    if suffix in _BINARY:
        return Fraction(number) * (1 << _BINARY[suffix])
    exponent = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
    return Fraction(f"{number}e{exponent}")


def amounts(resources: Mapping[str, QuantityText] | None) -> Amounts:
    """Read a list of resources."""
    return {name: quantity(text) for name, text in (resources or {}).items()}


def requests(requirements: ResourceRequirements | None) -> Amounts:
    """Read what is requested."""
    return amounts(requirements.requests if requirements is not None else None)


def rounded(name: str, amount: Fraction) -> int:
    """Round up: CPU to milli-units, everything else to whole ones."""
    return math.ceil(amount * 1000) if name == "cpu" else math.ceil(amount)


def is_extended(name: str) -> bool:
    """Whether it is an extended resource."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def is_scalar(name: str) -> bool:
    """Whether it is counted beside CPU, memory, ephemeral storage and Pods."""
    return (
        is_extended(name)
        or "kubernetes.io/" in name
        or name.startswith(("hugepages-", "attachable-volumes-"))
    )


def is_counted(name: str) -> bool:
    """Whether the scheduler looks at it at all."""
    return name in ("cpu", "memory", "ephemeral-storage", "pods") or is_scalar(name)


def plus(one: Amounts, other: Amounts) -> Amounts:
    """Add up, by resource."""
    return {name: one.get(name, Fraction(0)) + other.get(name, Fraction(0)) for name in one | other}


def largest(several: Iterable[Amounts]) -> Amounts:
    """Give the largest of each resource."""
    result: Amounts = {}
    for each in several:
        for name, amount in each.items():
            result[name] = max(result.get(name, amount), amount)
    return result


def pod_requests(
    pod: Pod, *, on_node: bool, pod_level: bool = True, defaults: bool = False
) -> dict[str, int]:
    """Give the effective requests, rounded, of the resources that are counted.

    On a Node the kubelet's word counts, too. With `defaults` a container without a request
    for CPU or memory counts as requesting a little.
    """
    exact = _exact(pod, on_node=on_node, pod_level=pod_level, missing={})
    if defaults:
        missing = dict(DEFAULTS)
        if pod_level and _pod_level(pod, on_node=on_node):
            missing = {name: a for name, a in DEFAULTS.items() if name not in exact}
        exact = _exact(pod, on_node=on_node, pod_level=pod_level, missing=missing)
    return {name: rounded(name, amount) for name, amount in exact.items() if is_counted(name)}


def _exact(pod: Pod, *, on_node: bool, pod_level: bool, missing: Amounts) -> Amounts:
    running: Amounts = {}
    for container in pod.spec.containers:
        running = plus(running, missing | _of_container(pod, container, on_node=on_node))
    sidecars: Amounts = {}
    steps: list[Amounts] = []
    for container in pod.spec.init_containers:
        if container.restart_policy == "Always":
            own = missing | _of_container(pod, container, on_node=on_node)
            running = plus(running, own)
            sidecars = plus(sidecars, own)
            steps.append(sidecars)
        else:
            steps.append(plus(missing | requests(container.resources), sidecars))
    total = largest([running, *steps])
    if pod_level:
        total |= _pod_level(pod, on_node=on_node)
    return plus(total, amounts(pod.spec.overhead))


def _of_container(pod: Pod, container: Container, *, on_node: bool) -> Amounts:
    declared = requests(container.resources)
    if not on_node:
        return declared
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    for status in statuses:
        if status.name == container.name and status.resources is not None:
            return _in_use(pod, declared, status)
    return declared


def _in_use(pod: Pod, declared: Amounts, status: ContainerStatus) -> Amounts:
    granted = [requests(status.resources), amounts(status.allocated_resources)]
    return largest(granted if _is_infeasible(pod) else [declared, *granted])


def _pod_level(pod: Pod, *, on_node: bool) -> Amounts:
    declared = requests(pod.spec.resources)
    effective = declared
    if on_node and pod.status.resources is not None:
        granted = [requests(pod.status.resources), amounts(pod.status.allocated_resources)]
        effective = largest(granted if _is_infeasible(pod) else [declared, *granted])
    return {
        name: effective.get(name, Fraction(0))
        for name in declared
        if name in ("cpu", "memory") or name.startswith("hugepages-")
    }


def _is_infeasible(pod: Pod) -> bool:
    conditions = [c for c in pod.status.conditions if c.type == "PodResizePending"]
    return bool(conditions) and conditions[0].reason == "Infeasible"
