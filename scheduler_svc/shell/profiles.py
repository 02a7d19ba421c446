"""From the configured profiles to the core's: plugins are made with their arguments.

A point of the configuration is upstream's. Where a plugin of ours prepares at PreFilter or
PreScore what upstream's computes Node by Node, or can, it gets that point in addition.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from scheduler_svc.core.affinity_objects import TopologySpreadConstraint
from scheduler_svc.core.framework.interface import (
    PermitPlugin,
    Plugin,
    PreFilterPlugin,
    PreScorePlugin,
)
from scheduler_svc.core.framework.profile import Profile as CoreProfile
from scheduler_svc.core.framework.resource_scoring import (
    LeastAllocated,
    MostAllocated,
    RequestedToCapacityRatio,
    ResourceWeights,
    ScoringStrategy,
    ShapePoint,
)
from scheduler_svc.core.registry import IN_TREE, Factory, PluginArguments
from scheduler_svc.shell.config import (
    Configuration,
    EnabledPlugin,
    ExtensionPoint,
    Profile,
    RawArguments,
)
from scheduler_svc.shell.config.arguments import (
    ArgumentsStruct,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    NodeVolumeLimitsArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    VolumeBindingArgs,
)
from scheduler_svc.shell.config.arguments import ScoringStrategy as StrategyArguments
from scheduler_svc.shell.config.in_tree import IN_TREE_POINTS

_WITH_QUIRKS: Final = (
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeVolumeLimitsArgs,
    PodTopologySpreadArgs,
)

_PREPARING: Final[tuple[tuple[ExtensionPoint, ExtensionPoint, type[Plugin]], ...]] = (
    (ExtensionPoint.PRE_FILTER, ExtensionPoint.FILTER, PreFilterPlugin),
    (ExtensionPoint.PRE_SCORE, ExtensionPoint.SCORE, PreScorePlugin),
)

# Upstream's Score prepares for itself where PreScore has not been asked.
_SCORE_ALONE: Final = frozenset(
    {"NodeAffinity", "NodeResourcesBalancedAllocation", "NodeResourcesFit"}
)


class ProfileError(ValueError):
    """Profiles that cannot run; one line for each reason."""


class Profiles(NamedTuple):
    """What the scheduler is made of, and the enabled plugins that there are none of yet."""

    profiles: tuple[CoreProfile, ...]
    not_implemented: tuple[str, ...]


def make_profiles(
    configuration: Configuration, registry: Mapping[str, Factory] = IN_TREE
) -> Profiles:
    """Make the profiles of a configuration.

    Raises
    ------
    ProfileError
        Where a plugin is to judge Nodes but may not look at the Pod first, which it needs.
    """
    mistakes: list[str] = []
    missing: dict[str, None] = {}
    profiles = []
    ignored = frozenset(
        resource.name
        for extender in configuration.extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    for profile in configuration.profiles:
        plugins = _make_plugins(profile, registry, ignored)
        missing.update(dict.fromkeys(n for n in profile.plugin_names if n not in plugins))
        points = _place(profile, plugins)
        mistakes += _unprepared(profile.scheduler_name, points)
        scored = profile.points[ExtensionPoint.SCORE]
        weights = {plugin.name: plugin.weight for plugin in scored}
        if not mistakes:
            profiles.append(CoreProfile(profile.scheduler_name, points, weights))
    if mistakes:
        raise ProfileError("\n".join(mistakes))
    return Profiles(tuple(profiles), tuple(missing))


def _make_plugins(
    profile: Profile, registry: Mapping[str, Factory], ignored: frozenset[str]
) -> dict[str, Plugin]:
    """Make them; the resources in `ignored` are extenders' alone to check."""
    return {
        name: registry[name](**_constructor_arguments(profile.args.get(name), ignored))
        for name in profile.plugin_names
        if name in registry
    }


def _place(profile: Profile, plugins: Mapping[str, Plugin]) -> dict[str, Sequence[Plugin]]:
    """Put the plugins at the points, in order; at those that prepare, ours besides."""

    def at(enabled: Sequence[EnabledPlugin]) -> list[Plugin]:
        return [plugins[plugin.name] for plugin in enabled if plugin.name in plugins]

    points = {point: at(enabled) for point, enabled in profile.points.items()}
    # GangScheduling waits there upstream; ours has a group decided before any Pod gets there.
    points[ExtensionPoint.PERMIT] = [
        plugin for plugin in points[ExtensionPoint.PERMIT] if isinstance(plugin, PermitPlugin)
    ]
    for preparing, judging, contract in _PREPARING:
        points[preparing] += [
            plugin
            for plugin in points[judging]
            if isinstance(plugin, contract)
            and _is_prepared_unasked(plugin, preparing)
            and plugin not in points[preparing]
        ]
    return {point.value: placed for point, placed in points.items()}


