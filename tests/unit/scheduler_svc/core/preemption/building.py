"""Pods to be evicted, budgets, and attempts that failed for want of room."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from scheduler_svc.core.affinity_objects import LabelSelector
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.disruption_objects import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from scheduler_svc.core.framework.diagnosis import diagnose
from scheduler_svc.core.framework.interface import Plugin
from scheduler_svc.core.framework.nominated import respected_pods
from scheduler_svc.core.framework.post_filter import FailedAttempt
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.objects import ObjectMeta
from scheduler_svc.core.plugins.node_ports import NodePorts
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.pods import PodInfo
from tests.builders import at, make_cache, make_pod_info, make_profile


def pod(
    name: str,
    priority: int = 0,
    *,
    started: str | None = "10:00",
    **fields: Any,
) -> PodInfo:
    """Build a Pod that started at that hour of a day; fields as of `make_pod_info`."""
    made = make_pod_info(name, priority=priority, **fields)
    start_time = started and f"2026-01-01T{started}:00Z"
    return msgspec.structs.replace(made, start_time=start_time)


def budget(
    name: str,
    allowed: int,
    selector: dict[str, str] | None,
    *,
    namespace: str = "default",
    disrupted: Iterable[str] = (),
) -> PodDisruptionBudget:
    """Build a budget; its selector is of equal labels, None for a budget without one."""
    return PodDisruptionBudget(
        ObjectMeta(name, namespace),
        PodDisruptionBudgetSpec(None if selector is None else LabelSelector(selector)),
        PodDisruptionBudgetStatus(allowed, dict.fromkeys(disrupted, "2026-01-01T00:00:00Z")),
    )


def failed_attempt(
    preemptor: PodInfo,
    nodes: Iterable[NodeInfo],
    pods: Iterable[PodInfo] = (),
    *,
    budgets: Iterable[PodDisruptionBudget] = (),
    nominated: Iterable[tuple[PodInfo, str]] = (),
    filters: Sequence[Plugin] | None = None,
    seed: int = 0,
) -> FailedAttempt:
    """Build an attempt whose filters look at resources and host ports, if nothing is said."""
    cache = make_cache(nodes, pods)
    for made in budgets:
        cache.cluster.objects[ObjectKind.POD_DISRUPTION_BUDGET].upsert(made)
    nominator = Nominator(cache.columns)
    for other, node_name in nominated:
        nominator.nominate(other, node_name)
    return attempt_in(preemptor, cache, nominator, filters=filters, seed=seed)


def attempt_in(
    preemptor: PodInfo,
    cache: Cache,
    nominator: Nominator,
    *,
    filters: Sequence[Plugin] | None = None,
    seed: int = 0,
) -> FailedAttempt:
    """Build an attempt in a cluster that there is."""
    plugins = [NodePorts(), NodeResourcesFit()] if filters is None else filters
    profile = make_profile({"preFilter": plugins, "filter": plugins})
    prepared = prepare(profile, preemptor, cache.cluster)
    respected = respected_pods(preemptor, cache, nominator)
    return FailedAttempt(
        pod=preemptor,
        prepared=prepared,
        diagnosis=diagnose(prepared, cache.columns, respected),
        cache=cache,
        nominator=nominator,
        now=at(0),
        seed=seed,
    )
