"""What a Pod takes from its Node: requests of all its containers, summed exactly.

The kubelet starts init containers one after another while sidecars (restartable
init containers) keep running, so a Pod needs the larger of its steady state and
of each init step. Pod-level requests override the sum, overhead comes on top.

Source: staging/src/k8s.io/component-helpers/resource/helpers.go (`PodRequests`, `PodLimits`,
`AggregateContainerRequests`, `determineEffectiveRequests`) and
pkg/scheduler/framework/types.go (`CalculateResource`), v1.36.3.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Protocol

import msgspec

from scheduler_svc.core.label_syntax import is_qualified_name
from scheduler_svc.core.objects import (
    Container,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
    ResourceList,
)
from scheduler_svc.core.quantity import NANO_PER_UNIT, milli_value, parse_quantity, unit_value

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"

# What a container without a request counts as when Nodes are scored
# (pkg/scheduler/util/pod_resources.go).
DEFAULT_MILLI_CPU: Final = 100
DEFAULT_MEMORY_BYTES: Final = 200 * 1024 * 1024

_NANO_DEFAULTS: Final = {
    CPU: DEFAULT_MILLI_CPU * 10**6,
    MEMORY: DEFAULT_MEMORY_BYTES * 10**9,
}

NanoAmounts = dict[str, int]


class Requests(msgspec.Struct, frozen=True, gc=False):
    """Amounts in base units: milli-CPU, bytes, and whole units of scalar resources.

    `scalars` is sorted by name. The `nonzero_*` amounts count defaults for containers
    without a request; they are what NodeResourcesFit scores by.
    """

    milli_cpu: int = 0
    memory_bytes: int = 0
    ephemeral_storage_bytes: int = 0
    scalars: tuple[tuple[str, int], ...] = ()
    nonzero_milli_cpu: int = 0
    nonzero_memory_bytes: int = 0


class ContainerRequests(msgspec.Struct, frozen=True, gc=False):
    """What one container requests in whole units, by name; `is_short_lived`: it ends first."""

    name: str
    is_short_lived: bool
    amounts: tuple[tuple[str, int], ...]

    def amount(self, resource: str) -> int:
        """Give how much of a resource it requests, 0 for none."""
        return dict(self.amounts).get(resource, 0)

    def position(self, resource: str) -> int:
        """Give the place of a requested resource among all its requests."""
        return [name for name, _ in self.amounts].index(resource)


@lru_cache(maxsize=1024)
def is_extended(name: str) -> bool:
    """Whether `name` is an extended resource, such as nvidia.com/gpu.

    One that could not be written into a quota counts for nothing.
    """
    return (
        "/" in name
        and "kubernetes.io/" not in name
        and not name.startswith("requests.")
        and is_qualified_name(f"requests.{name}")
    )


def is_scalar(name: str) -> bool:
    """Whether the scheduler counts `name` beside CPU, memory, ephemeral storage and Pods."""
    return (
        is_extended(name)
        or name.startswith(("hugepages-", "attachable-volumes-"))
        or "kubernetes.io/" in name
    )


def pod_requests(pod: Pod, *, with_status: bool = False, with_pod_level: bool = True) -> Requests:
    """Give the effective requests of `pod`.

    `with_status` also counts what the kubelet has granted or is still using during a
    resize in place: for Pods that are on a Node. Without `with_pod_level` the containers'
    sum stands even where the Pod as a whole requests something else.
    Raises `InputError` for a quantity that cannot be read. Cost: O(containers).
    """
    spec = pod.spec
    status = pod.status if with_status else PodStatus()
    containers = _ContainerRequests(spec, status)
    pod_level = _pod_level_requests(pod, status) if with_pod_level else {}
    overhead = _nano_amounts(spec.overhead)
    totals = containers.aggregate({})
    requested = totals.keys() | pod_level.keys() | overhead.keys()
    nonzero = containers.aggregate(
        {name: a for name, a in _NANO_DEFAULTS.items() if not pod_level or name not in requested}
    )
    for amounts in (totals, nonzero):
        amounts.update(pod_level)
        _add(amounts, overhead)
    return Requests(
        milli_cpu=milli_value(totals.get(CPU, 0)),
        memory_bytes=unit_value(totals.get(MEMORY, 0)),
        ephemeral_storage_bytes=unit_value(totals.get(EPHEMERAL_STORAGE, 0)),
        scalars=tuple(
            sorted((name, unit_value(nano)) for name, nano in totals.items() if is_scalar(name))
        ),
        nonzero_milli_cpu=milli_value(nonzero.get(CPU, 0)),
        nonzero_memory_bytes=unit_value(nonzero.get(MEMORY, 0)),
    )


def pod_limits(spec: PodSpec) -> tuple[tuple[str, int], ...]:
    """Give what the Pod may use at most, by resource, in units of 10^-9, sorted by name.

    Raises `InputError` for a quantity that cannot be read. Cost: O(containers).
    """

    def limits_of(container: Container, *, resizable: bool) -> NanoAmounts:
        del resizable
        return _nano_amounts(container.resources.limits if container.resources else None)

    totals = _aggregate(spec, limits_of)
    pod_level = _nano_amounts(spec.resources.limits if spec.resources else None)
    totals.update({name: nano for name, nano in pod_level.items() if _is_pod_level(name)})
    # Where there is no limit, overhead does not make one.
    overhead = _nano_amounts(spec.overhead)
    _add(totals, {name: nano for name, nano in overhead.items() if totals.get(name)})
    return tuple(sorted(totals.items()))


def extended_requests(spec: PodSpec) -> tuple[ContainerRequests, ...]:
    """Give what init and regular containers request, if any of it is no resource of Kubernetes'.

    These are the resources that a DeviceClass may stand for: extended ones, and those of the
    domain `deviceclass.resource.kubernetes.io`. Of a part of a device nobody makes a request.
    """
    found = []
    for number, container in enumerate((*spec.init_containers, *spec.containers)):
        is_init = number < len(spec.init_containers)
        nano = _nano_amounts(container.resources.requests if container.resources else None)
        amounts = tuple((name, _whole_units(nano[name])) for name in sorted(nano))
        is_short_lived = is_init and container.restart_policy != "Always"
        found.append(ContainerRequests(container.name, is_short_lived, amounts))
    is_concerned = any("/" in name for container in found for name, _ in container.amounts)
    return tuple(found) if is_concerned else ()


def _whole_units(nano: int) -> int:
    return 0 if nano % NANO_PER_UNIT else unit_value(nano)


def _pod_level_requests(pod: Pod, status: PodStatus) -> NanoAmounts:
    """Give the Pod-level requests that override the containers' sum."""
    declared = _nano_amounts(pod.spec.resources.requests if pod.spec.resources else None)
    effective = declared
    if status.resources is not None:
        effective = _effective(
            declared,
            status.resources.requests,
            status.allocated_resources,
            infeasible=_is_resize_infeasible(status),
        )
    return {name: effective.get(name, 0) for name in declared if _is_pod_level(name)}


