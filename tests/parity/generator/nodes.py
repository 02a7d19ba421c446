"""Nodes: what they offer, their labels, taints and images."""

from collections.abc import Sequence
from typing import Final

from tests.parity.generator.manifests import (
    HOSTNAME,
    REGION,
    ZONE,
    ZONES,
    Manifest,
    Random,
    chance,
    manifest,
)

MIB: Final = 1024 * 1024
IMAGES: Final = {f"registry.example/img{i}:v1": (15 + 90 * i) * MIB for i in range(8)}
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
TAINT_KEYS: Final = ("dedicated", "gpu", "flaky")
EFFECTS: Final = ("NoSchedule", "NoExecute", "PreferNoSchedule")
MOST_NODES: Final = 20
ROOMY: Final = {"cpu": "16", "memory": "32Gi", "pods": "110"}


def node(r: Random, number: int) -> Manifest:
    """Make a Node; some are small, some have no zone, some offer devices and huge pages."""
    name = f"n{number:02d}"
    labels = {
        HOSTNAME: name,
        ZONE: r.choice(ZONES),
        REGION: "r1",
        "disk": r.choice(["ssd", "hdd"]),
        "gen": str(r.randint(1, 9)),
        "kubernetes.io/os": "linux",
    }
    if chance(r, 0.15):
        del labels[ZONE]
    allocatable = {
        "cpu": r.choice(["1900m", "2", "4", "7910m", "16"]),
        "memory": r.choice(["3977Mi", "8Gi", "15.5Gi", "32Gi"]),
        "pods": str(r.choice([3, 8, 110])),
        "ephemeral-storage": r.choice(["20Gi", "100Gi"]),
    }
    if chance(r, 0.4):
        allocatable["example.com/gpu"] = str(r.choice([1, 2, 4, 8]))
    if chance(r, 0.25):
        allocatable["hugepages-2Mi"] = r.choice(["64Mi", "512Mi"])
    made = manifest("v1", "Node", name)
    made["metadata"]["labels"] = labels
    ready = [{"type": "Ready", "status": "True"}]
    status = {"capacity": dict(allocatable), "allocatable": allocatable, "conditions": ready}
    return made | {"spec": {}, "status": status}


def taint(r: Random, nodes: Sequence[Manifest]) -> None:
    """Taint some Nodes, and cordon some."""
    for target in nodes:
        taints = [
            {
                "key": key,
                "value": r.choice(["a", "b", ""]),
                "effect": r.choice([*EFFECTS, "PreferNoSchedule"]),
            }
            for key in TAINT_KEYS
            if chance(r, 0.3)
        ]
        if chance(r, 0.12):
            target["spec"]["unschedulable"] = True
            taints.append({"key": UNSCHEDULABLE, "effect": "NoSchedule"})
        if taints:
            target["spec"]["taints"] = taints


def tolerations(r: Random) -> list[Manifest]:
    """Make tolerations, of all shapes; comparing ones are of a feature that is off."""
    made = []
    for _ in range(r.choice([0, 1, 2, 3])):
        toleration: Manifest = {"operator": "Exists"}
        if chance(r, 0.9):
            toleration = {
                "key": r.choice([*TAINT_KEYS, UNSCHEDULABLE]),
                "operator": r.choice(["Exists", "Equal"]),
            }
            if toleration["operator"] == "Equal":
                toleration["value"] = r.choice(["a", "b", ""])
        if chance(r, 0.6):
            toleration["effect"] = r.choice(EFFECTS)
        made.append(toleration)
    return made


def add_images(r: Random, nodes: Sequence[Manifest]) -> None:
    """Put images on Nodes, under a tag and a digest."""
    digest = "@sha256:" + "0" * 64
    for target in nodes:
        target["status"]["images"] = [
            {"names": [name, name.replace(":v1", digest)], "sizeBytes": size}
            for name, size in IMAGES.items()
            if chance(r, 0.4)
        ]
