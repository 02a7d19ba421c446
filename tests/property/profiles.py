"""The core's profile for the settings that the reference takes."""

from collections.abc import Sequence

from scheduler_svc.core.framework.interface import Plugin
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.resource_scoring import (
    LeastAllocated,
    MostAllocated,
    RequestedToCapacityRatio,
    ScoringStrategy,
    ShapePoint,
)
from scheduler_svc.core.plugins.default_binder import DefaultBinder
from scheduler_svc.core.plugins.image_locality import ImageLocality
from scheduler_svc.core.plugins.node_affinity import NodeAffinity
from scheduler_svc.core.plugins.node_name import NodeName
from scheduler_svc.core.plugins.node_ports import NodePorts
from scheduler_svc.core.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
)
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.plugins.node_unschedulable import NodeUnschedulable
from scheduler_svc.core.plugins.priority_sort import PrioritySort
from scheduler_svc.core.plugins.scheduling_gates import SchedulingGates
from scheduler_svc.core.plugins.taint_toleration import TaintToleration
from tests.builders import SCHEDULER
from tests.reference.settings import Settings

WEIGHTS = {"TaintToleration": 3, "NodeAffinity": 2}


def full_profile(settings: Settings | None = None, *, scheduler: str = SCHEDULER) -> Profile:
    """Build a profile of all plugins, in upstream's order and with its weights."""
    settings = settings or Settings()
    taints, affinity = TaintToleration(), NodeAffinity(settings.added_affinity)
    fit = NodeResourcesFit(
        _strategy(settings),
        ignored_resources=settings.ignored_resources,
        ignored_resource_groups=settings.ignored_groups,
    )
    balanced = NodeResourcesBalancedAllocation(
        tuple((name, 1) for name in settings.balanced_resources)
    )
    filters = [NodeUnschedulable(), NodeName(), taints, affinity, NodePorts(), fit]
    scores = [taints, affinity, fit, balanced, ImageLocality()]
    points: dict[str, Sequence[Plugin]] = {
        "preEnqueue": [SchedulingGates()],
        "queueSort": [PrioritySort()],
        "preFilter": filters,
        "filter": filters,
        "preScore": scores,
        "score": scores,
        "bind": [DefaultBinder()],
    }
    return Profile(scheduler, points, WEIGHTS)


def _strategy(settings: Settings) -> ScoringStrategy:
    if settings.strategy == "LeastAllocated":
        return LeastAllocated(settings.fit_resources)
    if settings.strategy == "MostAllocated":
        return MostAllocated(settings.fit_resources)
    shape = [ShapePoint(utilization, score) for utilization, score in settings.shape]
    return RequestedToCapacityRatio(shape, settings.fit_resources)
