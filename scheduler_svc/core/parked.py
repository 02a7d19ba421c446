"""Attempts that wait for extenders, while other Pods are being decided.

A parked Pod stays in flight in the queue, so that it makes no other attempt and misses no
event. Whatever becomes of it meanwhile shows when the answer comes, which it always does.
"""

from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.clock import Now
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.events import ExtenderAnswer, ExtendersAnswered
from scheduler_svc.core.extenders import EXTENDER, Extender
from scheduler_svc.core.framework.diagnosis import Diagnosis, diagnose_all
from scheduler_svc.core.framework.filtering import NodeGroup
from scheduler_svc.core.framework.nominated import RespectedPods
from scheduler_svc.core.framework.post_filter import PostFilterResult
from scheduler_svc.core.framework.prepared_class import PreparedClass
from scheduler_svc.core.framework.stopwatch import Stopwatch
from scheduler_svc.core.preemption import AskedVictims
from scheduler_svc.core.queue import QueuedPodInfo
from scheduler_svc.core.status import Code, Status

_NO_REASON: Final = None


class ParkedPreemption(msgspec.Struct, frozen=True):
    """What the attempt had found when a PostFilter came to ask extenders, and what they say."""

    prepared: PreparedClass
    diagnosis: Diagnosis
    begun: PostFilterResult
    victims: AskedVictims


class ParkedAttempt(msgspec.Struct, eq=False):
    """One attempt; `ticket` is that of the question it waits for.

    `extenders` filter or prioritize Nodes for the Pod. `asked` are the Nodes of the question,
    `rejected` those that extenders have left out so far, with a status if they gave a reason.
    `stopwatch` measures plugins until the attempt is parked.
    """

    queued: QueuedPodInfo
    begun: Now
    extenders: list[Extender]
    ticket: int = 0
    asked: tuple[str, ...] = ()
    rejected: dict[str, Status | None] = {}
    preemption: ParkedPreemption | None = None
    stopwatch: Stopwatch | None = None

    def take(self, answer: ExtendersAnswered) -> None:
        """Note which Nodes are out, and why."""
        rejected: dict[str, Status | None] = dict.fromkeys(self.asked, _NO_REASON)
        for name in answer.passing:
            rejected.pop(name, None)
        for reasons, code in (
            (answer.failed, Code.UNSCHEDULABLE),
            (answer.unresolvable, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
        ):
            # Hundreds of Nodes have a handful of reasons.
            statuses = {text: Status(code, (text,), EXTENDER) for text in set(reasons.values())}
            for name in rejected.keys() & reasons.keys():
                rejected[name] = statuses[reasons[name]]
        self.rejected |= rejected

    def diagnose(
        self, prepared: PreparedClass, columns: NodeColumns, respected: RespectedPods | None
    ) -> Diagnosis:
        """Say why each Node was rejected, by plugins or by extenders."""
        diagnosis, rows = diagnose_all(prepared, columns, respected)
        if not self.rejected:
            return diagnosis
        by_status: dict[Status, list[int]] = {}
        for row in rows.tolist():
            status = self.rejected.get(columns.names[row])
            if status is not None:
                by_status.setdefault(status, []).append(row)
        groups = [NodeGroup(status, np.array(r, dtype=np.intp)) for status, r in by_status.items()]
        return msgspec.structs.replace(
            diagnosis,
            groups=(*diagnosis.groups, *groups),
            unschedulable_plugins=diagnosis.unschedulable_plugins | {EXTENDER},
        )


class ParkedAttempts:
    """All attempts that wait for an answer, by uid."""

    def __init__(self) -> None:
        self._attempts: dict[str, ParkedAttempt] = {}
        self._last_ticket = 0

    def __len__(self) -> int:
        return len(self._attempts)

    def park(self, attempt: ParkedAttempt) -> int:
        """Keep an attempt; give the ticket of its question."""
        self._last_ticket += 1
        attempt.ticket = self._last_ticket
        attempt.stopwatch = None
        self._attempts[attempt.queued.pod.uid] = attempt
        return attempt.ticket

    def take(self, answer: ExtenderAnswer) -> ParkedAttempt | None:
        """Give up the attempt that an answer is for; None if nobody waits for it."""
        attempt = self._attempts.get(answer.uid)
        if attempt is None or attempt.ticket != answer.ticket:
            return None
        return self._attempts.pop(answer.uid)

    def withdraw(self, uid: str) -> ParkedAttempt | None:
        """Give up a Pod's attempt, whose answer will be for nobody; None if it waits for none."""
        return self._attempts.pop(uid, None)
