"""Devices: what Nodes offer in slices, and what Pods claim."""

from collections.abc import Sequence
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
_CLASSES: Final = ("gpu", "nic")


def devices(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[Manifest]:
    """Give Pods claims; gives classes, slices and claims."""
    slices = [
        _slice(r, name, class_name)
        for name in map(name_of, nodes)
        for class_name in _CLASSES
        if chance(r, 0.6)
    ]
    claims = []
    pending = [pod for pod in pods if is_pending(pod)]
    for number, pod in enumerate(pending):
        if chance(r, 0.8):
            claims.append(_claim(r, f"claim-{number}"))
            _use(pod, claims[-1])
    held = [_held(r, slice_, pods, pending) for slice_ in slices]
    return [*map(_device_class, _CLASSES), *slices, *claims, *(c for c in held if c)]


def _device_class(name: str) -> Manifest:
    selector = {"cel": {"expression": f'device.driver == "{name}.example"'}}
    return manifest(_RESOURCE, "DeviceClass", name, spec={"selectors": [selector]})


def _slice(r: Random, node: str, class_name: str) -> Manifest:
    name = f"{class_name}-{node}"
    spec = {
        "driver": f"{class_name}.example",
        "nodeName": node,
        "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
        "devices": [_device(r, number) for number in range(r.choice([1, 2, 4]))],
    }
    return manifest(_RESOURCE, "ResourceSlice", name, spec=spec)


def _device(r: Random, number: int) -> Manifest:
    attributes = {
        "model": {"string": r.choice(["a100", "h100"])},
        "numa": {"int": r.randint(0, 1)},
        "healthy": {"bool": chance(r, 0.9)},
    }
    capacity = {"memory": {"value": r.choice(["40Gi", "80Gi"])}}
    made: Manifest = {"name": f"d{number}", "attributes": attributes, "capacity": capacity}
    if chance(r, 0.1):
        effect = r.choice(["NoSchedule", "NoExecute"])
        made["taints"] = [{"key": "broken", "value": "yes", "effect": effect}]
    return made


def _claim(r: Random, name: str) -> Manifest:
    requests = [_request(r, f"r{number}") for number in range(r.choice([1, 1, 2]))]
    wanted: Manifest = {"requests": requests}
    if len(requests) > 1 and chance(r, 0.4):
        wanted["constraints"] = [{"matchAttribute": "gpu.example/numa"}]
    claim = manifest(_RESOURCE, "ResourceClaim", name, "default")
    return claim | {"spec": {"devices": wanted}}


def _request(r: Random, name: str) -> Manifest:
    class_name = r.choice(_CLASSES)
    exact: Manifest = {
        "deviceClassName": class_name,
        "allocationMode": "ExactCount",
        "count": r.choice([1, 1, 2, 3]),
    }
    if chance(r, 0.2):
        exact = {"deviceClassName": class_name, "allocationMode": "All"}
    if chance(r, 0.5):
        exact["selectors"] = [{"cel": {"expression": _expression(r, class_name)}}]
    if chance(r, 0.15):
        exact["tolerations"] = [{"key": "broken", "operator": "Exists"}]
    if chance(r, 0.2):
        second = {"deviceClassName": class_name, "allocationMode": "ExactCount", "count": 1}
        return {"name": name, "firstAvailable": [{"name": "s0", **exact}, {"name": "s1", **second}]}
    return {"name": name, "exactly": exact}


def _expression(r: Random, class_name: str) -> str:
    domain = f"{class_name}.example"
    return r.choice(
        [
            f'device.attributes["{domain}"].model == "h100"',
            f'device.capacity["{domain}"].memory.compareTo(quantity("60Gi")) >= 0',
            f'device.attributes["{domain}"].healthy',
            f'device.attributes["{domain}"].numa == 1',
        ]
    )


def _use(pod: Manifest, claim: Manifest) -> None:
    pod["spec"]["resourceClaims"] = [{"name": "dev", "resourceClaimName": name_of(claim)}]


def _held(
    r: Random, slice_: Manifest, pods: Sequence[Manifest], pending: Sequence[Manifest]
) -> Manifest | None:
    """Have a running Pod hold a device of the slice; perhaps a pending one shares the claim."""
    spec = slice_["spec"]
    here = [
        pod
        for pod in pods
        if pod["spec"].get("nodeName") == spec["nodeName"] and "resourceClaims" not in pod["spec"]
    ]
    if not here or chance(r, 0.5):
        return None
    pod = r.choice(here)
    class_name = spec["driver"].split(".")[0]
    exact = {"deviceClassName": class_name, "allocationMode": "ExactCount", "count": 1}
    claim = manifest(
        _RESOURCE, "ResourceClaim", f"held-{name_of(slice_)}", pod["metadata"]["namespace"]
    )
    claim["spec"] = {"devices": {"requests": [{"name": "r0", "exactly": exact}]}}
    result = {
        "request": "r0",
        "driver": spec["driver"],
        "pool": spec["pool"]["name"],
        "device": spec["devices"][0]["name"],
    }
    field = {"key": "metadata.name", "operator": "In", "values": [spec["nodeName"]]}
    claim["status"] = {
        "reservedFor": [{"resource": "pods", "name": name_of(pod), "uid": pod["metadata"]["uid"]}],
        "allocation": {
            "devices": {"results": [result]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
        },
    }
    _use(pod, claim)
    if pending and chance(r, 0.3):
        sharing = r.choice(pending)
        if sharing["metadata"]["namespace"] == pod["metadata"]["namespace"]:
            _use(sharing, claim)
    return claim
