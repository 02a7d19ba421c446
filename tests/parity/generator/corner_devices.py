"""Rarer things about devices, added to a snapshot that `devices` has made."""

from collections.abc import Callable, Sequence
from typing import Final

from tests.parity.generator.manifests import (
    Manifest,
    Random,
    chance,
    is_pending,
    manifest,
    name_of,
)

_RESOURCE: Final = "resource.k8s.io/v1"
_EXTENDED: Final = "example.com/accelerator"
_DRIVER: Final = "corner.example"
_CLASS_EXPRESSIONS: Final = (
    f'device.attributes["{_DRIVER}"].numa == 0',
    f'"numa" in device.attributes["{_DRIVER}"]',
    "!device.allowMultipleAllocations",
    "device.allowMultipleAllocations",
    f'device.capacity["{_DRIVER}"].memory.compareTo(quantity("50Gi")) < 0',
)


def corner_devices(
    r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]
) -> list[Manifest]:
    """Give pending Pods odd claims; gives the objects that belong to them."""
    selectors = [{"cel": {"expression": f'device.driver == "{_DRIVER}"'}}]
    if chance(r, 0.3):
        # Some devices have no such attributes: there the answer is an error.
        selectors.append({"cel": {"expression": r.choice(_CLASS_EXPRESSIONS)}})
    spec = {"selectors": selectors, "extendedResourceName": _EXTENDED}
    made = [manifest(_RESOURCE, "DeviceClass", "corner", spec=spec)]
    for node in nodes:
        if chance(r, 0.7):
            made += _slices(r, node)
    if chance(r, 0.5):
        made.append(_network_slice(r, nodes))
    for number, pod in enumerate(pod for pod in pods if is_pending(pod)):
        if chance(r, 0.8):
            made += r.choice(_CORNERS)(r, pod, f"corner-{number}", nodes)
    return made


def _slices(r: Random, node: Manifest) -> list[Manifest]:
    """Give a Node a pool: whole, partitioned, shared, incomplete or outdated."""
    name = f"corner-{name_of(node)}"
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec: Manifest = {"driver": _DRIVER, "nodeName": name_of(node), "pool": pool}
    made = [manifest(_RESOURCE, "ResourceSlice", name, spec=spec)]
    spec["devices"] = [_device(r, number) for number in range(r.choice([1, 2, 3]))]
    kind = r.random()
    if kind < 0.25:
        spec["devices"] = [_partition(r, number) for number in range(3)]
        counters = {"memory": {"value": r.choice(["40Gi", "80Gi"])}}
        shared: Manifest = {"driver": _DRIVER, "nodeName": name_of(node), "pool": {**pool}}
        shared["sharedCounters"] = [{"name": "board", "counters": counters}]
        made.append(manifest(_RESOURCE, "ResourceSlice", f"{name}-counters", spec=shared))
        for slice_ in made:
            slice_["spec"]["pool"]["resourceSliceCount"] = 2
    elif kind < 0.35:
        pool["resourceSliceCount"] = 2
    elif kind < 0.45:
        newer = {**spec, "pool": {**pool, "generation": 2}, "devices": [_device(r, 0)]}
        made.append(manifest(_RESOURCE, "ResourceSlice", f"{name}-newer", spec=newer))
    return made


def _device(r: Random, number: int) -> Manifest:
    made: Manifest = {
        "name": f"d{number}",
        "attributes": {
            "model": {"string": r.choice(["a", "b"])},
            "version": {"version": r.choice(["1.0.0", "2.1.0"])},
            "numa": {"int": r.randint(0, 1)},
        },
        "capacity": {"memory": {"value": r.choice(["40Gi", "80Gi"])}},
    }
    kind = r.random()
    if kind < 0.2:
        made["allowMultipleAllocations"] = True
        if chance(r, 0.5):
            step = {"min": "10Gi", "max": "40Gi", "step": "10Gi"}
            policy = {"default": "10Gi", "validRange": step}
            made["capacity"]["memory"]["requestPolicy"] = policy
        elif chance(r, 0.5):
            policy = {"default": "10Gi", "validValues": ["10Gi", "20Gi", "40Gi"]}
            made["capacity"]["memory"]["requestPolicy"] = policy
    elif kind < 0.35:
        effect = r.choice(["NoSchedule", "NoExecute", "None"])
        made["taints"] = [{"key": "broken", "value": r.choice(["a", "b"]), "effect": effect}]
    elif kind < 0.45:
        made["bindingConditions"] = ["example.com/attached"]
        made["bindingFailureConditions"] = ["example.com/failed"]
        made["bindsToNode"] = chance(r, 0.5)
    return made


