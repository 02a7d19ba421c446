"""Families of snapshots: each is about one plugin, or about how several get along."""

import random
from collections.abc import Callable, Sequence
from typing import Final

from tests.parity.generator.corner_devices import corner_devices
from tests.parity.generator.corner_pods import corner_pods
from tests.parity.generator.corner_spread import corner_spread
from tests.parity.generator.corner_storage import add_to_csi_nodes, corner_storage
from tests.parity.generator.device_claims import add_devices
from tests.parity.generator.devices import devices
from tests.parity.generator.manifests import (
    APPS,
    NAMESPACES,
    Manifest,
    Random,
    chance,
    is_pending,
    manifest,
)
from tests.parity.generator.nodes import MOST_NODES, ROOMY, add_images, node, taint, tolerations
from tests.parity.generator.odd_amounts import odd_amounts
from tests.parity.generator.odd_devices import odd_devices
from tests.parity.generator.odd_nodes import odd_affinity, odd_taints
from tests.parity.generator.odd_pods import odd_images, odd_lives, odd_ports
from tests.parity.generator.odd_rules import odd_namespaces, odd_rules
from tests.parity.generator.odd_selectors import odd_selectors
from tests.parity.generator.odd_volumes import odd_volumes
from tests.parity.generator.pods import (
    add_ports,
    nominate,
    place,
    pod,
    prioritize,
    start_ending,
)
from tests.parity.generator.rules import add_node_affinity, add_pod_affinity, add_spread
from tests.parity.generator.scored_devices import scored_devices
from tests.parity.generator.storage import add_exclusive_disks, storage

FAMILIES: Final = (
    "resources",
    "taints",
    "nodeaffinity",
    "ports",
    "spread",
    "interpod",
    "images",
    "volumes",
    "preemption",
    "nominated",
    "contention",
    "dra",
    "devices",
    "mixed",
    "everything",
    "corner-devices",
    "corner-volumes",
    "corner-pods",
    "corner-spread",
    "scored-devices",
    "odd-amounts",
    "odd-affinity",
    "odd-taints",
    "odd-ports",
    "odd-images",
    "odd-lives",
    "odd-rules",
    "odd-devices",
    "odd-volumes",
    "odd-selectors",
    "odd-all",
)
PENDING_COUNT: Final = 6
# The family's own plugin decides, not room.
_ROOMY: Final = frozenset(
    {
        *("spread", "interpod", "ports", "nodeaffinity", "taints", "images", "devices"),
        *("scored-devices", "odd-ports", "odd-images", "odd-rules", "odd-affinity", "odd-taints"),
        *("odd-devices", "odd-volumes"),
    }
)
_RICH: Final = frozenset({"resources", "preemption", "mixed", "nominated", "everything"})
_SEVERAL_NAMESPACES: Final = frozenset(
    {"interpod", "spread", "mixed", "contention", "corner-spread", "odd-rules", "odd-all"}
)
_DENSE: Final = frozenset({"preemption", "nominated", "contention", "odd-lives", "odd-selectors"})
_CORNERS: Final = ("corner-devices", "corner-volumes", "corner-pods", "corner-spread")
_MANY: Final = frozenset({"mixed", "everything"})
_Change = Callable[[Random, Sequence[Manifest], Sequence[Manifest]], list[Manifest]]
# In the order in which they are made: the later build on what the former have left.
_ODD: Final[dict[str, _Change]] = {
    "odd-images": odd_images,
    "odd-ports": odd_ports,
    "odd-taints": odd_taints,
    "odd-lives": odd_lives,
    "odd-devices": odd_devices,
    "odd-volumes": odd_volumes,
    "odd-rules": odd_rules,
    "odd-affinity": odd_affinity,
    "odd-selectors": odd_selectors,
    "odd-amounts": odd_amounts,
}


def snapshot(family: str, seed: int, pending_count: int = PENDING_COUNT) -> list[Manifest]:
    """Give the objects of a cluster: Nodes, others, Pods."""
    r = random.Random(f"{family}:{seed}")
    nodes = [node(r, number) for number in range(r.choice([4, 8, 12, MOST_NODES]))]
    if family in _ROOMY:
        for roomy in nodes:
            roomy["status"]["allocatable"].update(ROOMY)
    pods = _pods(r, family, nodes, pending_count)
    for target in pods:
        _add_rules(r, family, target, nodes)
    others = [*_namespaces(r, family), *_services(r, family), *_add_objects(r, family, pods, nodes)]
    return nodes + others + pods


