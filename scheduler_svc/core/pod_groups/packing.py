"""The domains of a topology that a group may be packed into, the tightest first.

Source: pkg/scheduler/framework/plugins/topologyaware (one placement a domain), v1.36.3.
Differences: domains that cannot have the room are not tried, and of those that can it is the one
with the least to spare, which leaves the others to larger groups; upstream tries all and
weighs them.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.columns import Int64Array, NodeColumns
from scheduler_svc.core.group_objects import Packing
from scheduler_svc.core.labels import ABSENT, BoolArray
from scheduler_svc.core.pod_groups.fullest import requested_rows
from scheduler_svc.core.pod_groups.trial import Terms
from scheduler_svc.core.pod_groups.tried_group import TriedGroup

_UNBOUNDED: Final = 2**31


class Domain(msgspec.Struct, frozen=True, order=True):
    """A value of the topology's label, in the order in which they are to be tried.

    `spare_count` more members than there are would find room by resources.
    """

    is_new: bool
    spare_count: int
    code: int
    held_count: int


def terms_of_trials(
    tried: TriedGroup, columns: NodeColumns, *, is_empty: bool = False
) -> Iterator[Terms]:
    """Give how to try a group, one way after the other until it fits.

    Where packing is required the members must join those that have Nodes already, where it is
    preferred they had better. With `is_empty` a domain's whole allocatable counts, not what is
    free. Members of several kinds are tried in two ways each.
    """
    is_mixed = len({pod.requests for pod in tried.pods}) > 1
    for allowed in _allowed(tried, columns, is_empty=is_empty):
        yield Terms(allowed)
        if is_mixed:
            yield Terms(allowed, is_tight=True)


def _allowed(
    tried: TriedGroup, columns: NodeColumns, *, is_empty: bool
) -> Iterator[BoolArray | None]:
    packing = tried.group.packing
    if packing is None:
        yield None
        return
    codes = columns.label_column(packing.topology_key).codes
    for domain in _domains(packing, tried, columns, is_empty=is_empty):
        yield columns.live & (codes == domain.code)
    if not packing.is_required:
        yield None


def _domains(
    packing: Packing, tried: TriedGroup, columns: NodeColumns, *, is_empty: bool
) -> list[Domain]:
    codes = columns.label_column(packing.topology_key).codes
    taken = {int(codes[row]) for row in tried.placed_rows} - {ABSENT}
    requests = Counter(pod.requests for pod in tried.pods)
    # Made known first: a resource that no Node offers makes the columns grow.
    vectors = {request: columns.vector(request) for request in requests}
    found: list[Domain] = []
    for code in np.unique(codes[columns.live & (codes != ABSENT)]).tolist():
        if packing.is_required and taken and code not in taken:
            continue
        mask = columns.live & (codes == code)
        room = (columns.allocatable if is_empty else columns.free)[:, mask]
        held = {request: held_count(room, vectors[request]) for request in requests}
        members = sum(min(held[request], count) for request, count in requests.items())
        spare_count = sum(held.values()) - members
        found.append(Domain(code not in taken, spare_count, code, members))
    enough = [domain for domain in found if domain.held_count >= tried.needed_count]
    if enough or not packing.is_required:
        return sorted(enough)
    # To say what is missing, where least is.
    return sorted(found, key=lambda domain: -domain.held_count)[:1]


def held_count(room: Int64Array, vector: Int64Array) -> int:
    """Give how many Pods of a kind Nodes have room for by resources: int64 `(R, N)`, `(R,)`."""
    wanted = requested_rows(vector)
    counts = (room[wanted] // vector[wanted, None]).min(axis=0)
    return min(int(np.maximum(counts, 0).sum()), _UNBOUNDED)
