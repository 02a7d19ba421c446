"""The choice among the best Nodes: repeatable, and different from Pod to Pod.

kube-scheduler leaves ties to chance (pkg/scheduler/schedule_one.go `selectHost`,
v1.36.3); here they are decided by the seed and the Pod's uid.
"""

import zlib

import numpy as np

from scheduler_svc.core.columns import Int64Array
from scheduler_svc.core.framework.evaluation import INFEASIBLE


def select_row(totals: Int64Array, *, seed: int, uid: str) -> int | None:
    """Give a row with the highest total, or None where no Node is feasible. O(N)."""
    highest = totals[totals.argmax()]
    if highest == INFEASIBLE:
        return None
    best = np.flatnonzero(totals == highest)
    if len(best) == 1:
        return int(best[0])
    return int(best[zlib.crc32(uid.encode(), seed) % len(best)])