def _partition(r: Random, number: int) -> Manifest:
    made = _device(r, number)
    counters = {"memory": {"value": r.choice(["20Gi", "40Gi"])}}
    made["consumesCounters"] = [{"counterSet": "board", "counters": counters}]
    return made


def _network_slice(r: Random, nodes: Sequence[Manifest]) -> Manifest:
    """Devices that are reached from all Nodes, from some, or each from others."""
    pool = {"name": "network", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"port{number}"} for number in range(r.choice([1, 3]))]
    spec: Manifest = {"driver": _DRIVER, "pool": pool, "devices": devices}
    kind = r.random()
    terms = [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]
    if kind < 0.4:
        spec["allNodes"] = True
    elif kind < 0.7:
        spec["nodeSelector"] = {"nodeSelectorTerms": terms}
    else:
        spec["perDeviceNodeSelection"] = True
        for device in devices:
            where: Manifest = r.choice(
                [
                    {"nodeName": name_of(r.choice(nodes))},
                    {"allNodes": True},
                    {"nodeSelector": {"nodeSelectorTerms": terms}},
                ]
            )
            device |= where
    return manifest(_RESOURCE, "ResourceSlice", "network", spec=spec)


def _claim(name: str, wanted: Manifest, **fields: Manifest) -> Manifest:
    return manifest(_RESOURCE, "ResourceClaim", name, "default", spec={"devices": wanted}, **fields)


def _exactly(r: Random, name: str = "r0", **fields: object) -> Manifest:
    exact: Manifest = {"deviceClassName": "corner", "allocationMode": "ExactCount", "count": 1}
    if chance(r, 0.3):
        exact["tolerations"] = [
            {"key": "broken", "operator": "Equal", "value": "a", "effect": "NoSchedule"}
        ]
    return {"name": name, "exactly": exact | fields}


def _use(pod: Manifest, *names: str) -> None:
    pod["metadata"]["namespace"] = "default"
    pod["spec"]["resourceClaims"] = [
        {"name": f"c{number}", "resourceClaimName": name} for number, name in enumerate(names)
    ]


