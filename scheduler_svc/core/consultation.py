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
        )

    def _sample(self, attempt: ParkedAttempt, totals: TotalArray) -> tuple[str, ...]:
        columns, pod = self._columns, attempt.queued.pod
        own = self._nominator.node_name_of(pod.uid)
        row = columns.rows.get(own)
        if row is not None and totals[row] != INFEASIBLE and own not in attempt.rejected:
            return (own,)
        wanted_count = self.extenders.wanted_count(pod.scheduler_name, columns.node_count)
        feasible = np.flatnonzero(totals[: len(columns.infos)] != INFEASIBLE)
        start = int(np.searchsorted(feasible, self._next_row))
        names: list[str] = []
        for row in np.roll(feasible, -start).tolist():
            if columns.names[row] not in attempt.rejected:
                names.append(columns.names[row])
                if len(names) == wanted_count:
                    self._next_row = row + 1
                    break
        return tuple(names)

    def choose(
        self,
        attempt: ParkedAttempt,
        answer: ExtendersAnswered,
        prepared: PreparedClass,
        totals: TotalArray,
    ) -> int | None:
        """Give the best row of those that pass, and are feasible still; None if there is none."""
        columns = self._columns
        known = (columns.rows.get(name) for name in answer.passing)
        found = sorted(row for row in known if row is not None and totals[row] != INFEASIBLE)
        if len(found) < 2:
            return found[0] if found else None
        sums = score(prepared, columns, np.array(found, dtype=np.intp))[1].tolist()
        best = [
            plugins + answer.scores.get(columns.names[row], 0)
            for row, plugins in zip(found, sums, strict=True)
        ]
        highest = max(best)
        equals = [row for row, total in zip(found, best, strict=True) if total == highest]
        return equals[crc32(attempt.queued.pod.uid.encode(), self.seed) % len(equals)]
