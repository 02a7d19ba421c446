"""Node selectors of slices and allocations, matched against all Nodes at once."""

import numpy as np

from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.labels import BoolArray, matches_field
from scheduler_svc.core.objects import NodeSelector


def selected_rows(selector: NodeSelector, columns: NodeColumns) -> BoolArray:
    """Give the mask of the live Nodes that one of the terms matches, bool `(N,)`."""
    mask: BoolArray = np.zeros(columns.capacity, dtype=np.bool_)
    everywhere = slice(0, columns.capacity)
    for term in selector.node_selector_terms:
        if not term.match_expressions and not term.match_fields:
            continue
        matching = columns.live.copy()
        for requirement in term.match_expressions:
            matching &= columns.label_column(requirement.key).match(requirement, everywhere)
        for requirement in term.match_fields:
            for row in np.flatnonzero(matching):
                matching[row] = matches_field(requirement, columns.names[row])
        mask |= matching
    return mask


def row_mask(node_name: str, columns: NodeColumns) -> BoolArray:
    """Give the mask of one Node by name, bool `(N,)`."""
    mask: BoolArray = np.zeros(columns.capacity, dtype=np.bool_)
    mask[columns.rows_of((node_name,))] = True
    return mask & columns.live
