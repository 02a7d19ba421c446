"""Pods counted on or off many Nodes at once, in the columns alone, where filters read no more."""

from collections.abc import Sequence

import numpy as np

from scheduler_svc.core.cache import Speculation
from scheduler_svc.core.columns import Int64Array, NodeColumns
from scheduler_svc.core.framework.filtering import Filters
from scheduler_svc.core.framework.interface import Scope
from scheduler_svc.core.pods import PodInfo


def columns_suffice(filters: Filters) -> bool:
    """Whether the filters see all that they look at if Pods are counted in the columns alone."""
    return not any(
        plugin.filter_scope is Scope.CLUSTER
        or (plugin.filter_scope is Scope.USAGE and plugin.reads_pods)
        for plugin, _ in filters
    )


def is_simple(pod: PodInfo) -> bool:
    """Whether a Pod takes nothing of its Node but what the columns count."""
    return not (pod.shape.host_ports or pod.volumes)


def vectors(columns: NodeColumns, pods: Sequence[PodInfo]) -> Int64Array:
    """Give what each Pod takes, int64 `(K, R)`."""
    for pod in pods:
        # A resource that no Node or Pod had before makes a row, and all vectors longer.
        columns.vector(pod.requests)
    return np.array([columns.vector(pod.requests) for pod in pods])


def count_in_columns(
    speculation: Speculation,
    columns: NodeColumns,
    placed: Sequence[tuple[int, Sequence[PodInfo]]],
    sign: int,
) -> None:
    """Count Pods on (`sign` 1) or off (-1) the Nodes of different rows; not simple ones in full.

    Under 1 µs a Pod.
    """
    pods: list[PodInfo] = []
    rows: list[int] = []
    starts: list[int] = []
    for row, on_row in placed:
        simple = [pod for pod in on_row if is_simple(pod)]
        if simple:
            rows.append(row)
            starts.append(len(pods))
            pods += simple
        if len(simple) < len(on_row):
            count = speculation.add if sign > 0 else speculation.remove
            for pod in on_row:
                if not is_simple(pod):
                    count(pod, row)
    if pods:
        sums = np.add.reduceat(vectors(columns, pods), starts, axis=0)
        speculation.free_up(np.array(rows, dtype=np.intp), -sign * sums.T)
