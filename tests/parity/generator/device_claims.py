"""Claims of every kind, and Pods that use them: prioritized, constrained, shared, held, broken."""

from collections.abc import Sequence
from typing import Final

from tests.parity.generator.device_slices import (
    CLASSES,
    RESOURCE,
    Habits,
    device_classes,
    device_slices,
)
from tests.parity.generator.manifests import Manifest, Random, chance, is_pending, manifest, name_of

_FAR_AWAY: Final = "2099-01-01T00:00:00Z"
_LONG_AGO: Final = "2026-01-01T00:00:00Z"
_SHARE: Final = "11111111-1111-4111-8111-111111111111"
_EXTENDED: Final = (
    "example.com/gpu",
    "example.com/gpu",
    "example.com/nic",
    "deviceclass.resource.kubernetes.io/any",
    "deviceclass.resource.kubernetes.io/gpu",
    "example.com/other",
)
# `D` stands for the attributes, `C` for the capacities of the driver.
_EXPRESSIONS: Final = (
    'D.model == "h100"',
    'C.memory.compareTo(quantity("40Gi")) >= 0',
    'C.memory.isLessThan(quantity("50Gi"))',
    'quantity("1Gi").add(quantity("39Gi")) == C.memory',
    "D.healthy",
    "D.numa == 1",
    "D.numa > 0 || D.healthy",
    "1 / D.numa == 1",
    'D.numa + "x" == "1"',
    'D.firmware.isGreaterThan(semver("1.1.0"))',
    'D.firmware.compareTo(semver("1.2.3")) == 0',
    '"firmware" in D && D.firmware.major() == 2',
    'has(D.firmware) && D.firmware == semver("2.0.0")',
    "device.allowMultipleAllocations",
    "!device.allowMultipleAllocations",
    'cel.bind(d, D, d.model == "a100" && d.numa != 0)',
    'device.attributes["shared.example"].group == "g0"',
    'device.attributes["shared.example"].?group.orValue("g1") == "g1"',
    'device.attributes["nowhere.example"].x == 1',
    '"nowhere.example" in device.attributes',
    '"gpu.example" in device.attributes',
    "D.model",
    'D.model.startsWith("h")',
    'device.driver.matches("^g.*e$")',
    '["a100"].exists(m, m == D.model)',
    'D.firmware == "1.2.3"',
    '"1.2.3" != D.firmware',
    'D.firmware in ["1.2.3", "2.0.0"]',
    "D.numa < 1.5",
    'isIP(D.model) || D.model in ["h100"]',
    'D.exists(name, value, name == "numa" && value == 1)',
    "!format.dns1123Label().validate(D.model).hasValue()",
    'C.memory in [quantity("40960Mi"), quantity("0.5Gi")]',
    "[3, 1].sortBy(n, -n).indexOf(D.numa) == 1",
)


