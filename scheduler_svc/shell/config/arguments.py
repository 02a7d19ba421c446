"""The arguments of the in-tree plugins that take some, one type for each `<Plugin>Args` kind.

These are values only, with upstream's defaults: nothing here reads or checks.

Source: staging/src/k8s.io/kube-scheduler/config/v1/types_pluginargs.go and
pkg/scheduler/apis/config/v1/defaults.go, v1.36.3.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from scheduler_svc.core.objects import NodeAffinity
from scheduler_svc.shell.config.formats import Int32, Int64, Seconds


class ArgumentsStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of the arguments: immutable, camelCase in the file."""


class ResourceSpec(ArgumentsStruct, frozen=True):
    """A resource that counts in a score, and how much; a weight of 0 counts as 1."""

    name: str = ""
    weight: Int64 = 1


CPU_AND_MEMORY: Final = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))
"""The resources that count where none are listed."""


class UtilizationShapePoint(ArgumentsStruct, frozen=True):
    """A point of a scoring function: `score` (0 to 10) at `utilization` (0 to 100 percent)."""

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatioParam(ArgumentsStruct, frozen=True):
    """The scoring function of RequestedToCapacityRatio, linear between its points."""

    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(ArgumentsStruct, frozen=True):
    """How NodeResourcesFit scores.

    Attributes
    ----------
    type
        LeastAllocated, MostAllocated or RequestedToCapacityRatio; must be given where a
        strategy is.
    resources
        What counts; weights are 1 to 100.
    requested_to_capacity_ratio
        Given exactly when the type is RequestedToCapacityRatio.
    """

    type: str = ""
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class NodeResourcesFitArgs(ArgumentsStruct, frozen=True):
    """Arguments of NodeResourcesFit.

    Attributes
    ----------
    ignored_resources
        Extended resources the filter does not look at.
    ignored_resource_groups
        The same by what stands before the `/` of their names.
    """

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(type="LeastAllocated")


class NodeResourcesBalancedAllocationArgs(ArgumentsStruct, frozen=True):
    """Arguments of NodeResourcesBalancedAllocation; every weight is 1."""

    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY


class DefaultPreemptionArgs(ArgumentsStruct, frozen=True):
    """Arguments of DefaultPreemption: how many Nodes it tries, the larger of the two.

    `min_candidate_nodes_percentage` is of all Nodes, 0 to 100;
    `min_candidate_nodes_absolute` is a count. One of them may be 0.
    """

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


class InterPodAffinityArgs(ArgumentsStruct, frozen=True):
    """Arguments of InterPodAffinity.

    Attributes
    ----------
    hard_pod_affinity_weight
        What a required affinity term of a Pod already placed adds to a Node, 0 to 100.
    ignore_preferred_terms_of_existing_pods
        Preferred terms of Pods already placed count only if the new Pod has terms too.
    upstream_quirks
        Ours: whether kube-scheduler's known faults are repeated (docs/differences.md), as they
        are if nothing is said.
    """

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False
    upstream_quirks: bool | None = None


class NodeAffinityArgs(ArgumentsStruct, frozen=True):
    """Arguments of NodeAffinity: rules that every Pod of the profile has in addition."""

    added_affinity: NodeAffinity | None = None


class LabelSelector(ArgumentsStruct, frozen=True):
    """A selector that default constraints may not have; it is read so as to say so."""

    match_labels: Mapping[str, str] | None = None
    match_expressions: tuple[Mapping[str, object], ...] = ()


class DefaultConstraint(ArgumentsStruct, frozen=True):
    """A topology spread constraint for Pods that have none; its selector is found per Pod."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class NodeVolumeLimitsArgs(ArgumentsStruct, frozen=True):
    """Arguments of NodeVolumeLimits, ours alone: `upstream_quirks` as in `InterPodAffinityArgs`."""

    upstream_quirks: bool | None = None


class PodTopologySpreadArgs(ArgumentsStruct, frozen=True):
    """Arguments of PodTopologySpread.

    `defaulting_type` System: constraints over hostname and zone that Kubernetes sets;
    List: those of `default_constraints`, possibly none. `upstream_quirks` as in
    `InterPodAffinityArgs`.
    """

    default_constraints: tuple[DefaultConstraint, ...] = ()
    defaulting_type: str = "System"
    upstream_quirks: bool | None = None


class VolumeBindingArgs(ArgumentsStruct, frozen=True):
    """Arguments of VolumeBinding.

    `bind_timeout_seconds`: how long a Pod's volumes may take to be bound; 0: no wait.
    `shape` needs the gate StorageCapacityScoring, which is off.
    """

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


class DynamicResourcesArgs(ArgumentsStruct, frozen=True):
    """Arguments of DynamicResources.

    Attributes
    ----------
    filter_timeout_seconds
        How long the search for devices of one Node may take; 0: no limit.
    binding_timeout_seconds
        How long the conditions of allocated devices may take, at least 1 s.
    upstream_quirks
        As in `InterPodAffinityArgs`.
    """

    filter_timeout_seconds: Seconds = msgspec.field(default=10.0, name="filterTimeout")
    binding_timeout_seconds: Seconds = msgspec.field(default=600.0, name="bindingTimeout")
    upstream_quirks: bool | None = None


ARGUMENT_TYPES: Final[Mapping[str, type[ArgumentsStruct]]] = MappingProxyType(
    {
        "DefaultPreemption": DefaultPreemptionArgs,
        "DynamicResources": DynamicResourcesArgs,
        "InterPodAffinity": InterPodAffinityArgs,
        "NodeAffinity": NodeAffinityArgs,
        "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
        "NodeResourcesFit": NodeResourcesFitArgs,
        "NodeVolumeLimits": NodeVolumeLimitsArgs,
        "PodTopologySpread": PodTopologySpreadArgs,
        "VolumeBinding": VolumeBindingArgs,
    }
)
"""The type of each in-tree plugin's arguments, by the plugin's name."""
