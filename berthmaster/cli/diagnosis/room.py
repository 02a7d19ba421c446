"""How much room is left: for each resource the largest free amount on one Node, and in all."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from berthmaster.cli.diagnosis.amounts import format_amount
from berthmaster.cli.diagnosis.facts import NodeState, PendingPod
from scheduler_svc.core.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS

CONDITION_TAINTS: Final = "node.kubernetes.io/"
"""Taints of that domain repeat what conditions and cordons say."""
JOINING_SECONDS: Final = 60.0
"""A Node that young may still be starting."""
_FIRST: Final = (CPU, MEMORY, PODS, EPHEMERAL_STORAGE)


class Room(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is left of one resource on the Nodes that take Pods now.

    Amounts are in base units. `largest_allocatable` is what the largest of these Nodes would
    offer if it were empty.
    """

    resource: str
    allocatable: int
    free: int
    largest_free: int
    largest_free_node: str
    largest_allocatable: int


def is_ready(node: NodeState, now: float) -> bool:
    """Whether a kubelet answers for a Node; one without a Ready condition may be starting."""
    if node.ready:
        return node.ready == "True"
    return now - node.created < JOINING_SECONDS


def takes_pods(node: NodeState, now: float) -> bool:
    """Whether new Pods can run on a Node, apart from taints that somebody has set on purpose."""
    return (
        not node.is_cordoned
        and is_ready(node, now)
        and node.silent_seconds is None
        and not any(taint.startswith(CONDITION_TAINTS) for taint in node.taints)
    )


def room_left(nodes: Iterable[NodeState], now: float) -> tuple[Room, ...]:
    """Sum up the Nodes that take Pods; CPU, memory and Pods first, the others by name.

    A Node on which more is requested than it offers has no room; it takes none from others.
    Cost: O(Nodes x resources).
    """
    usable = [node for node in nodes if takes_pods(node, now)]
    resources = {name for node in usable for name, amount in node.allocatable.items() if amount}
    return tuple(_room_of(name, usable) for name in sorted(resources, key=_order))


def _order(resource: str) -> tuple[int, str]:
    return (_FIRST.index(resource) if resource in _FIRST else len(_FIRST), resource)


def _room_of(resource: str, nodes: Sequence[NodeState]) -> Room:
    offered = [node.allocatable.get(resource, 0) for node in nodes]
    free = [
        max(amount - node.used.get(resource, 0), 0)
        for amount, node in zip(offered, nodes, strict=True)
    ]
    largest = max(range(len(nodes)), key=free.__getitem__)
    return Room(
        resource=resource,
        allocatable=sum(offered),
        free=sum(free),
        largest_free=free[largest],
        largest_free_node=nodes[largest].name if free[largest] else "",
        largest_allocatable=max(offered),
    )


def shortages(pod: PendingPod, room: Sequence[Room]) -> tuple[str, ...]:
    """Say which of a Pod's requests no single Node can meet, at all or at this moment."""
    by_name = {each.resource: each for each in room}
    found = []
    for resource, amount in pod.requests:
        each = by_name.get(resource)
        asked = f"{pod.key} asks for {format_amount(resource, amount)} of {resource}"
        if each is None:
            found.append(f"{asked}, which no Node offers.")
        elif amount > each.largest_allocatable:
            largest = format_amount(resource, each.largest_allocatable)
            found.append(f"{asked}; the largest Node has {largest} when it is empty.")
        elif amount > each.largest_free:
            largest = format_amount(resource, each.largest_free)
            found.append(f"{asked}; the most that is free on one Node is {largest}.")
    return tuple(found)
