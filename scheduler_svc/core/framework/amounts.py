"""Exact integer arithmetic on amounts, the fast way where it gives the same.

For 0 <= a < 2^53 and b > 0 the float64 quotient, truncated, is the integer quotient as
long as that is small (here at most 100): rounding could reach the next integer only if
the exact quotient did. Larger amounts are divided as integers.
"""

import numpy as np

from scheduler_svc.core.columns import Int64Array, NodeView

# Consecutive rows as a slice, which cuts an array without copying it.
RowSelection = list[int] | slice


def percent(parts: Int64Array, nodes: NodeView, rows: RowSelection) -> Int64Array:
    """Give `100 * parts // allocatable` for 0 <= parts <= allocatable; 0 where both are 0.

    `parts` is int64 `(A, K)` for the A resources in `rows`. No amount is more than
    `quantity.MAX_AMOUNT`, so a hundred times as much is an int64.
    """
    if nodes.columns.is_exact_in_float:
        return (parts * 100 / nodes.divisors[rows]).astype(np.int64)
    quotients: Int64Array = parts * 100 // np.maximum(nodes.allocatable[rows], 1)
    return quotients
