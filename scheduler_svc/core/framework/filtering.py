"""Filters asked in order about some Nodes: which pass, and what the first said that rejects."""

from collections.abc import Sequence

import msgspec

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import NodeColumns, NodeView
from scheduler_svc.core.framework.interface import FilterPlugin, Scope, State
from scheduler_svc.core.status import Status

Filters = Sequence[tuple[FilterPlugin, State]]


class NodeGroup(msgspec.Struct, frozen=True):
    """Nodes that share a status, whose `plugin` is the first that rejected them: intp `(K,)`."""

    status: Status
    rows: RowArray


def ask_filters(
    filters: Filters, columns: NodeColumns, rows: RowArray, groups: list[NodeGroup] | None = None
) -> RowArray:
    """Give those of `rows` that pass all filters; why the others do not is added to `groups`."""
    for plugin, state in filters:
        if not len(rows):
            break
        mask = plugin.filter(state, NodeView(columns, rows))
        if mask is None or mask.all():
            continue
        rejected = rows[~mask]
        rows = rows[mask]
        if groups is None:
            continue
        for rejection in plugin.rejections(state, NodeView(columns, rejected)):
            if rejection.nodes.any():
                status = Status(rejection.status.code, rejection.status.reasons, plugin.name)
                groups.append(NodeGroup(status, rejected[rejection.nodes]))
    return rows


def split_at_others(filters: Filters) -> tuple[Filters, Filters]:
    """Split before the first filter that looks at other Nodes than the one it judges."""
    for index, (plugin, _) in enumerate(filters):
        if plugin.filter_scope is Scope.CLUSTER:
            return filters[:index], filters[index:]
    return filters, ()