def _is_prepared_unasked(plugin: Plugin, preparing: ExtensionPoint) -> bool:
    """Whether a plugin prepares at a point that the configuration does not enable it at."""
    if preparing is ExtensionPoint.PRE_SCORE and plugin.name in _SCORE_ALONE:
        return True
    return preparing not in IN_TREE_POINTS.get(plugin.name, frozenset())


def _unprepared(scheduler_name: str, points: Mapping[str, Sequence[Plugin]]) -> list[str]:
    return [
        f"profile {scheduler_name}: {plugin.name} is enabled at {judging} but disabled at "
        f"{preparing}, without which it cannot judge; enable or disable both"
        for preparing, judging, contract in _PREPARING
        for plugin in points[judging]
        if isinstance(plugin, contract) and plugin not in points[preparing]
    ]


def _constructor_arguments(
    arguments: ArgumentsStruct | RawArguments | None, ignored: frozenset[str]
) -> PluginArguments:
    """Give the keyword arguments of a plugin's constructor."""
    result = _quirks(arguments)
    match arguments:
        case RawArguments():
            # Only the plugin, a user's, knows what they are.
            result["arguments"] = arguments
        case NodeResourcesFitArgs():
            result["strategy"] = _strategy(arguments.scoring_strategy)
            result["ignored_resources"] = ignored.union(arguments.ignored_resources)
            result["ignored_resource_groups"] = frozenset(arguments.ignored_resource_groups)
        case NodeResourcesBalancedAllocationArgs():
            result["resources"] = _weights(arguments.resources)
        case NodeAffinityArgs():
            result["added_affinity"] = arguments.added_affinity
        case DefaultPreemptionArgs():
            result["min_candidate_nodes_percentage"] = arguments.min_candidate_nodes_percentage
            result["min_candidate_nodes_absolute"] = arguments.min_candidate_nodes_absolute
        case PodTopologySpreadArgs():
            result["default_constraints"] = _default_constraints(arguments)
        case InterPodAffinityArgs():
            result["hard_pod_affinity_weight"] = arguments.hard_pod_affinity_weight
            result["ignore_preferred_terms_of_existing_pods"] = (
                arguments.ignore_preferred_terms_of_existing_pods
            )
        case DynamicResourcesArgs():
            result["filter_timeout_seconds"] = arguments.filter_timeout_seconds
            result["binding_timeout_seconds"] = arguments.binding_timeout_seconds
        case VolumeBindingArgs():
            result["bind_timeout_seconds"] = arguments.bind_timeout_seconds
    return result


def _quirks(arguments: ArgumentsStruct | RawArguments | None) -> dict[str, Any]:
    if isinstance(arguments, _WITH_QUIRKS):
        return {"upstream_quirks": arguments.upstream_quirks is not False}
    return {}


def _default_constraints(
    arguments: PodTopologySpreadArgs,
) -> tuple[TopologySpreadConstraint, ...] | None:
    if arguments.defaulting_type == "System":
        return None
    return tuple(
        TopologySpreadConstraint(
            max_skew=constraint.max_skew,
            topology_key=constraint.topology_key,
            when_unsatisfiable=constraint.when_unsatisfiable,
            min_domains=constraint.min_domains,
            node_affinity_policy=constraint.node_affinity_policy,
            node_taints_policy=constraint.node_taints_policy,
        )
        for constraint in arguments.default_constraints
    )


def _strategy(arguments: StrategyArguments) -> ScoringStrategy:
    weights = _weights(arguments.resources)
    if arguments.type == "MostAllocated":
        return MostAllocated(weights)
    if arguments.type == "RequestedToCapacityRatio" and arguments.requested_to_capacity_ratio:
        shape = arguments.requested_to_capacity_ratio.shape
        points = [ShapePoint(point.utilization, point.score) for point in shape]
        return RequestedToCapacityRatio(points, weights)
    return LeastAllocated(weights)


def _weights(resources: Sequence[ResourceSpec]) -> ResourceWeights:
    return tuple((resource.name, resource.weight or 1) for resource in resources)