def add_devices(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[Manifest]:
    """Give Pods claims and extended resources; gives classes, slices and claims."""
    habits = Habits(r)
    slices = device_slices(r, habits, nodes)
    running = [pod for pod in pods if not is_pending(pod)]
    pending = [pod for pod in pods if is_pending(pod)]
    claims: list[Manifest] = []
    for number, pod in enumerate(pending):
        if chance(r, habits.is_extended):
            claims += _add_extended(r, pod)
        if chance(r, 0.75):
            for place in range(r.choice([1, 1, 2])):
                claims += _add_claim(r, habits, pod, f"claim-{number}-{place}")
    claims += _held_claims(r, slices, running, pending)
    return [*device_classes(r, habits), *slices, *claims]


def _add_extended(r: Random, pod: Manifest) -> list[Manifest]:
    """Have containers request extended resources; perhaps a claim is left of an earlier attempt."""
    if chance(r, 0.4):
        pod["spec"]["initContainers"] = [
            {"name": f"i{number}", "image": "i", **_always(r)} for number in range(r.choice([1, 2]))
        ]
    for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
        if chance(r, 0.7):
            amounts = {r.choice(_EXTENDED): str(r.choice([1, 1, 2]))}
            resources = container.setdefault("resources", {})
            resources.setdefault("requests", {}).update(amounts)
            resources.setdefault("limits", {}).update(amounts)
    if not chance(r, 0.1):
        return []
    left = manifest(RESOURCE, "ResourceClaim", f"left-of-{name_of(pod)}", "default")
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    left["metadata"] |= {"annotations": annotations, "ownerReferences": [_owner(pod)]}
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    request = {"name": "container-0-request-0", "exactly": exactly}
    return [left | {"spec": {"devices": {"requests": [request]}}}]


def _always(r: Random) -> Manifest:
    return {"restartPolicy": "Always"} if chance(r, 0.4) else {}


def _owner(pod: Manifest) -> Manifest:
    uid = pod["metadata"]["uid"]
    return {"apiVersion": "v1", "kind": "Pod", "name": name_of(pod), "uid": uid, "controller": True}


def _add_claim(r: Random, habits: Habits, pod: Manifest, name: str) -> list[Manifest]:
    """Have a Pod use a claim, by name or by template; perhaps there is something wrong with it."""
    claim = manifest(RESOURCE, "ResourceClaim", name, "default", spec=_spec(r, habits))
    if chance(r, 0.03):
        claim["metadata"] |= {"deletionTimestamp": _LONG_AGO, "finalizers": ["example.com/hold"]}
    reference = {"name": name, "resourceClaimName": name}
    if chance(r, 0.15):
        reference = {"name": name, "resourceClaimTemplateName": "template"}
        made = r.choice(["owned", "owned", "foreign", "none", "not yet"])
        statuses = pod["status"].setdefault("resourceClaimStatuses", [])
        if made != "not yet":
            named = {} if made == "none" else {"resourceClaimName": name}
            statuses.append({"name": name, **named})
        if made == "owned":
            claim["metadata"]["ownerReferences"] = [_owner(pod)]
    pod["spec"].setdefault("resourceClaims", []).append(reference)
    return [claim] if chance(r, 0.96) else []


def _spec(r: Random, habits: Habits) -> Manifest:
    requests = [_request(r, habits, f"r{number}") for number in range(r.choice([1, 1, 2, 3]))]
    names = [request["name"] for request in requests]
    names += [
        f"{request['name']}/{alternative['name']}"
        for request in requests
        for alternative in request.get("firstAvailable", ())
    ]
    attributes = ["gpu.example/numa", "gpu.example/model", "gpu.example/firmware"]
    constraints = []
    while chance(r, 0.35):
        kind = r.choice(["matchAttribute", "matchAttribute", "distinctAttribute"])
        constraint: Manifest = {kind: r.choice([*attributes, "shared.example/group"])}
        if chance(r, 0.4):
            constraint["requests"] = r.sample(names, 1)
        constraints.append(constraint)
    return {"devices": {"requests": requests, "constraints": constraints}}


def _request(r: Random, habits: Habits, name: str) -> Manifest:
    if chance(r, 0.25):
        count = r.choice([1, 2, 3])
        alternatives = [{"name": f"s{index}", **_wanted(r, habits)} for index in range(count)]
        return {"name": name, "firstAvailable": alternatives}
    exactly = _wanted(r, habits)
    if chance(r, 0.1):
        exactly["adminAccess"] = True
    return {"name": name, "exactly": exactly}


def _wanted(r: Random, habits: Habits) -> Manifest:
    class_name = r.choice([*CLASSES, "any"])
    count = r.choice([1, 1, 1, 2, 3, r.choice([4, 20, 33])])
    wanted: Manifest = {
        "deviceClassName": class_name,
        "allocationMode": "ExactCount",
        "count": count,
    }
    if chance(r, 0.15):
        wanted = {"deviceClassName": class_name, "allocationMode": "All"}
    if chance(r, 0.4):
        domain = "gpu.example" if class_name == "any" else f"{class_name}.example"
        expression = r.choice(_EXPRESSIONS)
        for short, part in (("D.", "attributes"), ("C.", "capacity")):
            expression = expression.replace(short, f'device.{part}["{domain}"].')
        expression = expression.replace("D,", f'device.attributes["{domain}"],')
        expression = expression.replace("in D ", f'in device.attributes["{domain}"] ')
        wanted["selectors"] = [{"cel": {"expression": expression}}]
    if chance(r, 0.4):
        wanted["tolerations"] = [_toleration(r)]
    if chance(r, habits.consumes_capacity):
        amount = r.choice(["1Gi", "7Gi", "10Gi", "3", "40Gi"])
        wanted["capacity"] = {"requests": {r.choice(["memory", "memory", "slots"]): amount}}
    return wanted


def _toleration(r: Random) -> Manifest:
    if chance(r, 0.2):
        return {"operator": "Exists"}
    toleration = {"key": r.choice(["broken", "worn"]), "operator": r.choice(["Exists", "Equal"])}
    return toleration | ({"effect": "NoSchedule"} if chance(r, 0.4) else {})


def _held_claims(
    r: Random, slices: Sequence[Manifest], running: Sequence[Manifest], pending: Sequence[Manifest]
) -> list[Manifest]:
    """Have devices allocated; some claims are shared with pending Pods."""
    claims: dict[str, Manifest] = {}
    for slice_ in slices:
        for device in slice_["spec"].get("devices", ()):
            name = f"held-{name_of(slice_)}-{device['name']}"
            if chance(r, 0.75) or name in claims:
                continue
            claims[name] = _held(r, name, slice_["spec"], device, running)
            if chance(r, 0.35):
                reference = {"name": name, "resourceClaimName": name}
                r.choice(pending)["spec"].setdefault("resourceClaims", []).append(reference)
    return list(claims.values())


def _held(
    r: Random, name: str, spec: Manifest, device: Manifest, running: Sequence[Manifest]
) -> Manifest:
    identity = {"driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}
    result: Manifest = {"request": "r0", **identity}
    if device.get("allowMultipleAllocations"):
        amounts = {"memory": r.choice(["5Gi", "10Gi"])}
        result |= {"shareID": _SHARE, "consumedCapacity": amounts}
    elif chance(r, 0.1):
        result["adminAccess"] = True
    allocation: Manifest = {"devices": {"results": [result]}}
    if "nodeName" in spec:
        field = {"key": "metadata.name", "operator": "In", "values": [spec["nodeName"]]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    elif "nodeSelector" in spec:
        allocation["nodeSelector"] = spec["nodeSelector"]
    status: Manifest = {"allocation": allocation}
    if running and chance(r, 0.6):
        user = r.choice(running)
        uid = user["metadata"]["uid"]
        status["reservedFor"] = [{"resource": "pods", "name": name_of(user), "uid": uid}]
    if chance(r, 0.25):
        result |= {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
        if chance(r, 0.6):
            allocation["allocationTimestamp"] = r.choice([_LONG_AGO, _FAR_AWAY])
        if chance(r, 0.6):
            status["devices"] = [identity | {"conditions": _conditions(r)}]
    exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
    asked = {"devices": {"requests": [{"name": "r0", "exactly": exactly}]}}
    return manifest(RESOURCE, "ResourceClaim", name, "default", spec=asked, status=status)


def _conditions(r: Random) -> list[Manifest]:
    return [
        {
            "type": kind,
            "status": r.choice(["True", "False"]),
            "reason": "Told",
            "message": "by the driver",
            "lastTransitionTime": _LONG_AGO,
        }
        for kind in r.sample(["ready", "failed"], r.choice([1, 2]))
    ]
