"""The decision core alone, in a cluster full of Pods that are to be spread.

How it is measured is in ``full_cluster``.
"""

from types import MappingProxyType
from typing import Final

from benchmarks.full_cluster import HOST, ZONE, FullCluster, Manifest, plain


def _constraint(own: str, key: str, when_unsatisfiable: str) -> Manifest:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": when_unsatisfiable,
        "labelSelector": {"matchLabels": {"app": own}},
    }


def _hard(own: str, _other: str) -> Manifest:
    return {"topologySpreadConstraints": [_constraint(own, ZONE, "DoNotSchedule")]}


def _soft(own: str, _other: str) -> Manifest:
    by_host = _constraint(own, HOST, "ScheduleAnyway")
    by_zone = _constraint(own, ZONE, "ScheduleAnyway")
    return {"topologySpreadConstraints": [by_host, by_zone]}


def _hard_by_host(own: str, _other: str) -> Manifest:
    by_host = _constraint(own, HOST, "DoNotSchedule")
    by_zone = _constraint(own, ZONE, "ScheduleAnyway")
    return {"topologySpreadConstraints": [by_host, by_zone]}


def _both(own: str, _other: str) -> Manifest:
    by_zone = _constraint(own, ZONE, "DoNotSchedule")
    by_host = _constraint(own, HOST, "ScheduleAnyway")
    return {"topologySpreadConstraints": [by_zone, by_host]}


SHAPES: Final = MappingProxyType(
    {
        "plain": plain,
        "hard": _hard,
        "two soft": _soft,
        "hard by host, soft by zone": _hard_by_host,
        "hard by zone, soft by host": _both,
    }
)
"""How the Pods of an app are to be spread."""

SPREAD_DECISIONS: Final = FullCluster(
    "spread-decisions", "Pods spread over zones and hosts", SHAPES, goal_microseconds=120
)
