"""Devices in odd pools: of several Nodes, with counters of their own, of odd amounts and names."""

from collections.abc import Iterator, Sequence
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
_DRIVERS: Final = ("z.example", "a.example")
_NAMES: Final = ("d2", "d10", "d1", "a", "z", "d-1")
_AMOUNTS: Final = ("0", "1", "2", "1500m", "1e3", "10Gi", "40Gi", "9223372036854775807", 3)
# No more: kube-scheduler changes larger amounts of counters in place, for whoever asks next.
_COUNTS: Final = ("0", "1", "2", "1500m", "1e3", "10Gi", "40Gi", 3)
_SHARES: Final = ("0", "1", "2", "3", "5", "1500m", "10Gi", "41Gi")
_EXPRESSIONS: Final = (
    'device.driver == "a.example"',
    "D.good > 0",
    "D.good == 1",
    '"index" in D',
    'D["other.example/kind"] == "x"',
    'device.attributes["other.example"].kind == "x"',
    'device.capacity["a.example"].room.compareTo(quantity("2")) > 0',
    'device.capacity[device.driver].?room.orValue(quantity("0")).isGreaterThan(quantity("1"))',
    "device.attributes[device.driver].?good.orValue(false)",
    'device.capacity[device.driver].?room.orValue(quantity("0")).asApproximateFloat() > 1',
    "[[D.?index.hasValue()], [true]].flatten().slice(0, 1) == [true]",
    "true",
    "false",
    "device.driver",
)
_VALUES: Final[tuple[Manifest, ...]] = (
    *({"string": "1"}, {"string": ""}, {"int": 1}, {"int": -1}, {"bool": True}),
    *({"version": "1.0.0"}, {"version": "1.0.0-alpha.1"}, {"version": "1.0.0+build"}),
)


def odd_devices(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[Manifest]:
    """Have pending Pods claim devices; gives classes, slices and claims."""
    slices = [
        made
        for driver in _DRIVERS
        for pool in r.sample(["p1", "p0", "rack", name_of(nodes[0])], r.choice([1, 2]))
        for made in _pool(r, driver, pool, nodes)
    ]
    made = [*_classes(r), *slices]
    taken = [claim for each in slices for claim in _taken(r, each)]
    for number, pod in enumerate(filter(is_pending, pods)):
        names = []
        for place in range(r.choice([1, 1, 1, 2])):
            claim = _claim(r, f"odd-{number}-{place}", pod["metadata"].get("namespace", "default"))
            names.append(name_of(claim))
            made.append(claim)
        shared = [name_of(claim) for claim in taken if chance(r, 0.05)]
        if chance(r, 0.1):
            # Twice the same.
            names.append(names[0])
        pod["spec"]["resourceClaims"] = [
            {"name": f"c{place}", "resourceClaimName": name}
            for place, name in enumerate([*names, *shared])
        ]
    return made + taken


def _classes(r: Random) -> list[Manifest]:
    made = []
    for name in ("any", "picky", "broken"):
        count = {"any": 0, "picky": r.choice([1, 2]), "broken": 1}[name]
        chosen = [_expression(r) for _ in range(count)]
        if name == "broken" and chance(r, 0.5):
            chosen = ["device.nothing"]
        selectors = [{"cel": {"expression": expression}} for expression in chosen]
        made.append(manifest(_RESOURCE, "DeviceClass", name, spec={"selectors": selectors}))
    return made


def _expression(r: Random) -> str:
    driver = r.choice(_DRIVERS)
    return r.choice(_EXPRESSIONS).replace("D", f'device.attributes["{driver}"]')


def _pool(r: Random, driver: str, pool: str, nodes: Sequence[Manifest]) -> Iterator[Manifest]:
    """Make a pool: of a slice for each of some Nodes, perhaps with counters that all share."""
    chosen = r.sample(list(nodes), r.choice([1, 2, len(nodes)]))
    sets = r.choice([0, 0, 1, 2])
    slices = [_place(r, node) for node in chosen]
    names = list(_NAMES)
    for spec in slices:
        count = min(r.choice([0, 1, 2, 3]), len(names))
        spec["devices"] = [_device(r, names.pop(r.randrange(len(names)))) for _ in range(count)]
        if chance(r, 0.7):
            names = names or list(_NAMES)
        if spec.get("perDeviceNodeSelection"):
            for device in spec["devices"]:
                device |= _place(r, r.choice(nodes), is_device=True)
        for device in spec["devices"]:
            if sets and chance(r, 0.8):
                device["consumesCounters"] = _consumed(r, sets)
    for number in range(sets):
        place: Manifest = r.choice([{"allNodes": True}, {"nodeName": name_of(r.choice(nodes))}])
        slices.append({"sharedCounters": [_set(r, number)], **place})
    generation, total = r.choice([0, 1, 7]), len(slices) + chance(r, 0.1)
    for number, spec in enumerate(slices):
        own = generation + 1 if chance(r, 0.04) else generation
        whole = {"name": pool, "generation": own, "resourceSliceCount": total}
        name = f"{r.choice('az')}-{driver[0]}-{pool}-{number}"
        yield manifest(
            _RESOURCE, "ResourceSlice", name, spec={"driver": driver, "pool": whole, **spec}
        )


def _place(r: Random, node: Manifest, *, is_device: bool = False) -> Manifest:
    zone = {"key": ZONE, "operator": r.choice(["In", "NotIn"]), "values": ["z-a"]}
    kind = r.random()
    if kind < 0.7:
        return {"nodeName": name_of(node)}
    if kind < 0.8:
        return {"allNodes": True}
    if kind < 0.9 or is_device:
        return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}
    return {"perDeviceNodeSelection": True}


