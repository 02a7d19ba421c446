"""The whole answer about one class of Pods: every Node's status or scores, from scratch.

It asks the same plugins as an `Evaluation` and keeps nothing: for people, for
comparison with other schedulers, and as the yardstick of the patched evaluations.
"""

from collections.abc import Mapping

import msgspec
import numpy as np

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import Int64Array, NodeColumns, NodeView
from scheduler_svc.core.framework.diagnosis import Diagnosis, diagnose
from scheduler_svc.core.framework.interface import ClusterScorePlugin, NormalizedScorePlugin
from scheduler_svc.core.framework.prepared import PreparedClass


class Verdict(msgspec.Struct, frozen=True):
    """Which Nodes are feasible, intp `(F,)`, with each plugin's share of the total, int64 `(F,)`.

    A share is the plugin's score, normalized where it is, times its weight. All other
    Nodes are in the `diagnosis`.
    """

    diagnosis: Diagnosis
    rows: RowArray
    shares: Mapping[str, Int64Array]
    totals: Int64Array

    @property
    def best_rows(self) -> RowArray:
        """All rows with the highest total."""
        if not len(self.rows):
            return self.rows
        best: RowArray = self.rows[self.totals == self.totals.max()]
        return best


def judge(prepared: PreparedClass, columns: NodeColumns) -> Verdict:
    """Ask every plugin about every Node. O(plugins x N)."""
    diagnosis = diagnose(prepared, columns)
    live = columns.live.copy()
    if prepared.rejection is not None:
        live[:] = False
    if prepared.node_names is not None:
        named = np.zeros_like(live)
        named[columns.rows_of(prepared.node_names)] = True
        live &= named
    for group in diagnosis.groups:
        live[group.rows] = False
    rows: RowArray = np.flatnonzero(live)
    view = NodeView(columns, rows)
    shares: dict[str, Int64Array] = {}
    totals = np.zeros(len(rows), dtype=np.int64)
    for plugin, state, weight in prepared.scores if len(rows) else ():
        if isinstance(plugin, ClusterScorePlugin):
            given = plugin.score_feasible(state, view, np.ones(len(rows), dtype=np.bool_))
            if given is not None:
                shares[plugin.name] = given * weight
                totals += given * weight
            continue
        scores = plugin.score(state, view)
        if isinstance(plugin, NormalizedScorePlugin):
            scores = plugin.normalize(scores, int(scores.min()), int(scores.max()))
        shares[plugin.name] = scores * weight
        totals += scores * weight
    return Verdict(diagnosis, rows, shares, totals)
