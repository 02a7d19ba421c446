"""Slices, classes, claims and Pods that want devices, written as manifests are."""

from collections.abc import Iterable
from typing import Any

import msgspec

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.device_objects import (
    Device,
    DeviceClass,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceSlice,
)
from scheduler_svc.core.devices.published import PublishedSlice
from scheduler_svc.core.devices.selectors import Selectors
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Pod
from scheduler_svc.core.pods import PodInfo, PodInterner

DRIVER = "gpu.example"
_INTERNER = PodInterner()
Manifest = dict[str, Any]


def device(name: str, **fields: Any) -> Manifest:
    """Give a device; `model`, `numa` are attributes, `memory` a capacity."""
    attributes = dict(fields.pop("attributes", {}))
    if "model" in fields:
        attributes["model"] = {"string": fields.pop("model")}
    if "numa" in fields:
        attributes["numa"] = {"int": fields.pop("numa")}
    capacity = dict(fields.pop("capacity", {}))
    if "memory" in fields:
        capacity["memory"] = {"value": fields.pop("memory")}
    return {"name": name, "attributes": attributes, "capacity": capacity, **fields}


def as_device(manifest: Manifest) -> Device:
    """Decode a device."""
    return msgspec.convert(manifest, Device)


def make_slice(
    name: str, devices: Iterable[Manifest] = (), *, pool: str = "", **spec: Any
) -> ResourceSlice:
    """Give a slice of the pool named after it, or `pool`; `spec` says who reaches it."""
    count, generation = spec.pop("count", 1), spec.pop("generation", 1)
    driver = spec.pop("driver", DRIVER)
    whole = {"name": pool or name, "generation": generation, "resourceSliceCount": count}
    manifest = {"driver": driver, "pool": whole, "devices": list(devices), **spec}
    return msgspec.convert({"metadata": {"name": name}, "spec": manifest}, ResourceSlice)


def published(*slices: ResourceSlice) -> list[PublishedSlice]:
    """Make slices ready for allocation."""
    selectors = Selectors()
    return [PublishedSlice(one, selectors) for one in slices]


def make_class(name: str = "gpu", *expressions: str, **spec: Any) -> DeviceClass:
    """Give a class; `created` is its time."""
    metadata = {"name": name, "creationTimestamp": spec.pop("created", None)}
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    manifest = {"metadata": metadata, "spec": {"selectors": selectors, **spec}}
    return msgspec.convert(manifest, DeviceClass)


def request(name: str = "r", **exactly: Any) -> Manifest:
    """Give a request for one device of the class gpu, or what else is said."""
    return {"name": name, "exactly": wanted(**exactly)}


def wanted(**fields: Any) -> Manifest:
    """Give what a request, or an alternative of one, says."""
    expression = fields.pop("expression", None)
    if expression is not None:
        fields["selectors"] = [{"cel": {"expression": expression}}]
    default = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    return default | fields


def first_available(name: str, *alternatives: Manifest) -> Manifest:
    """Give a request that is content with one of several alternatives."""
    return {"name": name, "firstAvailable": list(alternatives)}


def claim_spec(*requests: Manifest, **devices: Any) -> ResourceClaimSpec:
    """Give what a claim asks for: one device, unless there is more to say."""
    manifest = {"devices": {"requests": list(requests or (request(),)), **devices}}
    return msgspec.convert(manifest, ResourceClaimSpec)


def make_claim(
    name: str = "c",
    *requests: Manifest,
    status: Manifest | None = None,
    metadata: Manifest | None = None,
    **devices: Any,
) -> ResourceClaim:
    """Give a claim of the namespace default, its uid `uid-` and its name."""
    known = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "1"}
    spec = {"devices": {"requests": list(requests or (request(),)), **devices}}
    manifest = {"metadata": known | (metadata or {}), "spec": spec, "status": status or {}}
    return msgspec.convert(manifest, ResourceClaim)


def result(device_name: str, pool: str = "n1", **fields: Any) -> Manifest:
    """Give one device of an allocation."""
    return {"request": "r", "driver": DRIVER, "pool": pool, "device": device_name, **fields}


def allocation(*results: Manifest, node: str = "", **fields: Any) -> Manifest:
    """Give an allocation, for use on `node` alone if one is named."""
    whole: Manifest = {"devices": {"results": list(results)}, **fields}
    if node:
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        whole["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return whole


def used_by(*names: str) -> list[Manifest]:
    """Give the Pods that a claim is reserved for."""
    return [{"resource": "pods", "name": name, "uid": f"uid-{name}"} for name in names]


def make_claiming_pod(name: str = "p", *claims: str, **spec: Any) -> PodInfo:
    """Give a Pod that uses the claims; `generated` are those by template, name to claim."""
    generated = spec.pop("generated", {})
    references = [{"name": claim, "resourceClaimName": claim} for claim in claims]
    references += [{"name": key, "resourceClaimTemplateName": "t"} for key in generated]
    statuses = [
        {"name": key, "resourceClaimName": claim or None}
        for key, claim in generated.items()
        if claim != "?"
    ]
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    manifest = {
        "metadata": metadata,
        "spec": {"schedulerName": "berthmaster", "resourceClaims": references, **spec},
        "status": {"resourceClaimStatuses": statuses},
    }
    return _INTERNER.intern(msgspec.convert(manifest, Pod))


def container(name: str, requests: Manifest | None = None, *, is_sidecar: bool = False) -> Manifest:
    """Give a container."""
    more = {"restartPolicy": "Always"} if is_sidecar else {}
    return {"name": name, "resources": {"requests": requests or {}}, **more}


def device_cluster(
    nodes: Iterable[NodeInfo], *objects: ResourceSlice | DeviceClass | ResourceClaim
) -> Cluster:
    """Give a cluster; it has a class gpu of everything unless a class is among the objects."""
    cluster = Cluster()
    for node in nodes:
        cluster.columns.set_node(node)
    if not any(isinstance(one, DeviceClass) for one in objects):
        put(cluster, make_class())
    for one in objects:
        put(cluster, one)
    return cluster


def cache_of(cluster: Cluster) -> Cache:
    """Give a cache over a cluster."""
    return Cache(cluster)


def put(cluster: Cluster, one: ResourceSlice | DeviceClass | ResourceClaim) -> None:
    """Take in an object."""
    cluster.objects[_kind(one)].upsert(one)


def drop(cluster: Cluster, one: ResourceSlice | DeviceClass | ResourceClaim) -> None:
    """Take in that an object is gone."""
    meta = one.metadata
    key = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
    cluster.objects[_kind(one)].delete(key)


def _kind(one: ResourceSlice | DeviceClass | ResourceClaim) -> ObjectKind:
    if isinstance(one, ResourceSlice):
        return ObjectKind.RESOURCE_SLICE
    return ObjectKind.DEVICE_CLASS if isinstance(one, DeviceClass) else ObjectKind.RESOURCE_CLAIM
