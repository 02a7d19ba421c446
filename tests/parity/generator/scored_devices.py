"""Pods that ask for devices as extended resources, on Nodes that have some free and some taken."""

from collections.abc import Sequence
from typing import Final

from tests.parity.generator.manifests import (
    ZONE,
    Manifest,
    Random,
    chance,
    is_pending,
    manifest,
    name_of,
)

_RESOURCE: Final = "resource.k8s.io/v1"
_DRIVER: Final = "gpu.example"
_EXTENDED: Final = "example.com/gpu"
_ANY: Final = "deviceclass.resource.kubernetes.io/any"
_ATTRIBUTES: Final = f'device.attributes["{_DRIVER}"]'
_SELECTORS: Final = (
    f'device.driver == "{_DRIVER}"',
    f'{_ATTRIBUTES}.model == "a"',
    "!device.allowMultipleAllocations",
    "device.nothing == 1",
    f'{_ATTRIBUTES}.model == "z"',
)


def scored_devices(
    r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]
) -> list[Manifest]:
    """Have pending Pods ask for devices; gives classes, slices, and claims that hold some."""
    slices = [_local(r, node) for node in nodes if chance(r, 0.8)]
    if chance(r, 0.6):
        slices.append(_shared(r, nodes))
    for node in nodes:
        if chance(r, 0.2):
            node["status"]["allocatable"][_EXTENDED] = r.choice(["0", "2", "4"])
        else:
            node["status"]["allocatable"].pop(_EXTENDED, None)
    for pod in filter(is_pending, pods):
        requests = {r.choice([_EXTENDED, _EXTENDED, _ANY]): r.choice(["1", "1", "2"])}
        if chance(r, 0.6):
            requests |= {"cpu": r.choice(["500m", "2"]), "memory": "1Gi"}
        pod["spec"]["containers"] = [
            {"name": "c", "image": "i", "resources": {"requests": requests, "limits": requests}}
        ]
    return [*_classes(r), *slices, *_claims(r, slices)]


def _classes(r: Random) -> list[Manifest]:
    chosen = r.sample(_SELECTORS, r.choice([0, 1, 2]))
    selectors = [{"cel": {"expression": expression}} for expression in chosen]
    spec = {"selectors": selectors, "extendedResourceName": _EXTENDED}
    return [
        manifest(_RESOURCE, "DeviceClass", "gpu", spec=spec),
        manifest(_RESOURCE, "DeviceClass", "any", spec={}),
    ]


def _slice(r: Random, name: str, **spec: object) -> Manifest:
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    devices = [_device(r, number) for number in range(r.choice([2, 4, 8]))]
    whole: Manifest = {"driver": _DRIVER, "pool": pool, "devices": devices, **spec}
    return manifest(_RESOURCE, "ResourceSlice", name, spec=whole)


def _device(r: Random, number: int) -> Manifest:
    made: Manifest = {"name": f"d{number}"}
    if chance(r, 0.97):
        made["attributes"] = {"model": {"string": r.choice("aab")}}
    if chance(r, 0.1):
        made["allowMultipleAllocations"] = True
    return made


def _local(r: Random, node: Manifest) -> Manifest:
    return _slice(r, f"of-{name_of(node)}", nodeName=name_of(node))


def _shared(r: Random, nodes: Sequence[Manifest]) -> Manifest:
    """Devices that several Nodes reach: all of them, those of a zone, or each its own."""
    kind = r.random()
    zone = {"key": ZONE, "operator": "In", "values": ["z-a"]}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}
    if kind < 0.3:
        return _slice(r, "network", allNodes=True)
    if kind < 0.6:
        return _slice(r, "network", nodeSelector=selector)
    made = _slice(r, "network", perDeviceNodeSelection=True)
    for device in made["spec"]["devices"]:
        where: list[Manifest] = [
            {"nodeName": name_of(r.choice(nodes))},
            {"allNodes": True},
            {"nodeSelector": selector},
        ]
        device |= r.choice(where)
    return made


def _claims(r: Random, slices: Sequence[Manifest]) -> list[Manifest]:
    """Give a claim for each device that is taken."""
    made = []
    for published in slices:
        pool = published["spec"]["pool"]["name"]
        for device in published["spec"]["devices"]:
            if not chance(r, 0.3):
                continue
            result = {"request": "r0", "driver": _DRIVER, "pool": pool, "device": device["name"]}
            if device.get("allowMultipleAllocations"):
                result["shareID"] = "11111111-1111-4111-8111-111111111111"
            exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
            name = f"held-{pool}-{device['name']}"
            spec = {"devices": {"requests": [{"name": "r0", "exactly": exactly}]}}
            status = {"allocation": {"devices": {"results": [result]}}}
            made.append(
                manifest(_RESOURCE, "ResourceClaim", name, "default", spec=spec, status=status)
            )
    return made
