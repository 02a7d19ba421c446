"""The decision core alone, in a cluster full of Pods that want to be near others, or away.

How it is measured is in ``full_cluster``.
"""

from types import MappingProxyType
from typing import Final

from benchmarks.full_cluster import HOST, ZONE, FullCluster, Manifest, plain

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def _near_and_away(own: str, _other: str) -> Manifest:
    return {
        "podAntiAffinity": {REQUIRED: [_term(own, HOST)]},
        "podAffinity": {REQUIRED: [_term(own, ZONE)]},
    }


def _rather(own: str, other: str) -> Manifest:
    away = {"weight": 50, "podAffinityTerm": _term(own, ZONE)}
    near = {"weight": 10, "podAffinityTerm": _term(other, HOST)}
    return {"podAntiAffinity": {PREFERRED: [away]}, "podAffinity": {PREFERRED: [near]}}


def _term(app: str, key: str) -> Manifest:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def _required(own: str, other: str) -> Manifest:
    return {"affinity": _near_and_away(own, other)}


def _preferred(own: str, other: str) -> Manifest:
    return {"affinity": _rather(own, other)}


def _both(own: str, other: str) -> Manifest:
    required, preferred = _near_and_away(own, other), _rather(own, other)
    return {"affinity": {kind: {**required[kind], **preferred[kind]} for kind in required}}


SHAPES: Final = MappingProxyType(
    {"plain": plain, "required": _required, "preferred": _preferred, "both": _both}
)
"""What the Pods of an app want of others of their app, and of those of the next one."""

AFFINITY_DECISIONS: Final = FullCluster(
    "affinity-decisions", "Pods near others and away", SHAPES, goal_microseconds=200
)
