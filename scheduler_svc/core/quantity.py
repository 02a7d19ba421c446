"""Kubernetes quantities as exact integers.

A quantity is held in nano-units (10^-9), the finest the API keeps, so that
amounts add up without loss; rounding up to whole or milli-units happens once,
on a Pod's total. Source: staging/src/k8s.io/apimachinery/pkg/api/resource
(quantity.go, amount.go), v1.36.3.
"""

import functools
import re
from typing import Final

from scheduler_svc.core.errors import InputError

NANO_PER_MILLI: Final = 10**6
NANO_PER_UNIT: Final = 10**9
MAX_INT64: Final = 2**63 - 1
# What a Pod takes or a Node offers at most, 9 PB in bytes: sums over a Node's Pods stay in int64.
MAX_AMOUNT: Final = 2**53

# A number without digits is 0 to the API server, too.
_PATTERN: Final = re.compile(
    r"([+-]?)([0-9]{0,1000})(?:\.([0-9]{0,1000}))?(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]{1,9})?"
)
# Beyond that any amount is too large or too small to tell from the next.
_MAX_EXPONENT: Final = 1000
_NANO_OF_SUFFIX: Final = {
    "": NANO_PER_UNIT,
    "n": 1,
    "u": 10**3,
    "m": NANO_PER_MILLI,
    **{suffix: NANO_PER_UNIT * 1000 ** (i + 1) for i, suffix in enumerate("kMGTPE")},
    **{
        suffix: NANO_PER_UNIT * 1024 ** (i + 1)
        for i, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))
    },
}


def parse_quantity(text: str | float) -> int:
    """Give a quantity in nano-units, rounded away from zero, at most 2^63-1 units.

    Raises `InputError` for text that the API server would refuse.
    """
    return _parse(str(text))


@functools.lru_cache(maxsize=8192)
def _parse(text: str) -> int:
    match = _PATTERN.fullmatch(text.strip())
    if match is None or not match[0]:
        message = f"{text!r} is no quantity: write a number and a unit, such as 500m, 2, 1.5Gi"
        raise InputError(message)
    sign, whole, fraction, suffix = (part or "" for part in match.groups())
    digits, exponent, factor = int(f"0{whole}{fraction}"), -len(fraction), NANO_PER_UNIT
    if suffix in _NANO_OF_SUFFIX:
        factor = _NANO_OF_SUFFIX[suffix]
    else:
        exponent += max(-_MAX_EXPONENT, min(_MAX_EXPONENT, int(suffix[1:])))
    above, below = int(f"1{'0' * exponent}"), int(f"1{'0' * -exponent}")
    nano = min(-(-digits * factor * above // below), MAX_INT64 * NANO_PER_UNIT)
    return -nano if sign == "-" else nano


def milli_value(nano: int) -> int:
    """Round nano-units up to milli-units (a CPU amount), 0 to `MAX_AMOUNT`."""
    return max(0, min(MAX_AMOUNT, -(-nano // NANO_PER_MILLI)))


def unit_value(nano: int) -> int:
    """Round nano-units up to whole units (bytes, Pods, devices), 0 to `MAX_AMOUNT`."""
    return max(0, min(MAX_AMOUNT, -(-nano // NANO_PER_UNIT)))
