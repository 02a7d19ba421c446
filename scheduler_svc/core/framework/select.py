"""The choice among the best Nodes: repeatable, and different from Pod to Pod.

kube-scheduler leaves ties to chance (pkg/scheduler/schedule_one.go `selectHost`,
v1.36.3); here they are decided by the seed and the Pod's uid.
"""

import zlib

from scheduler_svc.core.framework.evaluation import INFEASIBLE
from scheduler_svc.core.labels import Int32Array


def select_row(totals: Int32Array, *, seed: int, uid: str) -> int | None:
    """Give a row with the highest total, or None where no Node is feasible. O(N)."""
    highest = totals.max()
    if highest == INFEASIBLE:
        return None
    best = (totals == highest).nonzero()[0]
    if len(best) == 1:
        return int(best[0])
    return int(best[zlib.crc32(uid.encode(), seed) % len(best)])