def _add_objects(
    r: Random, family: str, pods: list[Manifest], nodes: list[Manifest]
) -> list[Manifest]:
    """Add what concerns Nodes and Pods alike; gives the objects beside them."""
    made: list[Manifest] = []
    if _happens(
        r,
        family,
        {
            **dict.fromkeys(_MANY, 0.5),
            "taints": 1,
            "spread": 0.4,
            "preemption": 0.4,
            "corner-spread": 0.4,
        },
    ):
        taint(r, nodes)
        for target in pods:
            target["spec"]["tolerations"] = tolerations(r)
    if family in {"images", *_MANY}:
        add_images(r, nodes)
    if _happens(r, family, {"volumes": 1, "corner-volumes": 1, "mixed": 0.5, "everything": 0.5}):
        made += storage(r, pods, nodes)
        add_exclusive_disks(r, pods)
    if _happens(r, family, {"dra": 1, "corner-devices": 0.5, "everything": 0.5}):
        made += devices(r, pods, nodes)
    if family == "devices":
        made += add_devices(r, pods, nodes)
    if family == "scored-devices":
        made += scored_devices(r, pods, nodes)
    if _happens(
        r, family, {**dict.fromkeys(_DENSE, 1), **dict.fromkeys(_CORNERS, 0.4), "everything": 0.7}
    ):
        made += prioritize(r, pods)
    if _happens(
        r,
        family,
        {
            "nominated": 1,
            "contention": 0.3,
            "everything": 0.3,
            "corner-spread": 0.3,
            "corner-pods": 0.3,
        },
    ):
        nominate(r, pods, nodes)
    return made + _add_corners(r, family, made, pods, nodes)


def _add_corners(
    r: Random, family: str, others: list[Manifest], pods: list[Manifest], nodes: list[Manifest]
) -> list[Manifest]:
    """Add what is rare; gives the objects beside Nodes and Pods."""
    made: list[Manifest] = []
    if family == "corner-devices":
        made += corner_devices(r, pods, nodes)
    if family == "corner-volumes":
        add_to_csi_nodes(r, [other for other in others if other["kind"] == "CSINode"])
        made += corner_storage(r, pods, nodes)
    if family == "corner-pods":
        made += corner_pods(r, pods, nodes)
    if family == "corner-spread":
        made += corner_spread(r, pods, nodes)
    for name, change in _ODD.items():
        if family == name or (family == "odd-all" and chance(r, 0.3)):
            made += change(r, pods, nodes)
    return made


def _pods(r: Random, family: str, nodes: list[Manifest], pending_count: int) -> list[Manifest]:
    is_rich = family in _RICH
    several = family in _SEVERAL_NAMESPACES
    running_count = len(nodes) * r.choice([4, 6] if family in _DENSE else [0, 1, 2, 3])

    def make(name: str, namespaces: list[str]) -> Manifest:
        namespace = r.choice(namespaces) if several else "default"
        return pod(r, name, is_rich=is_rich, namespace=namespace)

    running = [
        place(r, make(f"run{number}", ["default", "default", "team-a", "team-b"]), nodes)
        for number in range(running_count)
    ]
    pending = [
        make(f"new{number}", ["default", "default", "team-a"]) for number in range(pending_count)
    ]
    return running + pending


def _add_rules(r: Random, family: str, target: Manifest, nodes: list[Manifest]) -> None:
    many = {**dict.fromkeys(_MANY, 0.4), "corner-pods": 0.3, "corner-spread": 0.5}
    if _happens(r, family, {**many, "nodeaffinity": 1, "spread": 0.3}):
        add_node_affinity(r, target, nodes)
    if _happens(r, family, {**dict.fromkeys(_MANY, 0.3), "ports": 1}):
        add_ports(r, target)
    if is_pending(target) and _happens(r, family, {**many, "spread": 1, "contention": 0.4}):
        add_spread(r, target)
    apart = {"interpod": 1, "contention": 0.3, "preemption": 0.15, "corner-spread": 0}
    if _happens(r, family, {**many, **apart}):
        add_pod_affinity(r, target)
    if not is_pending(target) and _happens(r, family, {"spread": 0.08, "everything": 0.05}):
        start_ending(r, target)


def _happens(r: Random, family: str, probabilities: dict[str, float]) -> bool:
    return chance(r, probabilities.get(family, 0))


def _namespaces(r: Random, family: str) -> list[Manifest]:
    made = [manifest("v1", "Namespace", name) for name in NAMESPACES]
    for namespace, labels in zip(made, NAMESPACES.values(), strict=True):
        namespace["metadata"]["labels"] = labels
    return odd_namespaces(r, made) if family in ("odd-rules", "odd-all") else made


def _services(r: Random, family: str) -> list[Manifest]:
    if family not in {"spread", *_MANY} and not chance(r, 0.1):
        return []
    return [
        manifest("v1", "Service", app, "default", spec={"selector": {"app": app}})
        for app in r.sample(APPS, 2)
    ]
