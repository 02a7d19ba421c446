"""Judges a configuration whose defaults are filled in, and notes all that is wrong.

Two things are refused here that kube-scheduler finds out only when it elects: a
`renewDeadline` too close to `retryPeriod`, and a lease shorter than the second that a
Lease counts in.

Source: pkg/scheduler/apis/config/validation/validation.go,
staging/src/k8s.io/component-base/config/validation/validation.go,
pkg/scheduler/framework/runtime/framework.go (NewFramework) and
staging/src/k8s.io/client-go/tools/leaderelection/leaderelection.go, v1.36.3; the texts
are upstream's.
"""

from collections.abc import Sequence
from typing import Final

from kubeio.durations import format_duration
from scheduler_svc.shell.config.document import Path, render_path
from scheduler_svc.shell.config.mistakes import Mistake, MistakeLog
from scheduler_svc.shell.config.names import extended_resource_faults
from scheduler_svc.shell.config.schema import (
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
)

_JITTER_FACTOR: Final = 1.2
_PERCENTAGE_RANGE: Final = "not in valid range [0-100]"


def validate_configuration(configuration: KubeSchedulerConfiguration, log: MistakeLog) -> None:
    """Note what is wrong outside of the profiles' plugins and arguments."""
    if configuration.client_connection.burst < 0:
        burst = configuration.client_connection.burst
        log.invalid(("clientConnection", "burst"), burst, "must be non-negative")
    _leader_election(configuration.leader_election, log)
    if configuration.parallelism <= 0:
        detail = "should be an integer value greater than zero"
        log.invalid(("parallelism",), configuration.parallelism, detail)
    _profile_names(configuration.profiles, log)
    for index, profile in enumerate(configuration.profiles):
        path = ("profiles", index, "percentageOfNodesToScore")
        _percentage(profile.percentage_of_nodes_to_score, path, log)
    _percentage(configuration.percentage_of_nodes_to_score, ("percentageOfNodesToScore",), log)
    _backoff(configuration, log)
    _extenders(configuration.extenders, log)


def validate_profile(profile: KubeSchedulerProfile, path: Path, log: MistakeLog) -> None:
    """Note what is wrong in a profile of its own outside of its plugins and arguments."""
    if not profile.scheduler_name:
        log.required((*path, "schedulerName"))
    _percentage(profile.percentage_of_nodes_to_score, (*path, "percentageOfNodesToScore"), log)


def leader_election_mistakes(election: LeaderElection, *, source: str) -> tuple[Mistake, ...]:
    """Judge an election that flags have changed; `source` stands in the place of a file's name."""
    log = MistakeLog(source)
    _leader_election(election, log)
    return log.mistakes


def _leader_election(election: LeaderElection, log: MistakeLog) -> None:
    """Without an election its durations and its lock do not matter."""
    if not election.leader_elect:
        return
    lease, renew = election.lease_duration_seconds, election.renew_deadline_seconds
    retry = election.retry_period_seconds
    path: Path = ("leaderElection",)
    for name, seconds in (
        ("leaseDuration", lease),
        ("renewDeadline", renew),
        ("retryPeriod", retry),
    ):
        if seconds <= 0:
            log.invalid((*path, name), format_duration(seconds), "must be greater than zero")
    if 0 < lease < 1:
        detail = "must be at least 1 second: a Lease counts whole seconds"
        log.invalid((*path, "leaseDuration"), format_duration(lease), detail)
    if lease <= renew:
        shown = format_duration(lease)
        log.invalid((*path, "leaseDuration"), shown, "must be greater than `RenewDeadline`")
    if 0 < renew <= retry * _JITTER_FACTOR:
        log.invalid(
            (*path, "renewDeadline"),
            format_duration(renew),
            f"must be greater than retryPeriod*JitterFactor ({retry * _JITTER_FACTOR:g}s)",
        )
    for name, value in (
        ("resourceNamespace", election.resource_namespace),
        ("resourceName", election.resource_name),
    ):
        if not value:
            log.required((*path, name), f"{name} is required")
    if election.resource_lock != "leases":
        detail = 'resourceLock value must be "leases"'
        log.invalid((*path, "resourceLock"), election.resource_lock, detail)


def _profile_names(profiles: Sequence[KubeSchedulerProfile], log: MistakeLog) -> None:
    first: dict[str, Path] = {}
    for index, profile in enumerate(profiles):
        path = ("profiles", index, "schedulerName")
        if not profile.scheduler_name:
            log.required(path)
        elif profile.scheduler_name in first:
            other = render_path(first[profile.scheduler_name])
            log.duplicate(path, profile.scheduler_name, f"the same as {other}")
        else:
            first[profile.scheduler_name] = path


def _percentage(percentage: int | None, path: Path, log: MistakeLog) -> None:
    if percentage is not None and not 0 <= percentage <= 100:
        log.invalid(path, percentage, _PERCENTAGE_RANGE)


def _backoff(configuration: KubeSchedulerConfiguration, log: MistakeLog) -> None:
    initial = configuration.pod_initial_backoff_seconds
    longest = configuration.pod_max_backoff_seconds
    if initial <= 0:
        log.invalid(("podInitialBackoffSeconds",), initial, "must be greater than 0")
    if longest < initial:
        detail = "must be greater than or equal to PodInitialBackoffSeconds"
        log.invalid(("podMaxBackoffSeconds",), longest, detail)


def _extenders(extenders: Sequence[Extender], log: MistakeLog) -> None:
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path = ("extenders", index)
        if extender.prioritize_verb and extender.weight <= 0:
            detail = "must have a positive weight applied to it"
            log.invalid((*path, "weight"), extender.weight, detail)
        for number, resource in enumerate(extender.managed_resources):
            at = (*path, "managedResources", number, "name")
            for fault in extended_resource_faults(resource.name):
                log.invalid(at, resource.name, fault)
            if resource.name in managed:
                log.invalid(at, resource.name, "duplicate extender managed resource name")
            managed.add(resource.name)
    binders = sum(bool(extender.bind_verb) for extender in extenders)
    if binders > 1:
        shown = f"found {binders} extenders implementing bind"
        log.invalid(("extenders",), shown, "only one extender can implement bind")
