"""The last decisions, remembered for as long as there is room for them.

A decision is kept as bytes, some 300 of them; the oldest goes first. What each plugin gave to
the best Nodes is asked for when the decision is made, since the cluster has changed a moment
later. That costs some 50 µs, so there is a limit to the share of time it may take: beyond it
only the totals are kept.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.effects import AttemptResult, BindPod, ReportAttempt
from scheduler_svc.core.framework.cluster_evaluation import ClassEvaluation
from scheduler_svc.core.framework.evaluation import INFEASIBLE
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.shell.timestamps import format_micro_time

CAPACITY: Final = 10_000
BEST_COUNT: Final = 3
MAX_TIME_SHARE: Final = 0.01
"""Of the loop's time that may go into the shares of plugins."""


class RankedNode(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A Node that came into question; without `scores` where there was no time to ask for them."""

    name: str
    total: int
    scores: Mapping[str, int] = {}


class Decision(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """What was decided about a Pod, and why.

    Attributes
    ----------
    id
        As in the Pod's annotation; "" for an attempt that found no Node.
    time
        RFC 3339, when it was decided.
    node_name
        The chosen Node, "" for none; `best` are the best ones, the chosen one among them.
    result, message
        How the attempt ended: scheduled (so far as is known here), unschedulable or error.
    """

    pod: str
    uid: str
    time: str
    scheduler_name: str
    attempt: int
    result: str
    id: str = ""
    node_name: str = ""
    best: tuple[RankedNode, ...] = ()
    message: str = ""


class DecisionMemory:
    """Remembers decisions: `witness` is told by the core, the rest by the executor.

    Parameters
    ----------
    capacity
        How many.
    clock, wall_clock
        Monotonic seconds, and Unix time.
    """

    def __init__(
        self,
        *,
        capacity: int = CAPACITY,
        clock: Callable[[], float] = time.perf_counter,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._capacity = capacity
        self._clock = clock
        self._wall_clock = wall_clock
        self._next_asking = 0.0
        # By uid: Pods that have a Node, and are held up before their Binding.
        self._witnessed: dict[str, tuple[RankedNode, ...]] = {}
        self._kept: deque[tuple[str, str, bytes]] = deque(maxlen=capacity)
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(Decision).decode

    def __len__(self) -> int:
        return len(self._kept)

    def witness(
        self, pod: PodInfo, evaluation: ClassEvaluation, columns: NodeColumns, row: int
    ) -> None:
        """Note the best Nodes for a Pod at the moment that one of them is chosen."""
        began = self._clock()
        rows = best_rows(evaluation, row)
        totals = evaluation.totals[rows].tolist()
        names = [columns.names[r] for r in rows]
        if began < self._next_asking:
            best = tuple(map(RankedNode, names, totals))
        else:
            shares = evaluation.shares_at(columns, np.array(rows, dtype=np.intp))
            by_node = zip(*(share.tolist() for share in shares.values()), strict=True)
            scores = [dict(zip(shares, given, strict=True)) for given in by_node]
            best = tuple(map(RankedNode, names, totals, scores or [{}] * len(names)))
            took = self._clock() - began
            self._next_asking = began + took / MAX_TIME_SHARE
        while len(self._witnessed) >= self._capacity:
            del self._witnessed[next(iter(self._witnessed))]
        self._witnessed[pod.uid] = best

    def decided(self, effect: BindPod) -> None:
        """Remember that a Node was chosen."""
        self._keep(
            Decision(
                id=effect.decision_id,
                pod=effect.pod.key,
                uid=effect.pod.uid,
                time=format_micro_time(effect.decided_at_seconds),
                scheduler_name=effect.scheduler_name,
                attempt=effect.attempt,
                result=AttemptResult.SCHEDULED,
                node_name=effect.node_name,
                best=self._witnessed.pop(effect.pod.uid, ()),
            )
        )

    def failed(self, effect: ReportAttempt) -> None:
        """Remember that an attempt came to nothing."""
        self._witnessed.pop(effect.pod.uid, None)
        self._keep(
            Decision(
                pod=effect.pod.key,
                uid=effect.pod.uid,
                time=format_micro_time(self._wall_clock()),
                scheduler_name=effect.scheduler_name,
                attempt=effect.attempt,
                result=effect.result,
                node_name=effect.node_name,
                message=effect.message,
            )
        )

    def _keep(self, decision: Decision) -> None:
        self._kept.append((decision.id, decision.pod, self._encode(decision)))

    def find(self, decision_id: str) -> Decision | None:
        """Give a decision, None if it is not remembered. O(remembered), a millisecond."""
        for id_, _, encoded in reversed(self._kept):
            if id_ == decision_id and id_:
                return self._decode(encoded)
        return None

    def of_pod(self, key: str) -> Iterator[Decision]:
        """Give the decisions about a Pod of that namespace/name, the newest first."""
        for _, pod, encoded in reversed(self._kept):
            if pod == key:
                yield self._decode(encoded)


def best_rows(evaluation: ClassEvaluation, chosen: int) -> list[int]:
    """Give the rows of the chosen Node and the best others, best first. O(N).

    Of so few, a pass for each takes a fifth of the time of ``np.argpartition``.
    """
    rows, row = [chosen], chosen
    left = evaluation.totals.copy()
    while len(rows) < BEST_COUNT:
        left[row] = INFEASIBLE
        row = int(left.argmax())
        if left[row] == INFEASIBLE:
            break
        rows.append(row)
    return rows
