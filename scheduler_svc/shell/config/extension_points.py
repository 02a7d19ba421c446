"""The extension points of the scheduling framework, under the names a configuration file uses.

Source: staging/src/k8s.io/kube-scheduler/config/v1/types.go (type Plugins), v1.36.3.
"""

from enum import StrEnum
from typing import Final


class ExtensionPoint(StrEnum):
    """A place in a scheduling attempt where plugins run; the values are the file's keys.

    `MULTI_POINT` is no place of its own: a plugin named there runs at every point
    that it implements.
    """

    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    PRE_SCORE = "preScore"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"
    MULTI_POINT = "multiPoint"
    PLACEMENT_GENERATE = "placementGenerate"
    PLACEMENT_SCORE = "placementScore"


RUN_POINTS: Final = tuple(
    point for point in ExtensionPoint if point is not ExtensionPoint.MULTI_POINT
)
"""The points at which plugins run: all but `MULTI_POINT`."""

WEIGHTED_POINTS: Final = frozenset({ExtensionPoint.SCORE, ExtensionPoint.PLACEMENT_SCORE})
"""The points where a plugin's weight counts."""
