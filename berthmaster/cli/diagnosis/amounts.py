"""Resources of Nodes and Pods as numbers, and numbers as people write them."""

from collections.abc import Mapping
from typing import Final

from scheduler_svc.core.errors import InputError
from scheduler_svc.core.objects import Pod
from scheduler_svc.core.quantity import milli_value, parse_quantity, unit_value
from scheduler_svc.core.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    pod_requests,
)

_IN_BYTES: Final = (MEMORY, EPHEMERAL_STORAGE)
_BINARY_UNITS: Final = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


def requests_of(pod: Pod) -> dict[str, int]:
    """Give what a Pod takes from its Node, without what it does not request; 1 of ``pods``.

    Raises `InputError` for a quantity that cannot be read.
    """
    requests = pod_requests(pod, with_status=bool(pod.spec.node_name))
    amounts = {
        PODS: 1,
        CPU: requests.milli_cpu,
        MEMORY: requests.memory_bytes,
        EPHEMERAL_STORAGE: requests.ephemeral_storage_bytes,
        **dict(requests.scalars),
    }
    return {name: amount for name, amount in amounts.items() if amount}


def allocatable_of(written: Mapping[str, str | int | float]) -> dict[str, int]:
    """Give what a Node offers; a quantity that cannot be read is left out."""
    amounts = {}
    for name, text in written.items():
        try:
            nano = parse_quantity(text)
        except InputError:
            continue
        amounts[name] = milli_value(nano) if name == CPU else unit_value(nano)
    return amounts


def format_amount(resource: str, amount: int) -> str:
    """Write an amount: ``1.5`` CPUs, ``12.4Gi`` of memory, ``7`` of anything else."""
    if resource == CPU:
        return f"{amount / 1000:.3f}".rstrip("0").rstrip(".")
    if resource in _IN_BYTES or resource.startswith("hugepages-"):
        for unit, size in _BINARY_UNITS:
            if abs(amount) >= size:
                return f"{amount / size:.1f}".removesuffix(".0") + unit
    return str(amount)


def format_age(seconds: float) -> str:
    """Write how long something has been so: 12 s, 3 m, 2 h 5 m, 4 d."""
    whole = max(round(seconds), 0)
    if whole < 120:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 120:
        return f"{minutes} m"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest} m" if rest else f"{hours} h"
    return f"{hours // 24} d"
