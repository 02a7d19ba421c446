"""Figures that stand for many: percentiles of one run, medians of several runs."""

import math
import statistics
from collections.abc import Sequence

import msgspec


class Distribution(msgspec.Struct, frozen=True):
    """Of one run's values; percentiles by nearest rank, so each is a value that occurred."""

    count: int
    mean: float
    p50: float
    p99: float
    maximum: float


class Spread(msgspec.Struct, frozen=True):
    """Of several runs' figures."""

    median: float
    minimum: float
    maximum: float


def distribution(values: Sequence[float]) -> Distribution:
    """Describe the values of one run; all 0 where there are none."""
    if not values:
        return Distribution(0, 0.0, 0.0, 0.0, 0.0)
    ordered = sorted(values)
    return Distribution(
        count=len(ordered),
        mean=statistics.fmean(ordered),
        p50=percentile(ordered, 50),
        p99=percentile(ordered, 99),
        maximum=ordered[-1],
    )


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Give the least value that `percent` of the values do not exceed; values sorted, not empty."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def spread(values: Sequence[float]) -> Spread:
    """Describe the figures of several runs, at least one."""
    return Spread(statistics.median(values), min(values), max(values))
