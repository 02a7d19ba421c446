"""Defaults that a field's own default cannot express.

Some take the place of an explicit zero or an empty text, as Go's decoder cannot tell
those from an absent field; others depend on another field.

Source: pkg/scheduler/apis/config/v1/defaults.go, v1.36.3.
"""

from typing import Final, TypeVar

from msgspec.structs import replace

from scheduler_svc.shell.config.arguments import (
    ARGUMENT_TYPES,
    CPU_AND_MEMORY,
    ArgumentsStruct,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    NodeVolumeLimitsArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
)
from scheduler_svc.shell.config.schema import (
    DEFAULT_SCHEDULER_NAME,
    ClientConnection,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
)

_EXTENDER_TIMEOUT_SECONDS: Final = 5.0

T = TypeVar("T")


def with_defaults(configuration: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    """Fill in what the file leaves out, plugins and their arguments excepted."""
    profiles = configuration.profiles or (KubeSchedulerProfile(),)
    # With several profiles each needs a name of its own, which validation asks for.
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        profiles = (replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    contention = configuration.enable_contention_profiling
    return replace(
        configuration,
        profiles=profiles,
        leader_election=_leader_election(configuration.leader_election),
        client_connection=_client_connection(configuration.client_connection),
        extenders=tuple(_extender(extender) for extender in configuration.extenders),
        enable_contention_profiling=(
            configuration.enable_profiling if contention is None else contention
        ),
    )


def _leader_election(given: LeaderElection) -> LeaderElection:
    default = LeaderElection()
    return replace(
        given,
        lease_duration_seconds=given.lease_duration_seconds or default.lease_duration_seconds,
        renew_deadline_seconds=given.renew_deadline_seconds or default.renew_deadline_seconds,
        retry_period_seconds=given.retry_period_seconds or default.retry_period_seconds,
        resource_lock=given.resource_lock or default.resource_lock,
        resource_name=given.resource_name or default.resource_name,
        resource_namespace=given.resource_namespace or default.resource_namespace,
    )


def _client_connection(given: ClientConnection) -> ClientConnection:
    default = ClientConnection()
    return replace(
        given,
        content_type=given.content_type or default.content_type,
        qps=given.qps or default.qps,
        burst=given.burst or default.burst,
    )


def _extender(given: Extender) -> Extender:
    return replace(
        given, http_timeout_seconds=given.http_timeout_seconds or _EXTENDER_TIMEOUT_SECONDS
    )


def default_arguments(plugin: str) -> ArgumentsStruct | None:
    """Return the arguments of an in-tree plugin that is given none; `None`: it takes none.

    `None` also where all of them are ours, so that defaults are kube-scheduler's.
    """
    type_ = ARGUMENT_TYPES.get(plugin)
    return None if type_ in (None, NodeVolumeLimitsArgs) else type_()


def arguments_with_defaults(arguments: T) -> T:
    """Fill in what given arguments leave out."""
    if isinstance(arguments, NodeResourcesFitArgs):
        strategy = arguments.scoring_strategy
        strategy = replace(strategy, resources=_resources(strategy.resources))
        return replace(arguments, scoring_strategy=strategy)
    if isinstance(arguments, NodeResourcesBalancedAllocationArgs):
        return replace(arguments, resources=_resources(arguments.resources))
    if isinstance(arguments, PodTopologySpreadArgs):
        return replace(arguments, defaulting_type=arguments.defaulting_type or "System")
    return arguments


def _resources(given: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    resources = given or CPU_AND_MEMORY
    return tuple(replace(resource, weight=resource.weight or 1) for resource in resources)
