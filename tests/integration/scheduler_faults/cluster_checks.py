"""What must hold after whatever has gone wrong: no Pod bound twice, no Node over its allocatable.

The evidence is what the API server says and what went over the wire; nothing of the scheduler's
own arithmetic is used.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import inf
from typing import Any, Final

import msgspec

from tests.faultproxy import RequestRecord

Object = dict[str, Any]

DECISION: Final = "berthmaster.dev/decision-id"
_FACTORS: Final = {
    "m": Fraction(1, 1000),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
}


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    uid: str


class _Target(msgspec.Struct, frozen=True):
    name: str


class SentBinding(msgspec.Struct, frozen=True):
    """The body of a Binding."""

    metadata: _Metadata
    target: _Target

    @classmethod
    def of(cls, request: RequestRecord) -> SentBinding:
        """Read what was sent."""
        return msgspec.json.decode(request.body, type=cls)


def find_overloads(nodes: Iterable[Object], pods: Iterable[Object]) -> list[str]:
    """Say which Nodes have Pods that request more than is allocatable, or the same host port."""
    pods_by_node: defaultdict[str, list[Object]] = defaultdict(list)
    for pod in pods:
        if not is_finished(pod):
            pods_by_node[pod["spec"].get("nodeName", "")].append(pod)
    return [
        f"{node['metadata']['name']}: {problem}"
        for node in nodes
        for problem in _overloads_of(node, pods_by_node[node["metadata"]["name"]])
    ]


def find_pods_without_node(nodes: Iterable[Object], pods: Iterable[Object]) -> list[str]:
    """Say which Pods are bound to Nodes that do not exist."""
    names = {node["metadata"]["name"] for node in nodes}
    return [
        f"{pod['metadata']['name']} is on {node_name}, which does not exist"
        for pod in pods
        if (node_name := pod["spec"].get("nodeName", "")) and node_name not in names
    ]


def find_binding_faults(bindings: Iterable[RequestRecord], pods: Iterable[Object]) -> list[str]:
    """Say which Pods were bound twice, and which are elsewhere than they were bound to.

    A Binding whose answer was lost may have come about or not.

    Parameters
    ----------
    bindings
        All that were sent for `pods`, in order.
    pods
        As they are now; those that somebody else has bound say nothing.
    """
    faults = []
    targets: dict[str, str] = {}
    unanswered: set[tuple[str, str]] = set()
    for request in bindings:
        sent = SentBinding.of(request)
        name, uid, target = sent.metadata.name, sent.metadata.uid, sent.target.name
        if request.status is None:
            unanswered.add((uid, target))
        if request.status == 201:
            if uid in targets:
                faults.append(f"{name}: bound to {targets[uid]}, then to {target}")
            targets[uid] = target
    for pod in pods:
        metadata, node_name = pod["metadata"], pod["spec"].get("nodeName", "")
        target = targets.get(metadata["uid"], "")
        if not target and (metadata["uid"], node_name) in unanswered:
            continue
        if DECISION in metadata.get("annotations", {}) and target != node_name:
            faults.append(f"{metadata['name']}: it is on {node_name}, and was bound to {target}")
    return faults


def find_needless_bindings(bindings: Iterable[RequestRecord]) -> list[str]:
    """Say for which Pods a Binding was sent though an earlier one had succeeded.

    Whoever has lost the answer to the earlier one must look before sending another. Only one that
    was given up while the server was at it still may be sent again.
    """
    needless = []
    bound: dict[str, float] = {}
    for request in bindings:
        metadata = SentBinding.of(request).metadata
        if request.at >= bound.get(metadata.uid, inf):
            needless.append(f"{metadata.name}: a Binding was sent though it had been bound")
        if request.status == 201:
            bound[metadata.uid] = request.answered_at or request.at
    return needless


def is_finished(pod: Object) -> bool:
    """Whether a Pod takes no room any more."""
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def amount_of(quantity: str) -> Fraction:
    """Read a quantity as these tests write them: whole, or with m, Ki, Mi, Gi."""
    for suffix, factor in _FACTORS.items():
        if quantity.endswith(suffix):
            return int(quantity.removesuffix(suffix)) * factor
    return Fraction(int(quantity))


def _overloads_of(node: Object, pods: Sequence[Object]) -> list[str]:
    requested: defaultdict[str, Fraction] = defaultdict(Fraction)
    requested["pods"] = Fraction(len(pods))
    ports: Counter[int] = Counter()
    for pod in pods:
        for container in pod["spec"]["containers"]:
            for name, quantity in container["resources"].get("requests", {}).items():
                requested[name] += amount_of(quantity)
            ports.update(port["hostPort"] for port in container.get("ports", ()))
    allocatable = node["status"]["allocatable"]
    return [
        f"{float(amount):g} {name} requested of {allocatable.get(name, '0')}"
        for name, amount in requested.items()
        if amount > amount_of(allocatable.get(name, "0"))
    ] + [f"host port {port} {count} times" for port, count in ports.items() if count > 1]
