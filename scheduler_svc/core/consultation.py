"""What extenders are asked about Nodes, and the choice among those that they leave over.

They are asked about so many Nodes on which the Pod fits as kube-scheduler would look at,
beginning somewhere else each time. If none of these is left, they are asked about others.

Source: pkg/scheduler/schedule_one.go (`findNodesThatPassExtenders`, `prioritizeNodes`,
`evaluateNominatedNode`), v1.36.3. Difference: upstream gives up after the first Nodes.
"""

from zlib import crc32

import numpy as np

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.effects import AskExtenders, PodReference
from scheduler_svc.core.events import ExtendersAnswered
from scheduler_svc.core.extenders import Extenders
from scheduler_svc.core.framework.evaluation import INFEASIBLE, TotalArray
from scheduler_svc.core.framework.prepared_class import PreparedClass
from scheduler_svc.core.framework.verdict import score
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.parked import ParkedAttempt, ParkedAttempts


class Consultation:
    """Asks extenders for one profile; `seed` settles ties between Nodes."""

    def __init__(
        self,
        extenders: Extenders,
        parked: ParkedAttempts,
        cache: Cache,
        nominator: Nominator,
        seed: int,
    ) -> None:
        self.extenders = extenders
        self.parked = parked
        self._columns = cache.columns
        self._nominator = nominator
        self.seed = seed
        self._next_row = 0

    def ask(self, attempt: ParkedAttempt, totals: TotalArray) -> AskExtenders | int | None:
        """Park the attempt and give the next question; a row if nobody needs to be asked.

        None: there is no Node left to ask about. The Node that the Pod is nominated to is
        asked about first, and alone.
        """
        pod = attempt.queued.pod
        filters = tuple(e.number for e in attempt.extenders if e.filters)
        names = self._sample(attempt, totals)
        if not names:
            return None
        if len(names) == 1 and not filters:
            return self._columns.rows[names[0]]
        attempt.asked = names
        return AskExtenders(
            pod=PodReference(pod.namespace, pod.name, pod.uid),
            scheduler_name=pod.scheduler_name,
            ticket=self.parked.park(attempt),
            node_names=names,
            filters=filters,
            prioritizes=tuple(e.number for e in attempt.extenders if e.prioritizes),
            pod_version=pod.resource_version,
        )

    def _sample(self, attempt: ParkedAttempt, totals: TotalArray) -> tuple[str, ...]:
        columns, pod = self._columns, attempt.queued.pod
        own = self._nominator.node_name_of(pod.uid)
        row = columns.rows.get(own)
        if row is not None and totals[row] != INFEASIBLE and own not in attempt.rejected:
            return (own,)
        wanted_count = self.extenders.wanted_count(pod.scheduler_name, columns.node_count)
        feasible = np.flatnonzero(totals[: len(columns.infos)] != INFEASIBLE)
        if attempt.rejected:
            is_out = np.zeros(len(totals), dtype=np.bool_)
            is_out[columns.rows_of(attempt.rejected)] = True
            feasible = feasible[~is_out[feasible]]
        start = int(np.searchsorted(feasible, self._next_row))
        wanted = feasible[start : start + wanted_count].tolist()
        wanted += feasible[: min(start, wanted_count - len(wanted))].tolist()
        if len(wanted) == wanted_count:
            self._next_row = wanted[-1] + 1
        return tuple([columns.names[row] for row in wanted])

    def choose(
        self,
        attempt: ParkedAttempt,
        answer: ExtendersAnswered,
        prepared: PreparedClass,
        totals: TotalArray,
    ) -> int | None:
        """Give the best row of those that pass, and are feasible still; None if there is none."""
        columns = self._columns
        known = columns.rows_of(answer.passing)
        found = np.sort(known[totals[known] != INFEASIBLE])
        rows: list[int] = found.tolist()
        if len(rows) < 2:
            return rows[0] if rows else None
        sums = score(prepared, columns, found)[1].tolist()
        names, scores = columns.names, answer.scores
        # An extender's scores have no limits, so they are added up here.
        best = [
            plugins + scores.get(names[row], 0) for row, plugins in zip(rows, sums, strict=True)
        ]
        highest = max(best)
        equals = [row for row, total in zip(rows, best, strict=True) if total == highest]
        return equals[crc32(attempt.queued.pod.uid.encode(), self.seed) % len(equals)]
