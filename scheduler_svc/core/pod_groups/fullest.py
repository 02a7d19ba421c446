"""The fullest Node that has room: members of several sizes find a place where spread ones do not.

Best fit, first described by D. S. Johnson, "Near-optimal bin packing algorithms", 1973; with
several resources the mean of their free shares is compared.
"""

import numpy as np

from scheduler_svc.core.columns import PODS_ROW, NodeColumns
from scheduler_svc.core.framework.evaluation import INFEASIBLE, TotalArray
from scheduler_svc.core.resources import Requests


def fullest_row(columns: NodeColumns, requests: Requests, totals: TotalArray) -> int | None:
    """Give the feasible row with the least left of what is requested; None if there is none.

    Of equals it is the one with the higher total, then the first. O(resources x N).
    """
    feasible = np.flatnonzero(totals != INFEASIBLE)
    if not len(feasible):
        return None
    wanted = np.flatnonzero(columns.vector(requests)[PODS_ROW:] > 0) + PODS_ROW
    left = columns.free[np.ix_(wanted, feasible)]
    shares = (left / np.maximum(columns.allocatable[np.ix_(wanted, feasible)], 1)).mean(axis=0)
    order = np.lexsort((-totals[feasible].astype(np.int64), shares))
    return int(feasible[order[0]])
