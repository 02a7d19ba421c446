"""Why a Pod fits nowhere: each Node's status, and the text users read.

Computed only when no Node is feasible, or when somebody asks.
Source: pkg/scheduler/framework/types.go (`Diagnosis`, `FitError`), v1.36.3.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.framework.filtering import NodeGroup
from scheduler_svc.core.framework.nominated import RespectedPods, ask_all
from scheduler_svc.core.framework.prepared_class import PreparedClass
from scheduler_svc.core.status import Code, Status

_NOBODY_JUDGED: Final = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)

NO_NODES_TEXT = "no nodes available to schedule pods"


class Diagnosis(msgspec.Struct, frozen=True):
    """What stood in the way.

    `groups` are Nodes with a status of their own; all others have `absent_status`.
    `pre_filter_message` is set where PreFilter turned the Pod away.
    """

    node_count: int
    groups: tuple[NodeGroup, ...] = ()
    absent_status: Status | None = None
    pre_filter_message: str = ""
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()

    def status_of(self, row: int) -> Status:
        """Give a Node's status; one that nobody judged is taken to be beyond help."""
        for group in self.groups:
            if row in group.rows:
                return group.status
        return self.absent_status or _NOBODY_JUDGED

    def rows_with(self, code: Code, columns: NodeColumns) -> RowArray:
        """Give the rows of the live Nodes whose status has that code, ascending."""
        has_code = np.zeros(columns.capacity, dtype=np.bool_)
        if self.absent_status is not None and self.absent_status.code is code:
            has_code |= columns.live
        for group in self.groups:
            has_code[group.rows] = group.status.code is code
        rows: RowArray = np.flatnonzero(has_code)
        return rows

    def fit_error(self, post_filter_message: str = "") -> str:
        """Give the text of the FailedScheduling event and of the Pod's condition."""
        parts = [f"0/{self.node_count} nodes are available:"]
        if self.pre_filter_message:
            parts.append(f" {self.pre_filter_message}.")
        else:
            histogram = sorted(f"{count} {reason}" for reason, count in self._reasons().items())
            if histogram:
                parts.append(f" {', '.join(histogram)}.")
        if post_filter_message:
            parts.append(f" {post_filter_message}")
        return "".join(parts)

    def main_reason(self) -> str:
        """Give the reason that most Nodes have, of equals the first by alphabet."""
        if self.pre_filter_message:
            return self.pre_filter_message
        reasons = sorted(self._reasons().items(), key=lambda pair: (-pair[1], pair[0]))
        return reasons[0][0] if reasons else NO_NODES_TEXT

    def _reasons(self) -> Counter[str]:
        reasons: Counter[str] = Counter()
        explicit = 0
        for group in self.groups:
            explicit += len(group.rows)
            for reason in group.status.reasons:
                reasons[reason] += len(group.rows)
        if self.absent_status is not None and self.node_count > explicit:
            for reason in self.absent_status.reasons:
                reasons[reason] += self.node_count - explicit
        return reasons


def diagnose(
    prepared: PreparedClass, columns: NodeColumns, respected: RespectedPods | None = None
) -> Diagnosis:
    """Ask the plugins, in order, why each Node was rejected. O(plugins x N)."""
    return diagnose_all(prepared, columns, respected)[0]


def diagnose_all(
    prepared: PreparedClass, columns: NodeColumns, respected: RespectedPods | None = None
) -> tuple[Diagnosis, RowArray]:
    """Diagnose, and give the rows of the Nodes that pass, ascending."""
    rows: RowArray = np.flatnonzero(columns.live)
    if prepared.rejection is not None:
        diagnosis = _pre_filter_diagnosis(prepared, prepared.rejection, columns.node_count)
        return diagnosis, rows[:0]
    if prepared.node_names is not None:
        rows = np.intersect1d(rows, columns.rows_of(prepared.node_names))
    groups: list[NodeGroup] = []
    rows = ask_all(prepared.filters, respected, columns, rows, groups)
    statuses = [group.status for group in groups]
    diagnosis = Diagnosis(
        node_count=columns.node_count,
        groups=tuple(groups),
        absent_status=prepared.node_names_status,
        unschedulable_plugins=frozenset(prepared.restricting) | _plugins(statuses, pending=False),
        pending_plugins=_plugins(statuses, pending=True),
    )
    return diagnosis, rows


def _pre_filter_diagnosis(prepared: PreparedClass, rejection: Status, node_count: int) -> Diagnosis:
    # Plugins that leave no Node together have rejected the Pod without a status of their own.
    own = {rejection.plugin} if rejection.plugin else set()
    return Diagnosis(
        node_count=node_count,
        absent_status=rejection,
        pre_filter_message=rejection.message,
        unschedulable_plugins=frozenset(prepared.restricting) | own,
    )


def _plugins(statuses: Iterable[Status], *, pending: bool) -> frozenset[str]:
    return frozenset(s.plugin for s in statuses if (s.code is Code.PENDING) == pending)