def _is_pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def _is_resize_infeasible(status: PodStatus) -> bool:
    reasons = (c.reason for c in status.conditions if c.type == "PodResizePending")
    return next(reasons, "") == "Infeasible"


class _ContainerRequests:
    """Requests of a Pod's containers, with the kubelet's grants where the status tells them."""

    def __init__(self, spec: PodSpec, status: PodStatus) -> None:
        self._spec = spec
        self._statuses: dict[str, ContainerStatus] = {
            s.name: s for s in (*status.container_statuses, *status.init_container_statuses)
        }
        self._infeasible = _is_resize_infeasible(status)

    def aggregate(self, defaults: NanoAmounts) -> NanoAmounts:
        """Give the larger of the steady state and of each init step, per resource."""
        return _aggregate(
            self._spec,
            lambda container, *, resizable: defaults | self._of(container, resizable=resizable),
        )

    def _of(self, container: Container, *, resizable: bool) -> NanoAmounts:
        declared = _nano_amounts(container.resources.requests if container.resources else None)
        status = self._statuses.get(container.name) if resizable else None
        if status is None or status.resources is None:
            return declared
        return _effective(
            declared,
            status.resources.requests,
            status.allocated_resources,
            infeasible=self._infeasible,
        )


class _AmountsOf(Protocol):
    """Gives a dict of its own."""

    def __call__(self, container: Container, *, resizable: bool) -> NanoAmounts:
        """Give what a container counts; `resizable`: it keeps running."""


def _aggregate(spec: PodSpec, amounts_of: _AmountsOf) -> NanoAmounts:
    totals: NanoAmounts = {}
    for container in spec.containers:
        _add(totals, amounts_of(container, resizable=True))
    sidecars: NanoAmounts = {}
    init_peak: NanoAmounts = {}
    for container in spec.init_containers:
        is_sidecar = container.restart_policy == "Always"
        own = amounts_of(container, resizable=is_sidecar)
        if is_sidecar:
            _add(totals, own)
            _add(sidecars, own)
            _raise_to(init_peak, sidecars)
        else:
            _add(own, sidecars)
            _raise_to(init_peak, own)
    _raise_to(totals, init_peak)
    return totals


def _effective(
    declared: NanoAmounts,
    actuated: ResourceList | None,
    allocated: ResourceList | None,
    *,
    infeasible: bool,
) -> NanoAmounts:
    result: NanoAmounts = {} if infeasible else dict(declared)
    _raise_to(result, _nano_amounts(actuated))
    _raise_to(result, _nano_amounts(allocated))
    return result


def _nano_amounts(amounts: ResourceList | None) -> NanoAmounts:
    return {name: parse_quantity(text) for name, text in amounts.items()} if amounts else {}


def _add(totals: NanoAmounts, amounts: Mapping[str, int]) -> None:
    for name, nano in amounts.items():
        totals[name] = totals.get(name, 0) + nano


def _raise_to(totals: NanoAmounts, amounts: Mapping[str, int]) -> None:
    for name, nano in amounts.items():
        if name not in totals or totals[name] < nano:
            totals[name] = nano
