"""Judges the arguments of the in-tree plugins.

NodeResourcesFit's are judged here too, with the rest of the file; kube-scheduler finds
mistakes in those only when it builds the plugin.

Source: pkg/scheduler/apis/config/validation/validation_pluginargs.go and
staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
v1.36.3; the texts are upstream's.
"""

import re
from collections.abc import Sequence
from functools import singledispatch
from typing import Final

from kubeio.durations import format_duration
from scheduler_svc.core.objects import NodeSelectorTerm, Requirement
from scheduler_svc.shell.config.arguments import (
    DefaultConstraint,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from scheduler_svc.shell.config.document import Path
from scheduler_svc.shell.config.mistakes import MistakeLog
from scheduler_svc.shell.config.names import label_key_faults, label_value_faults
from scheduler_svc.shell.config.scoring_strategies import STRATEGIES

RATIO: Final = "RequestedToCapacityRatio"
MAX_EXTENDER_SCORE: Final = 10

_DEFAULTING_TYPES: Final = ("System", "List")
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS: Final = ("In", "NotIn")
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


@singledispatch
def validate_arguments(arguments: object, path: Path, log: MistakeLog) -> None:
    """Note what is wrong with the arguments at `path`; other types have nothing to judge."""


@validate_arguments.register
def _default_preemption(arguments: DefaultPreemptionArgs, path: Path, log: MistakeLog) -> None:
    percentage = arguments.min_candidate_nodes_percentage
    absolute = arguments.min_candidate_nodes_absolute
    percentage_path = (*path, "minCandidateNodesPercentage")
    absolute_path = (*path, "minCandidateNodesAbsolute")
    if not 0 <= percentage <= 100:
        log.invalid(percentage_path, percentage, "not in valid range [0, 100]")
    if absolute < 0:
        log.invalid(absolute_path, absolute, "not in valid range [0, inf)")
    if percentage == 0 and absolute == 0:
        both = "cannot be zero at the same time as"
        log.invalid(percentage_path, percentage, f"{both} minCandidateNodesAbsolute")
        log.invalid(absolute_path, absolute, f"{both} minCandidateNodesPercentage")


@validate_arguments.register
def _inter_pod_affinity(arguments: InterPodAffinityArgs, path: Path, log: MistakeLog) -> None:
    weight = arguments.hard_pod_affinity_weight
    if not 0 <= weight <= 100:
        log.invalid((*path, "hardPodAffinityWeight"), weight, "not in valid range [0, 100]")


@validate_arguments.register
def _balanced_allocation(
    arguments: NodeResourcesBalancedAllocationArgs, path: Path, log: MistakeLog
) -> None:
    seen: set[str] = set()
    for index, resource in enumerate(arguments.resources):
        at = (*path, "resources", index)
        if resource.name in seen:
            log.duplicate((*at, "name"), resource.name)
        seen.add(resource.name)
        if resource.weight != 1:
            log.invalid((*at, "weight"), resource.weight, "must be 1")


@validate_arguments.register
def _volume_binding(arguments: VolumeBindingArgs, path: Path, log: MistakeLog) -> None:
    seconds = arguments.bind_timeout_seconds
    if seconds < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        log.invalid((*path, "bindTimeoutSeconds"), seconds, detail)
    if arguments.shape is not None:
        detail = "unexpected field `shape`, remove it or turn on the feature gate"
        log.invalid((*path, "shape"), arguments.shape, f"{detail} StorageCapacityScoring")


@validate_arguments.register
def _dynamic_resources(arguments: DynamicResourcesArgs, path: Path, log: MistakeLog) -> None:
    filtering, binding = arguments.filter_timeout_seconds, arguments.binding_timeout_seconds
    if filtering < 0:
        shown = format_duration(filtering)
        log.invalid((*path, "filterTimeout"), shown, "must be zero or positive")
    if binding < 1:
        log.invalid(
            (*path, "bindingTimeout"), format_duration(binding), "must be at least 1 second"
        )


@validate_arguments.register
def _node_resources_fit(arguments: NodeResourcesFitArgs, path: Path, log: MistakeLog) -> None:
    for index, resource in enumerate(arguments.ignored_resources):
        _label_key(resource, (*path, "ignoredResources", index), log)
    for index, group in enumerate(arguments.ignored_resource_groups):
        at = (*path, "ignoredResourceGroups", index)
        if "/" in group:
            log.invalid(at, group, "resource group name can't contain '/'")
        _label_key(group, at, log)
    _scoring_strategy(arguments.scoring_strategy, (*path, "scoringStrategy"), log)


def _scoring_strategy(strategy: ScoringStrategy, path: Path, log: MistakeLog) -> None:
    if strategy.type not in STRATEGIES:
        meaning = "a scoringStrategy names its type" if not strategy.type else ""
        log.unsupported((*path, "type"), strategy.type, STRATEGIES, meaning=meaning)
    for index, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            detail = f"resource weight of {resource.name} not in valid range (0, 100]"
            log.invalid((*path, "resources", index, "weight"), resource.weight, detail)
    ratio = strategy.requested_to_capacity_ratio
    ratio_path = (*path, "requestedToCapacityRatio")
    if strategy.type != RATIO:
        if ratio is not None:
            log.forbidden(ratio_path, f"must be nil when type is not {RATIO}")
    elif ratio is None:
        log.required(ratio_path, f"must be specified when type is {RATIO}")
    else:
        _function_shape(ratio.shape, (*ratio_path, "shape"), log)


def _function_shape(shape: Sequence[UtilizationShapePoint], path: Path, log: MistakeLog) -> None:
    if not shape:
        log.required(path, "at least one point must be specified")
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            at = (*path, index, "utilization")
            log.invalid(at, shape[index].utilization, "values must be sorted in increasing order")
            break
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            at = (*path, index, "utilization")
            log.invalid(at, point.utilization, "not in valid range [0, 100]")
        if not 0 <= point.score <= MAX_EXTENDER_SCORE:
            at = (*path, index, "score")
            log.invalid(at, point.score, f"not in valid range [0, {MAX_EXTENDER_SCORE}]")


@validate_arguments.register
def _pod_topology_spread(arguments: PodTopologySpreadArgs, path: Path, log: MistakeLog) -> None:
    type_path = (*path, "defaultingType")
    if arguments.defaulting_type not in _DEFAULTING_TYPES:
        log.unsupported(type_path, arguments.defaulting_type, _DEFAULTING_TYPES)
    elif arguments.defaulting_type == "System" and arguments.default_constraints:
        log.invalid(
            type_path,
            arguments.defaulting_type,
            "when .defaultConstraints are not empty",
            meaning="defaultConstraints are used with defaultingType: List",
        )
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(arguments.default_constraints):
        at = (*path, "defaultConstraints", index)
        _default_constraint(constraint, at, log)
        key = (constraint.topology_key, constraint.when_unsatisfiable)
        if key in seen:
            log.duplicate(at, f"{{{', '.join(key)}}}")
        seen.add(key)


def _default_constraint(constraint: DefaultConstraint, path: Path, log: MistakeLog) -> None:
    if constraint.max_skew <= 0:
        log.invalid((*path, "maxSkew"), constraint.max_skew, "not in valid range (0, inf)")
    if not constraint.topology_key:
        log.required((*path, "topologyKey"), "can not be empty")
    else:
        _label_key(constraint.topology_key, (*path, "topologyKey"), log)
    if not constraint.when_unsatisfiable:
        log.required((*path, "whenUnsatisfiable"), "can not be empty")
    elif constraint.when_unsatisfiable not in _ACTIONS:
        log.unsupported((*path, "whenUnsatisfiable"), constraint.when_unsatisfiable, _ACTIONS)
    if constraint.label_selector is not None:
        detail = "constraint must not define a selector, as they deduced for each pod"
        log.forbidden((*path, "labelSelector"), detail)


@validate_arguments.register
def _node_affinity(arguments: NodeAffinityArgs, path: Path, log: MistakeLog) -> None:
    affinity = arguments.added_affinity
    if affinity is None:
        return
    path = (*path, "addedAffinity")
    if affinity.required is not None:
        required = (*path, "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
        for index, term in enumerate(affinity.required.node_selector_terms):
            _node_selector_term(term, (*required, index), log)
    preferred = (*path, "preferredDuringSchedulingIgnoredDuringExecution")
    for index, preference in enumerate(affinity.preferred or ()):
        if preference.weight:
            _node_selector_term(preference.preference, (*preferred, index, "preference"), log)


def _node_selector_term(term: NodeSelectorTerm, path: Path, log: MistakeLog) -> None:
    for index, requirement in enumerate(term.match_expressions):
        _label_requirement(requirement, (*path, "matchExpressions", index), log)
    for index, requirement in enumerate(term.match_fields):
        at = (*path, "matchFields", index)
        if requirement.operator not in _FIELD_OPERATORS:
            log.unsupported((*at, "operator"), requirement.operator, _FIELD_OPERATORS)
        elif len(requirement.values) != 1:
            log.invalid((*at, "values"), requirement.values, "must have one element")


def _label_requirement(requirement: Requirement, path: Path, log: MistakeLog) -> None:
    if requirement.operator not in _OPERATORS:
        log.unsupported((*path, "operator"), requirement.operator, _OPERATORS)
        return
    _label_key(requirement.key, (*path, "key"), log)
    values, at = requirement.values, (*path, "values")
    if requirement.operator in {"In", "NotIn"}:
        if not values:
            log.invalid(at, values, "for 'in', 'notin' operators, values set can't be empty")
    elif requirement.operator in {"Exists", "DoesNotExist"}:
        if values:
            log.invalid(at, values, "values set must be empty for exists and does not exist")
    else:
        _bounds(values, at, log)
    for index, value in enumerate(values):
        for fault in label_value_faults(value):
            log.invalid((*at, index), value, fault)


def _bounds(values: Sequence[str], path: Path, log: MistakeLog) -> None:
    if len(values) != 1:
        log.invalid(path, values, "for 'Gt', 'Lt' operators, exactly one value is required")
    for index, value in enumerate(values):
        is_short = len(value) <= 20
        if not (is_short and _INTEGER.fullmatch(value) and -(2**63) <= int(value) < 2**63):
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            log.invalid((*path, index), value, detail)


def _label_key(key: str, path: Path, log: MistakeLog) -> None:
    for fault in label_key_faults(key):
        log.invalid(path, key, fault)
