"""Extended resources that a DeviceClass stands for: classes by resource, requests by container.

A Pod that asks for example.com/gpu gets devices of the class that is named so, on Nodes where
no device plugin offers the resource.

Source: staging/src/k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache and
pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go
(`createRequestsAndMappings`), v1.36.3.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from scheduler_svc.core.device_objects import (
    EXACT_COUNT,
    DeviceClass,
    DeviceRequest,
    ExactRequest,
)
from scheduler_svc.core.resources import ContainerRequests, is_extended

CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"


def may_be_devices(name: str) -> bool:
    """Whether a resource's name is one that a DeviceClass can stand for."""
    return name.startswith(CLASS_PREFIX) or is_extended(name)


def classes_by_resource(classes: Iterable[DeviceClass]) -> dict[str, DeviceClass]:
    """Give the class of each resource; of two that claim one name the newer, then the lower."""
    found: dict[str, DeviceClass] = {}
    ordered = sorted(classes, key=lambda c: c.metadata.name, reverse=True)
    for device_class in sorted(ordered, key=lambda c: c.metadata.creation_timestamp or ""):
        found[f"{CLASS_PREFIX}{device_class.metadata.name}"] = device_class
        if device_class.spec.extended_resource_name is not None:
            found[device_class.spec.extended_resource_name] = device_class
    return found


class RequestMapping(msgspec.Struct, frozen=True, rename="camel"):
    """Which request of the claim serves a container's resource, for the Pod's status."""

    container_name: str
    resource_name: str
    request_name: str


class ContainerDemand(msgspec.Struct, frozen=True):
    """The requests of a Pod's claim for extended resources, and what each is for."""

    requests: tuple[DeviceRequest, ...]
    mappings: tuple[RequestMapping, ...]


def container_demand(
    containers: tuple[ContainerRequests, ...], class_names: Mapping[str, str]
) -> ContainerDemand:
    """Give what containers ask for of the resources in `class_names` (resource to class).

    Init containers that end use the devices of those that come after them, as far as they
    go; of what they need beyond, only the most that any of them does is requested.
    """
    requests: list[DeviceRequest] = []
    mappings: list[RequestMapping] = []
    for resource in sorted(class_names):
        demand = _of_resource(containers, resource, class_names[resource])
        requests += demand.requests
        mappings += demand.mappings
    return ContainerDemand(tuple(sorted(requests, key=lambda r: r.name)), tuple(mappings))


def _of_resource(
    containers: tuple[ContainerRequests, ...], resource: str, class_name: str
) -> ContainerDemand:
    lasting: list[DeviceRequest | None] = [None] * len(containers)
    lasting_mappings: list[RequestMapping] = []
    for index, container in enumerate(containers):
        if not container.is_short_lived:
            lasting[index], added = _of_container(index, container, resource, class_name, [])
            lasting_mappings += added
    largest: DeviceRequest | None = None
    short_names: set[str] = set()
    short_mappings: list[RequestMapping] = []
    for index, container in enumerate(containers):
        if container.is_short_lived:
            reusable = [request for request in lasting[index:] if request is not None]
            own, added = _of_container(index, container, resource, class_name, reusable)
            short_mappings += added
            if own is not None:
                short_names.add(own.name)
                largest = own if largest is None or _count(largest) < _count(own) else largest
    if largest is not None:
        short_mappings = [_renamed(m, short_names, largest.name) for m in short_mappings]
    found = [r for r in (largest, *lasting) if r is not None]
    return ContainerDemand(tuple(found), (*lasting_mappings, *short_mappings))


def _of_container(
    index: int,
    container: ContainerRequests,
    resource: str,
    class_name: str,
    reusable: list[DeviceRequest],
) -> tuple[DeviceRequest | None, list[RequestMapping]]:
    """Give the request for what a container needs beyond the reusable ones, and its mappings."""
    needed = container.amount(resource)
    mappings: list[RequestMapping] = []
    if needed == 0:
        return None, mappings
    for request in reusable:
        mappings.append(RequestMapping(container.name, resource, request.name))
        needed -= _count(request)
        if needed <= 0:
            return None, mappings
    name = f"container-{index}-request-{container.position(resource)}"
    mappings.append(RequestMapping(container.name, resource, name))
    exactly = ExactRequest(device_class_name=class_name, allocation_mode=EXACT_COUNT, count=needed)
    return DeviceRequest(name, exactly), mappings


def _count(request: DeviceRequest) -> int:
    return 0 if request.exactly is None else request.exactly.count


def _renamed(mapping: RequestMapping, names: set[str], name: str) -> RequestMapping:
    if mapping.request_name not in names:
        return mapping
    return RequestMapping(mapping.container_name, mapping.resource_name, name)
