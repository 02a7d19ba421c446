"""Slices of every kind: shared, partitioned, tainted, slow, incomplete, contradictory."""

from collections.abc import Iterator, Sequence
from typing import Final

from tests.parity.generator.manifests import ZONE, Manifest, Random, chance, manifest, name_of

RESOURCE: Final = "resource.k8s.io/v1"
CLASSES: Final = ("gpu", "nic")
COUNTER_SET: Final = "slots"
_STAMP: Final = "2026-01-01T00:00:00Z"


class Habits:
    """What the devices of one snapshot are like, as probabilities."""

    def __init__(self, r: Random) -> None:
        self.is_shared = r.choice([0, 0, 0.5])
        self.is_tainted = r.choice([0, 0.3])
        self.is_slow = r.choice([0, 0, 0.3])
        self.consumes_capacity = r.choice([0, 0.4])
        self.is_extended = r.choice([0, 0, 0.7])


def device_classes(r: Random, habits: Habits) -> list[Manifest]:
    """Give a class of each driver's devices, perhaps one missing, and one of all devices."""
    classes = [manifest(RESOURCE, "DeviceClass", "any", spec={})]
    for name in CLASSES:
        selector = {"cel": {"expression": f'device.driver == "{name}.example"'}}
        made = manifest(RESOURCE, "DeviceClass", name, spec={"selectors": [selector]})
        if chance(r, habits.is_extended):
            made["spec"]["extendedResourceName"] = f"example.com/{name}"
        if chance(r, 0.93):
            classes.append(made)
    for made in classes:
        made["metadata"]["creationTimestamp"] = _STAMP
    return classes


def device_slices(r: Random, habits: Habits, nodes: Sequence[Manifest]) -> list[Manifest]:
    """Give slices of Nodes, and some that several Nodes reach."""
    slices: list[Manifest] = []
    for node in map(name_of, nodes):
        for driver in CLASSES:
            if chance(r, 0.5):
                slices += _local(r, habits, node, driver)
    for number in range(r.choice([0, 0, 1, 2])):
        slices.append(_shared(r, habits, nodes, number))
    return slices


def _local(r: Random, habits: Habits, node: str, driver: str) -> Iterator[Manifest]:
    pool = r.choice([node, f"{driver}-{node}"])
    devices = [_device(r, habits, number) for number in range(r.choice([1, 2, 4]))]
    missing = int(chance(r, 0.08))
    if len(devices) > 1 and chance(r, 0.05):
        devices[1]["name"] = devices[0]["name"]
    if chance(r, 0.3):
        counters = {"memory": {"value": "100Gi"}}
        if chance(r, 0.5):
            counters["cores"] = {"value": "7"}
        for device in devices:
            if chance(r, 0.8):
                amount = r.choice(["30Gi", "50Gi", "60Gi"])
                known = COUNTER_SET if chance(r, 0.97) else "unknown"
                taken = {"counterSet": known, "counters": {"memory": {"value": amount}}}
                device["consumesCounters"] = [taken]
        place = {"nodeName": node} if chance(r, 0.7) else {"allNodes": True}
        sets = [{"name": COUNTER_SET, "counters": counters}]
        yield _slice(f"{driver}-{node}-counters", driver, pool, 2 + missing, 1, **place) | {
            "sharedCounters": sets
        }
        yield _slice(
            f"{driver}-{node}", driver, pool, 2 + missing, 1, nodeName=node, devices=devices
        )
        return
    generation = r.choice([1, 1, 2])
    yield _slice(
        f"{driver}-{node}", driver, pool, 1 + missing, generation, nodeName=node, devices=devices
    )


def _shared(r: Random, habits: Habits, nodes: Sequence[Manifest], number: int) -> Manifest:
    devices = [_device(r, habits, index) for index in range(r.choice([1, 3]))]
    kind = r.choice(["all", "zone", "each"])
    place: Manifest = {"allNodes": True}
    if kind == "zone":
        place = {"nodeSelector": _in_zone(r)}
    elif kind == "each":
        place = {"perDeviceNodeSelection": True}
        for device in devices:
            device |= r.choice(
                [
                    {"nodeName": name_of(r.choice(nodes))},
                    {"allNodes": True},
                    {"nodeSelector": _in_zone(r)},
                ]
            )
    pool = r.choice(["shared", "shared", f"shared-{number}"])
    count, generation = r.choice([1, 1, 1, 2]), r.choice([1, 1, 2])
    driver = r.choice(CLASSES)
    return _slice(f"net-{number}", driver, pool, count, generation, devices=devices, **place)


def _slice(
    name: str, driver: str, pool: str, count: int, generation: int, **spec: object
) -> Manifest:
    whole = {"name": pool, "generation": generation, "resourceSliceCount": count}
    fields = {"driver": f"{driver}.example", "pool": whole, **spec}
    return manifest(RESOURCE, "ResourceSlice", name, spec=fields)


def _in_zone(r: Random) -> Manifest:
    expression = {"key": ZONE, "operator": "In", "values": [r.choice(["z-a", "z-b"])]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def _device(r: Random, habits: Habits, number: int) -> Manifest:
    made: Manifest = {"name": f"d{number}", "attributes": _attributes(r)}
    capacity: Manifest = {"memory": {"value": r.choice(["10Gi", "20Gi", "40Gi", "80Gi"])}}
    if chance(r, 0.3):
        capacity["slots"] = {"value": r.choice(["4", "8"])}
    if chance(r, habits.is_shared):
        made["allowMultipleAllocations"] = True
        _limit(r, capacity)
    made["capacity"] = capacity
    if chance(r, habits.is_tainted):
        taint = {
            "key": r.choice(["broken", "worn"]),
            "effect": r.choice(["NoSchedule", "NoExecute", "None"]),
            "timeAdded": _STAMP,
        }
        made["taints"] = [taint | ({"value": "x"} if chance(r, 0.5) else {})]
    if chance(r, habits.is_slow):
        made |= {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
        made["bindsToNode"] = chance(r, 0.3)
    return made


def _attributes(r: Random) -> Manifest:
    attributes: Manifest = {
        "model": {"string": r.choice(["a100", "h100"])},
        "healthy": {"bool": chance(r, 0.8)},
    }
    if chance(r, 0.95):
        attributes["numa"] = {"int": r.randint(0, 2)}
    if chance(r, 0.85):
        versions = ["1.0.0", "1.2.3", "2.0.0-rc.1", "2.0.0"]
        attributes["firmware"] = {"version": r.choice(versions)}
    if chance(r, 0.7):
        attributes["shared.example/group"] = {"string": r.choice(["g0", "g1"])}
    return attributes


def _limit(r: Random, capacity: Manifest) -> None:
    """Say how capacities may be consumed."""
    kind = r.choice(["range", "values", "any"])
    if kind == "range":
        allowed = {"min": "5Gi", "max": r.choice(["20Gi", "80Gi"])}
        if chance(r, 0.5):
            allowed["step"] = "5Gi"
        capacity["memory"]["requestPolicy"] = {"default": "5Gi", "validRange": allowed}
    elif kind == "values":
        values = ["5Gi", "10Gi", "30Gi"]
        capacity["memory"]["requestPolicy"] = {"default": "10Gi", "validValues": values}
    if "slots" in capacity and chance(r, 0.3):
        capacity["slots"]["requestPolicy"] = {"default": "1", "validRange": {"min": "1"}}