def _device(r: Random, name: str) -> Manifest:
    made: Manifest = {"name": name}
    if chance(r, 0.8):
        made["attributes"] = {"index": r.choice(_VALUES), "good": {"bool": chance(r, 0.5)}}
        if chance(r, 0.5):
            made["attributes"]["other.example/kind"] = {"string": r.choice(["x", "y"])}
    if chance(r, 0.6):
        made["capacity"] = {"room": {"value": r.choice(_AMOUNTS)}}
        if chance(r, 0.5):
            made["allowMultipleAllocations"] = True
            policy = _policy(r)
            if policy is not None:
                made["capacity"]["room"]["requestPolicy"] = policy
    if chance(r, 0.15):
        made["taints"] = [
            {"key": r.choice(["a", "b"]), "effect": r.choice(["NoSchedule", "NoExecute", "None"])}
            for _ in range(r.choice([1, 2]))
        ]
    if chance(r, 0.1):
        made["bindingConditions"] = ["ready"]
    return made


def _policy(r: Random) -> Manifest | None:
    kind = r.random()
    if kind < 0.25:
        return None
    if kind < 0.4:
        return {"default": r.choice(["0", "1", "2"])}
    if kind < 0.6:
        return {"default": "1", "validValues": r.choice([["1"], ["1", "2", "5"], ["0", "1"]])}
    limits: Manifest = {"min": r.choice(["0", "1", "1"])}
    if chance(r, 0.5):
        limits["max"] = r.choice(["2", "10Gi"])
    if chance(r, 0.5):
        limits["step"] = r.choice(["1", "2"])
    return {"default": "1", "validRange": limits}


def _set(r: Random, number: int) -> Manifest:
    counters = {name: {"value": r.choice(_COUNTS)} for name in ("x", "y")}
    # Rarely another one of the same name.
    return {"name": f"s{0 if chance(r, 0.04) else number}", "counters": counters}


def _consumed(r: Random, sets: int) -> list[Manifest]:
    return [
        {
            "counterSet": f"s{number}",
            "counters": {
                name: {"value": r.choice(_COUNTS)}
                for name in r.sample(["x", "y", *(["w"] if chance(r, 0.02) else [])], 1)
            },
        }
        for number in r.sample(range(sets), r.choice([1, sets]))
    ]


def _claim(r: Random, name: str, namespace: str) -> Manifest:
    requests = [_request(r, f"r{number}") for number in range(r.choice([1, 1, 2, 3]))]
    constraints = []
    for _ in range(r.choice([0, 0, 1, 2])):
        attribute = r.choice(
            ["a.example/index", "z.example/index", "other.example/kind", "a.example/good"]
        )
        constraint: Manifest = {r.choice(["matchAttribute", "distinctAttribute"]): attribute}
        if chance(r, 0.5):
            constraint["requests"] = r.sample(["r0", "r1", "r0/s0", "r1/s1"], r.choice([1, 2]))
        constraints.append(constraint)
    spec = {"devices": {"requests": requests, "constraints": constraints}}
    return manifest(_RESOURCE, "ResourceClaim", name, namespace, spec=spec)


def _request(r: Random, name: str) -> Manifest:
    if chance(r, 0.2):
        alternatives = [{"name": f"s{i}", **_wanted(r)} for i in range(r.choice([1, 2, 3]))]
        return {"name": name, "firstAvailable": alternatives}
    wanted = _wanted(r)
    if chance(r, 0.1):
        wanted["adminAccess"] = r.choice([True, False])
    return {"name": name, "exactly": wanted}


def _wanted(r: Random) -> Manifest:
    made: Manifest = {"deviceClassName": r.choice(["any", "any", "any", "picky", "broken"])}
    if chance(r, 0.2):
        made["allocationMode"] = "All"
    elif chance(r, 0.97):
        made |= {"allocationMode": "ExactCount", "count": r.choice([1, 1, 1, 2, 3, 32])}
    if chance(r, 0.3):
        chosen = [_expression(r) for _ in range(r.choice([1, 1, 2]))]
        made["selectors"] = [{"cel": {"expression": expression}} for expression in chosen]
    if chance(r, 0.2):
        made["tolerations"] = [
            r.choice([{"operator": "Exists"}, {"key": "a", "operator": "Exists"}, {"key": "b"}])
        ]
    if chance(r, 0.35):
        made["capacity"] = {"requests": {r.choice(["room", "room", "none"]): r.choice(_SHARES)}}
    return made


def _taken(r: Random, published: Manifest) -> Iterator[Manifest]:
    """Give claims that hold devices of a slice, or one that is not there any more."""
    spec = published["spec"]
    for number, device in enumerate([*spec.get("devices", []), {"name": "gone"}]):
        if not chance(r, 0.2):
            continue
        identity = {"driver": spec["driver"], "pool": spec["pool"]["name"]}
        result: Manifest = {"request": "r0", "device": device["name"], **identity}
        if device.get("allowMultipleAllocations"):
            result["shareID"] = f"11111111-1111-4111-8111-{number:012d}"
            result["consumedCapacity"] = {"room": r.choice(_SHARES)}
        elif chance(r, 0.1):
            result["adminAccess"] = True
        allocation: Manifest = {"devices": {"results": [result]}}
        if "nodeName" in spec and chance(r, 0.8):
            field = {"key": "metadata.name", "operator": "In", "values": [spec["nodeName"]]}
            allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        status: Manifest = {"allocation": allocation}
        if chance(r, 0.5):
            status["reservedFor"] = [{"resource": "pods", "name": "other", "uid": "other"}]
        exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
        yield manifest(
            _RESOURCE,
            "ResourceClaim",
            f"of-{name_of(published)}-{number}",
            r.choice(["default", "default", "team-a"]),
            spec={"devices": {"requests": [{"name": "r0", "exactly": exactly}]}},
            status=status,
        )
