"""The choice among the best Nodes: repeatable, and different from Pod to Pod.

kube-scheduler leaves ties to chance (pkg/scheduler/schedule_one.go `selectHost`,
v1.36.3); here they are decided by the seed and the Pod's uid.
"""

import zlib

from scheduler_svc.core.framework.evaluation import INFEASIBLE, TotalArray


def select_row(totals: TotalArray, *, seed: int, uid: str) -> int | None:
    """Give a row with the highest total, or None where no Node is feasible. O(N).

    Among equals it is the first one from a row on that seed and uid point to: listing
    them all would cost more than the rest.
    """
    start = zlib.crc32(uid.encode(), seed) % len(totals)
    row = start + int(totals[start:].argmax())
    if start:
        earlier = int(totals[:start].argmax())
        row = earlier if totals[earlier] > totals[row] else row
    return None if totals[row] == INFEASIBLE else row
