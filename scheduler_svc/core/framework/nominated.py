"""Filters on Nodes where room is kept for nominated Pods.

Where a Node has nominated Pods of equal or higher priority, a Pod must pass all filters with
them there, so that it takes no room that is kept for them, and without them, since they may
come to run elsewhere.

Source: pkg/scheduler/framework/runtime/framework.go (`RunFilterPluginsWithNominatedPods`,
`addGENominatedPods`), v1.36.3.
"""

import msgspec
import numpy as np

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.framework.column_counting import columns_suffice, count_in_columns
from scheduler_svc.core.framework.filtering import (
    Filters,
    NodeGroup,
    ask_filters,
    split_at_others,
)
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.pods import PodInfo


class RespectedPods(msgspec.Struct, frozen=True):
    """The nominated Pods that `pod` must leave room for, by row; `rows` are in ascending order."""

    pod: PodInfo
    cache: Cache
    nominator: Nominator
    rows: RowArray

    def on(self, row: int) -> list[PodInfo]:
        """Give those nominated to the Node of a row."""
        return self.nominator.respected_by(self.pod, self.cache.columns.names[row])


def respected_pods(pod: PodInfo, cache: Cache, nominator: Nominator) -> RespectedPods | None:
    """Give whom `pod` must leave room for; None if there is nobody. O(N)."""
    rows = nominator.rows_respected_by(pod)
    return RespectedPods(pod, cache, nominator, rows) if len(rows) else None


def ask_with_nominated(
    filters: Filters,
    respected: RespectedPods,
    rows: RowArray,
    groups: list[NodeGroup] | None = None,
) -> RowArray:
    """Ask as `ask_filters` does, with the nominated Pods on their Nodes; for those rows only.

    All at once for the filters that look at one Node alone, then Node by Node.
    """
    local, others = split_at_others(filters)
    rows = _ask(local, respected, rows, groups)
    if not others:
        return rows
    parts = [_ask(others, respected, rows[i : i + 1], groups) for i in range(len(rows))]
    return np.concatenate([rows[:0], *parts])


def _ask(
    filters: Filters, respected: RespectedPods, rows: RowArray, groups: list[NodeGroup] | None
) -> RowArray:
    cache = respected.cache
    placed = [(row, respected.on(row)) for row in rows.tolist()]
    with cache.speculation() as speculation:
        if columns_suffice(filters):
            count_in_columns(speculation, cache.columns, placed, 1)
        else:
            for row, pods in placed:
                for pod in pods:
                    speculation.add(pod, row)
        return ask_filters(filters, cache.columns, rows, groups)


def ask_all(
    filters: Filters,
    respected: RespectedPods | None,
    columns: NodeColumns,
    rows: RowArray,
    groups: list[NodeGroup] | None = None,
) -> RowArray:
    """Give those of `rows`, ascending, that pass the filters in both ways."""
    if respected is not None:
        concerned = np.isin(rows, respected.rows)
        passed = ask_with_nominated(filters, respected, rows[concerned], groups)
        rows = np.sort(np.concatenate([rows[~concerned], passed]))
    return ask_filters(filters, columns, rows, groups)