def _plain(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> list[Manifest]:
    _use(pod, name)
    return [_claim(name, {"requests": [_exactly(r, count=r.choice([1, 2]))]})]


def _constrained(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> list[Manifest]:
    _use(pod, name)
    requests = [_exactly(r, "r0"), _exactly(r, "r1", count=r.choice([1, 2]))]
    attribute = f"{_DRIVER}/{r.choice(['model', 'numa', 'version', 'missing'])}"
    constraint: Manifest = {r.choice(["matchAttribute", "distinctAttribute"]): attribute}
    if chance(r, 0.3):
        constraint["requests"] = ["r1"]
    return [_claim(name, {"requests": requests, "constraints": [constraint]})]


def _capacity(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> list[Manifest]:
    _use(pod, name)
    capacity = {"requests": {"memory": r.choice(["5Gi", "15Gi", "40Gi", "60Gi"])}}
    return [_claim(name, {"requests": [_exactly(r, capacity=capacity)]})]


def _several(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> list[Manifest]:
    names = [f"{name}-{number}" for number in range(3)]
    _use(pod, *names)
    return [_claim(each, {"requests": [_exactly(r)]}) for each in names]


def _all(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> list[Manifest]:
    _use(pod, name)
    exact: Manifest = {"deviceClassName": "corner", "allocationMode": "All"}
    if chance(r, 0.4):
        exact["adminAccess"] = True
    return [_claim(name, {"requests": [{"name": "r0", "exactly": exact}]})]


def _alternatives(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> list[Manifest]:
    _use(pod, name)
    alternatives = [
        {
            "name": f"s{number}",
            "deviceClassName": r.choice(["corner", "gpu", "nic"]),
            "allocationMode": "ExactCount",
            "count": count,
        }
        for number, count in enumerate((4, 2, 1))
    ]
    return [_claim(name, {"requests": [{"name": "r0", "firstAvailable": alternatives}]})]


def _wrong(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> list[Manifest]:
    """A class that is not there, an expression that fails at run time or always."""
    _use(pod, name)
    if chance(r, 0.4):
        return [_claim(name, {"requests": [_exactly(r, deviceClassName="missing")]})]
    expression = r.choice(
        [
            f'device.attributes["{_DRIVER}"].missing == "x"',
            "1 + 1 == 2",
            f'device.attributes["{_DRIVER}"].version.isGreaterThan(semver("1.5.0"))',
            f'"{_DRIVER}" in device.attributes',
        ]
    )
    return [
        _claim(name, {"requests": [_exactly(r, selectors=[{"cel": {"expression": expression}}])]})
    ]


def _no_claim(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> list[Manifest]:
    """No claim, one that is going, one of another Pod's, or one from a template."""
    _use(pod, name)
    kind = r.random()
    if kind < 0.3:
        return []
    claim = _claim(name, {"requests": [_exactly(r)]})
    if kind < 0.5:
        claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        claim["metadata"]["finalizers"] = ["example.com/hold"]
        return [claim]
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": name_of(pod),
        "uid": pod["metadata"]["uid"] if kind < 0.8 else "another",
        "controller": True,
    }
    claim["metadata"]["ownerReferences"] = [owner]
    pod["spec"]["resourceClaims"] = [{"name": "c0", "resourceClaimTemplateName": "template"}]
    if chance(r, 0.7):
        status = {"name": "c0", "resourceClaimName": name}
        pod["status"]["resourceClaimStatuses"] = [status]
    return [claim]


def _allocated(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> list[Manifest]:
    """A claim that has its device: for nobody yet, for others, or for as many as there may be."""
    _use(pod, name)
    node = name_of(r.choice(nodes))
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    result = {"request": "r0", "driver": _DRIVER, "pool": f"corner-{node}", "device": "d0"}
    allocation: Manifest = {"devices": {"results": [result]}}
    if chance(r, 0.8):
        terms = [{"matchFields": [field]}]
        allocation["nodeSelector"] = {"nodeSelectorTerms": terms}
    count = r.choice([0, 0, 1, 256])
    reserved = [{"resource": "pods", "name": f"p{i}", "uid": f"u{i}"} for i in range(count)]
    status = {"allocation": allocation, "reservedFor": reserved}
    return [_claim(name, {"requests": [_exactly(r)]}, status=status)]


def _extended(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> list[Manifest]:
    """Devices by the name of a resource: of the class, or of any class."""
    resource = r.choice([_EXTENDED, "deviceclass.resource.kubernetes.io/corner"])
    # Of a part of a device kube-scheduler makes no request, the API server none of an extended one.
    amount = {resource: r.choice(["1", "2", "1500m" if chance(r, 0.3) else "1"])}
    for container in pod["spec"]["containers"]:
        if chance(r, 0.7):
            resources = container.setdefault("resources", {})
            for field in ("requests", "limits"):
                resources[field] = resources.get(field, {}) | amount
    for node in nodes:
        if chance(r, 0.15):
            node["status"]["allocatable"][_EXTENDED] = r.choice(["0", "1", "4"])
    if chance(r, 0.3):
        return _plain(r, pod, name, nodes)
    return []


_Corner = Callable[[Random, Manifest, str, Sequence[Manifest]], list[Manifest]]

_CORNERS: Final[tuple[_Corner, ...]] = (
    _plain,
    _constrained,
    _capacity,
    _several,
    _all,
    _alternatives,
    _wrong,
    _no_claim,
    _allocated,
    _extended,
)
