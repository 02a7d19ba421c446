"""Filters on Nodes where room is kept for nominated Pods.

Where a Node has nominated Pods of equal or higher priority, a Pod must pass all filters with
them there, so that it takes no room that is kept for them, and without them, since they may
come to run elsewhere.

Source: pkg/scheduler/framework/runtime/framework.go (`RunFilterPluginsWithNominatedPods`,
`addGENominatedPods`), v1.36.3.
"""

from collections.abc import Mapping

import msgspec
import numpy as np

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.framework.filtering import (
    Filters,
    NodeGroup,
    ask_filters,
    split_at_others,
)
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.pods import PodInfo


class RespectedPods(msgspec.Struct, frozen=True):
    """The nominated Pods that some Pod must leave room for: by row, and the rows, ascending."""

    cache: Cache
    rows: RowArray
    by_row: Mapping[int, list[PodInfo]]


def respected_pods(pod: PodInfo, cache: Cache, nominator: Nominator) -> RespectedPods | None:
    """Give whom `pod` must leave room for; None if there is nobody."""
    rows = nominator.rows_respected_by(pod)
    if not len(rows):
        return None
    names = cache.columns.names
    by_row = {row: nominator.respected_by(pod, names[row]) for row in rows.tolist()}
    return RespectedPods(cache, rows, by_row)


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
    with cache.speculation() as speculation:
        for row in rows.tolist():
            for pod in respected.by_row[row]:
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
