"""Plugin names and how each plugin is made from its arguments.

The arguments are plain values here; reading them from a configuration file, with
defaults and validation, is the shell's work.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from scheduler_svc.core.framework.interface import Plugin
from scheduler_svc.core.plugins.default_binder import DefaultBinder
from scheduler_svc.core.plugins.default_preemption import DefaultPreemption
from scheduler_svc.core.plugins.dynamic_resources import DynamicResources
from scheduler_svc.core.plugins.gang_scheduling import GangScheduling
from scheduler_svc.core.plugins.image_locality import ImageLocality
from scheduler_svc.core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_svc.core.plugins.node_affinity import NodeAffinity
from scheduler_svc.core.plugins.node_declared_features import NodeDeclaredFeatures
from scheduler_svc.core.plugins.node_name import NodeName
from scheduler_svc.core.plugins.node_ports import NodePorts
from scheduler_svc.core.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
)
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.plugins.node_unschedulable import NodeUnschedulable
from scheduler_svc.core.plugins.node_volume_limits import NodeVolumeLimits
from scheduler_svc.core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_svc.core.plugins.priority_sort import PrioritySort
from scheduler_svc.core.plugins.scheduling_gates import SchedulingGates
from scheduler_svc.core.plugins.taint_toleration import TaintToleration
from scheduler_svc.core.plugins.volume_binding import VolumeBinding
from scheduler_svc.core.plugins.volume_restrictions import VolumeRestrictions
from scheduler_svc.core.plugins.volume_zone import VolumeZone

# Keyword arguments of a plugin's constructor; their types are the plugin's.
PluginArguments = Mapping[str, Any]
Factory = Callable[..., Plugin]

# In upstream's order of evaluation, which decides the reason a Node reports
# (pkg/scheduler/apis/config/v1/default_plugins.go, v1.36.3).
IN_TREE: Final[Mapping[str, Factory]] = MappingProxyType(
    {
        SchedulingGates.name: SchedulingGates,
        PrioritySort.name: PrioritySort,
        NodeUnschedulable.name: NodeUnschedulable,
        NodeName.name: NodeName,
        TaintToleration.name: TaintToleration,
        NodeAffinity.name: NodeAffinity,
        NodePorts.name: NodePorts,
        NodeResourcesFit.name: NodeResourcesFit,
        VolumeRestrictions.name: VolumeRestrictions,
        NodeVolumeLimits.name: NodeVolumeLimits,
        VolumeBinding.name: VolumeBinding,
        VolumeZone.name: VolumeZone,
        PodTopologySpread.name: PodTopologySpread,
        InterPodAffinity.name: InterPodAffinity,
        DynamicResources.name: DynamicResources,
        DefaultPreemption.name: DefaultPreemption,
        NodeResourcesBalancedAllocation.name: NodeResourcesBalancedAllocation,
        ImageLocality.name: ImageLocality,
        DefaultBinder.name: DefaultBinder,
        NodeDeclaredFeatures.name: NodeDeclaredFeatures,
        GangScheduling.name: GangScheduling,
    }
)
