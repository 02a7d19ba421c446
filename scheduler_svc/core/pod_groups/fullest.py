"""Nodes in the order of their room, and the fullest that has some.

There members of several sizes find a place where spread ones do not.

Best fit, first described by D. S. Johnson, "Near-optimal bin packing algorithms", 1973; with
several resources the mean of their free shares is compared.
"""

import numpy as np

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import PODS_ROW, Int64Array, NodeColumns
from scheduler_svc.core.framework.evaluation import INFEASIBLE, TotalArray
from scheduler_svc.core.resources import Requests


def fullest_row(columns: NodeColumns, requests: Requests, totals: TotalArray) -> int | None:
    """Give the feasible row with the least left of what is requested; None if there is none.

    Of equals it is the one with the higher total, then the first. O(resources x N).
    """
    feasible = np.flatnonzero(totals != INFEASIBLE)
    if not len(feasible):
        return None
    wanted = requested_rows(columns.vector(requests))
    left = columns.free[np.ix_(wanted, feasible)]
    shares = (left / np.maximum(columns.allocatable[np.ix_(wanted, feasible)], 1)).mean(axis=0)
    order = np.lexsort((-totals[feasible].astype(np.int64), shares))
    return int(feasible[order[0]])


def emptiest_first(columns: NodeColumns, requests: Requests, rows: RowArray) -> RowArray:
    """Give rows with the one first that has most Pods' worth of room, of equals in their order."""
    vector = columns.vector(requests)
    wanted = requested_rows(vector)
    shares = (columns.free[np.ix_(wanted, rows)] / vector[wanted, None]).min(axis=0)
    order: RowArray = rows[np.argsort(-shares, kind="stable")]
    return order


def requested_rows(vector: Int64Array) -> RowArray:
    """Give the rows of the resources that a Pod of that vector takes, its own place among them."""
    rows: RowArray = np.flatnonzero(vector[PODS_ROW:] > 0) + PODS_ROW
    return rows
