"""Exact integer arithmetic on amounts, the fast way where it gives the same.

For 0 <= a < 2^53 and b > 0 the float64 quotient, truncated, is the integer quotient as
long as that is small (here at most 100): rounding could reach the next integer only if
the exact quotient did. Larger amounts are divided as integers.
"""

from typing import Final

import numpy as np

from scheduler_svc.core.columns import Int64Array

# 2^53 / 100, and 2^63 / 100: beyond that a hundredfold amount is not exact.
_FLOAT_LIMIT: Final = 90_071_992_547_409
_INT_LIMIT: Final = 92_233_720_368_547_758


def percent(parts: Int64Array, wholes: Int64Array) -> Int64Array:
    """Give `100 * parts // wholes` for 0 <= parts <= wholes; 0 where both are 0.

    Same shapes, int64. Amounts above 9.2e16 (92 PB in bytes) are divided in Python.
    """
    largest = int(wholes.max(initial=0))
    divisors = np.maximum(wholes, 1)
    if largest < _FLOAT_LIMIT:
        return (parts * 100 / divisors).astype(np.int64)
    if largest < _INT_LIMIT:
        quotients: Int64Array = parts * 100 // divisors
        return quotients
    exact = parts.astype(object) * 100 // divisors.astype(object)
    return exact.astype(np.int64)


def truncated_half(values: Int64Array) -> Int64Array:
    """Halve towards zero, as Go's integer division does."""
    return (values + (values < 0)) >> 1
