"""A group when its turn comes: who is tried, who is placed already, how many are needed."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.columns import PODS_ROW, NodeColumns
from scheduler_svc.core.errors import InputError
from scheduler_svc.core.group_objects import Group, GroupName
from scheduler_svc.core.pod_groups.hindrance import enumerated
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.quantity import milli_value, parse_quantity, unit_value
from scheduler_svc.core.queue import QueuedPodInfo
from scheduler_svc.core.resources import CPU


class TriedGroup(msgspec.Struct):
    """`members` are tried, in that order; `placed` have a Node, of the row beside."""

    name: GroupName
    group: Group
    members: list[QueuedPodInfo]
    placed: list[tuple[PodInfo, int]]

    @property
    def placed_rows(self) -> list[int]:
        """The rows of the Nodes that members have."""
        return [row for _, row in self.placed]

    @property
    def needed_count(self) -> int:
        """How many of the members have to fit at the same time; any that do if enough run."""
        return max(self.group.min_count - len(self.placed), 1)

    @property
    def is_short(self) -> bool:
        """Whether fewer have a Node than the group needs."""
        return len(self.placed) < self.group.min_count

    @property
    def is_packed(self) -> bool:
        """Whether all members must be in one domain."""
        packing = self.group.packing
        return packing is not None and packing.is_required

    @property
    def pods(self) -> list[PodInfo]:
        """The Pods of the members."""
        return [queued.pod for queued in self.members]

    @property
    def priority(self) -> int:
        """The highest of the members'."""
        return max(queued.pod.priority for queued in self.members)


def gather(
    name: GroupName,
    group: Group,
    known: Mapping[str, PodInfo],
    members: Sequence[QueuedPodInfo],
    cache: Cache,
) -> TriedGroup:
    """Sort the Pods of a group out: `known` are all of them, `members` those to be tried.

    The most important come first, among them those that request most, then the oldest: small
    ones find room beside large ones, not the other way round.
    """
    shares = {queued.pod.requests: 0.0 for queued in members}
    for requests in shares:
        vector = cache.columns.vector(requests)[PODS_ROW:]
        largest = cache.columns.allocatable.max(axis=1)[PODS_ROW : PODS_ROW + len(vector)]
        shares[requests] = float((vector / np.maximum(largest, 1)).max())
    ordered = sorted(members, key=lambda q: (-q.pod.priority, -shares[q.pod.requests], q.sequence))
    tried = {queued.pod.uid for queued in members}
    others = [p for uid, p in known.items() if uid not in tried and not p.is_terminating]
    rows = [(pod, cache.row_of(pod.uid)) for pod in others]
    return TriedGroup(name, group, ordered, [(pod, row) for pod, row in rows if row is not None])


def is_beyond_all_nodes(tried: TriedGroup, columns: NodeColumns) -> bool:
    """Whether the group's minResources are more than all Nodes would have without any Pods."""
    try:
        return bool(missing_resources(tried, columns, is_empty=True))
    except InputError:
        return True


def missing_resources(tried: TriedGroup, columns: NodeColumns, *, is_empty: bool = False) -> str:
    """Say which of the group's minResources all Nodes together have not; "" if none is lacking.

    What counts is what is free, and what members have already: so does scheduler-plugins. With
    `is_empty` it is all that Nodes have.
    Raises `InputError` for a quantity that is none: the API server takes some that we do not.
    """
    own = np.zeros(len(columns.allocatable), dtype=np.int64)
    for pod, _ in () if is_empty else tried.placed:
        own += columns.vector(pod.requests)
    lacking = []
    for name, text in sorted((tried.group.min_resources or {}).items()):
        quantity = parse_quantity(text)
        wanted = milli_value(quantity) if name == CPU else unit_value(quantity)
        row = columns.resource_row(name)
        there = columns.allocatable if is_empty else columns.free
        available = int(np.maximum(there[row][columns.live], 0).sum() + own[row])
        if available < wanted:
            lacking.append(name)
    return enumerated(lacking)
