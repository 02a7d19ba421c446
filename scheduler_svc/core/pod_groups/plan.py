"""Where room is to be kept for a group that has waited too long.

The group is tried as if the Pods of its own or a lower priority were gone from some Nodes: from
those that have most of what it needs free already, as few as will do. What runs there goes on; it
is only not replaced.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.clock import Now
from scheduler_svc.core.pod_groups.fullest import emptiest_first
from scheduler_svc.core.pod_groups.trial import Terms, Trial
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import QueuedPodInfo
from scheduler_svc.core.scheduling_cycle import SchedulingCycle

_NO_ROOM: Final[Mapping[str, int]] = {}
# Their Pods are made anew at once, so to wait for their end is to wait for ever.
_PERMANENT_OWNERS: Final = frozenset({"DaemonSet", "Node"})


def plan(
    cycle: SchedulingCycle,
    cache: Cache,
    members: Sequence[QueuedPodInfo],
    needed_count: int,
    terms: Terms,
    now: Now,
) -> list[tuple[PodInfo, str]]:
    """Give members and the Nodes that they are to have; nothing if no Nodes would do.

    Cost: O(Pods on the Nodes looked at), twice as many Nodes each time until the group fits.
    """
    rows = _emptiest(cache, members[0].pod, terms)
    count = 1
    while True:
        places = _plan_on(cycle, cache, members, rows[:count], terms, now)
        if len(places) >= needed_count:
            return places[:needed_count]
        if count >= len(rows):
            return []
        count *= 2


def _emptiest(cache: Cache, pod: PodInfo, terms: Terms) -> RowArray:
    """Give the rows in question, those first that have most Pods' worth of room free."""
    columns = cache.columns
    mask = columns.live if terms.allowed is None else columns.live & terms.allowed
    return emptiest_first(columns, pod.requests, np.flatnonzero(mask))


def _plan_on(
    cycle: SchedulingCycle,
    cache: Cache,
    members: Sequence[QueuedPodInfo],
    rows: RowArray,
    terms: Terms,
    now: Now,
) -> list[tuple[PodInfo, str]]:
    allowed = np.zeros(cache.columns.capacity, dtype=np.bool_)
    allowed[rows] = True
    with _emptied(cache, rows, members[0].pod):
        tight = Terms(allowed, is_tight=True)
        trial = Trial(cycle, cache, tight, _NO_ROOM, now)
        trial.run(members)
        names = cache.columns.names
        places = [(placed.queued.pod, names[placed.row]) for placed in trial.placed]
        trial.undo()
    return places


@contextmanager
def _emptied(cache: Cache, rows: RowArray, pod: PodInfo) -> Iterator[None]:
    """Set aside, for a while, the Pods that may end and are not more important."""
    leaving = [
        cached.pod.uid
        for row in rows.tolist()
        for cached in cache.pods_on(row)
        if cached.pod.priority <= pod.priority
        and cached.pod.group != pod.group
        and (cached.pod.owner is None or cached.pod.owner.kind not in _PERMANENT_OWNERS)
    ]
    aside = [cache.set_aside(uid) for uid in leaving]
    try:
        yield
    finally:
        for cached in reversed(aside):
            cache.bring_back(cached)
