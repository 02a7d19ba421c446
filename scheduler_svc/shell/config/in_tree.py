"""kube-scheduler's own plugins: their order, weights and extension points.

The order decides which plugin's reason a Node reports, and the points decide where
a plugin named in `multiPoint` runs, so both are upstream's even for a plugin that
is not written here yet. Gates are those of 1.36.3 by default: what belongs to an
alpha gate (gangs, placements) is known by name but not enabled.

Source: pkg/scheduler/apis/config/v1/default_plugins.go and the interfaces that
pkg/scheduler/framework/plugins implement, v1.36.3.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from scheduler_svc.shell.config.extension_points import ExtensionPoint as At


class InTreePlugin(msgspec.Struct, frozen=True):
    """A plugin that kube-scheduler ships.

    `weight` is the one of the default set; 0 stands for a plugin that has none there
    (which counts as 1 where it scores). `is_default`: enabled without being named.
    """

    name: str
    points: frozenset[At]
    weight: int = 0
    is_default: bool = True


def _plugin(name: str, *points: At, weight: int = 0) -> InTreePlugin:
    return InTreePlugin(name=name, points=frozenset(points), weight=weight)


def _gated(name: str, *points: At) -> InTreePlugin:
    return InTreePlugin(name=name, points=frozenset(points), is_default=False)


IN_TREE: Final[tuple[InTreePlugin, ...]] = (
    _plugin("SchedulingGates", At.PRE_ENQUEUE),
    _plugin("PrioritySort", At.QUEUE_SORT),
    _plugin("NodeUnschedulable", At.FILTER),
    _plugin("NodeName", At.FILTER),
    _plugin("TaintToleration", At.FILTER, At.PRE_SCORE, At.SCORE, weight=3),
    _plugin("NodeAffinity", At.PRE_FILTER, At.FILTER, At.PRE_SCORE, At.SCORE, weight=2),
    _plugin("NodePorts", At.PRE_FILTER, At.FILTER),
    _plugin(
        "NodeResourcesFit",
        *(At.PRE_FILTER, At.FILTER, At.PRE_SCORE, At.SCORE, At.PLACEMENT_SCORE),
        weight=1,
    ),
    _plugin("VolumeRestrictions", At.PRE_FILTER, At.FILTER),
    _plugin("NodeVolumeLimits", At.PRE_FILTER, At.FILTER),
    # Scores only with the gate StorageCapacityScoring, but stands in the list without it.
    _plugin(
        "VolumeBinding",
        *(At.PRE_FILTER, At.FILTER, At.PRE_SCORE, At.SCORE, At.RESERVE, At.PRE_BIND),
    ),
    _plugin("VolumeZone", At.PRE_FILTER, At.FILTER),
    _plugin("PodTopologySpread", At.PRE_FILTER, At.FILTER, At.PRE_SCORE, At.SCORE, weight=2),
    _plugin("InterPodAffinity", At.PRE_FILTER, At.FILTER, At.PRE_SCORE, At.SCORE, weight=2),
    # Before DefaultPreemption: giving back an idle claim is better than an eviction.
    _plugin(
        "DynamicResources",
        *(At.PRE_ENQUEUE, At.PRE_FILTER, At.FILTER, At.POST_FILTER),
        *(At.SCORE, At.RESERVE, At.PRE_BIND),
        weight=2,
    ),
    _plugin("DefaultPreemption", At.PRE_ENQUEUE, At.POST_FILTER),
    _plugin("NodeResourcesBalancedAllocation", At.PRE_SCORE, At.SCORE, weight=1),
    _plugin("ImageLocality", At.SCORE, weight=1),
    _plugin("DefaultBinder", At.BIND),
    _plugin("NodeDeclaredFeatures", At.PRE_FILTER, At.FILTER),
    _gated("GangScheduling", At.PRE_ENQUEUE, At.PERMIT),
    _gated("TopologyPlacementGenerator", At.PLACEMENT_GENERATE),
    _gated("PodGroupPodsCount", At.PLACEMENT_SCORE),
)
"""Every in-tree plugin, the default ones first and in their order."""

IN_TREE_POINTS: Final[Mapping[str, frozenset[At]]] = MappingProxyType(
    {plugin.name: plugin.points for plugin in IN_TREE}
)
"""The points that each in-tree plugin implements, by its name."""

REMOVED: Final = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
"""Plugins that earlier versions of kube-scheduler had and v1 refuses by name."""
