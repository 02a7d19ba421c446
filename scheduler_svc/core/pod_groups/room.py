"""Whether a large group could have its room at all if all less important Pods went.

Victims are looked for member by member, which takes tens of milliseconds each: for a thousand
members far too long to find at the last of them that it was in vain.
"""

from collections import Counter

import numpy as np

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.pod_groups.packing import held_count
from scheduler_svc.core.pod_groups.tried_group import TriedGroup


def may_have_room(tried: TriedGroup, cache: Cache) -> bool:
    """Whether it could, by resources alone. O(Pods on Nodes).

    Devices may stand for resources that no Node offers, so then there is no telling.
    """
    columns, pods, priority = cache.columns, tried.pods, tried.priority
    has_classes = bool(cache.cluster.objects[ObjectKind.DEVICE_CLASS].by_key)
    if has_classes and any(pod.shape.extended_requests for pod in pods):
        return True
    requests = Counter(pod.requests for pod in pods)
    # Made known first: a resource that no Node offers makes the columns grow.
    vectors = {request: columns.vector(request) for request in requests}
    room = columns.free.copy()
    for cached in cache.pods():
        if cached.pod.priority < priority and cached.pod.group != tried.name:
            room[:, cached.row] += columns.vector(cached.pod.requests)
    room = room[:, np.flatnonzero(columns.live)]
    counts = (min(held_count(room, vectors[r]), count) for r, count in requests.items())
    return sum(counts) >= tried.needed_count
