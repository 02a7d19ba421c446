"""Brings a group's status to what it ought to be, and tells of transitions.

A replica that does not lead judges as the leader does and writes nothing, so that its metrics
are right and it can take over at once.
"""

import logging
import time
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from kubeio.logs import V3, fields
from scheduler_svc.controller.conditions import Verdict
from scheduler_svc.controller.custom_resources import CustomResource, ObjectKey
from scheduler_svc.controller.events import EventText
from scheduler_svc.controller.holdings import HeldObject, Holdings
from scheduler_svc.controller.pod_groups.group import Group, read_group
from scheduler_svc.controller.pod_groups.judgement import Judgement, judge
from scheduler_svc.controller.pod_groups.members import Member, MemberIndex
from scheduler_svc.controller.pod_groups.status import (
    CONDITIONS,
    dropped_fields,
    status_changes,
)
from scheduler_svc.controller.pod_groups.transitions import transitions
from scheduler_svc.controller.status_writer import StatusWriter
from scheduler_svc.shell.clock import read_now
from scheduler_svc.shell.timestamps import format_time

UNDISPUTED_WRITE_COUNT: Final = 3
LONGEST_DISPUTE_SECONDS: Final = 600.0

_logger = logging.getLogger(__name__)


class _Memory(NamedTuple):
    """What is remembered of a group that its status may not say.

    Attributes
    ----------
    verdict, validity
        What the conditions say, or would say if the definition had conditions.
    written, written_at
        What was written last, and when (monotonic seconds).
    rewrite_count
        How often that was written again, since somebody else had overwritten it.
    """

    uid: str
    phase: str
    verdict: Verdict | None
    validity: Verdict | None = None
    written: Judgement | None = None
    written_at: float = 0.0
    rewrite_count: int = 0

    def rewrites(self, judgement: Judgement, now_seconds: float) -> int:
        """Count how often `judgement` will have been written again if it is written now."""
        is_old = now_seconds - self.written_at > 2 * LONGEST_DISPUTE_SECONDS
        return 0 if is_old or self.written != judgement else self.rewrite_count + 1


class PodGroupReconciler:
    """Judges groups and writes what differs.

    Parameters
    ----------
    lacking
        Fields of the status that the cluster's definition does not have, by resource; grows
        when a write shows that more are dropped.
    serves
        Whether Pods of a schedulerName are ours.
    submit_event, note_seconds
        Take Events, and the seconds from a change to its status.
    """

    def __init__(
        self,
        holdings: Holdings,
        members: MemberIndex,
        writer: StatusWriter,
        *,
        lacking: dict[CustomResource, frozenset[str]],
        serves: Callable[[str], bool],
        submit_event: Callable[[ObjectKey, str, EventText], None],
        note_seconds: Callable[[CustomResource, float], None],
    ) -> None:
        self._holdings = holdings
        self._members = members
        self._writer = writer
        self._lacking = lacking
        self._serves = serves
        self._submit_event = submit_event
        self._note_seconds = note_seconds
        self._memories: dict[ObjectKey, _Memory] = {}
        self.phases: dict[ObjectKey, str] = {}

    async def reconcile(self, key: ObjectKey, since: float) -> float | None:
        """Look at a group; see `delaying_queue.Work`."""
        held = self._holdings.get(key)
        if held is None:
            self._memories.pop(key, None)
            self.phases.pop(key, None)
            return None
        members = tuple(self._members.of(key))
        group = read_group(key.resource, held.spec, held.status, held.annotations)
        if group.is_built_in and not self._is_ours(members):
            return None
        memory = self._memory(held, group)
        group = group._replace(
            told=group.told or memory.verdict, told_valid=group.told_valid or memory.validity
        )
        now = format_time(read_now().wall_seconds)
        judgement = judge(group, members, now=now)
        self.phases[key] = str(judgement.status.phase)
        changes = status_changes(
            group,
            judgement,
            held.status.get(CONDITIONS),
            generation=held.generation,
            lacking=self._lacking.get(key.resource, frozenset()),
            now=now,
        )
        if not changes:
            self._tell(held, memory, judgement)
            return None
        if (delay_seconds := self._dispute_seconds(key, memory, judgement)) is not None:
            return delay_seconds
        written = await self._writer.write(held, changes)
        if written.held is None:
            return None
        self._note_seconds(key.resource, time.monotonic() - since)
        _logger.log(
            V3,
            "Wrote the status of a pod group",
            extra=fields(group=key, phase=self.phases[key], fields=",".join(changes)),
        )
        self._learn(key.resource, dropped_fields(changes, written.held.status))
        self._tell(held, memory, judgement, has_written=True)
        self._holdings.wrote(written.held)
        return None

    def _memory(self, held: HeldObject, group: Group) -> _Memory:
        memory = self._memories.get(held.key)
        if memory is None or memory.uid != held.uid:
            memory = _Memory(held.uid, group.status.phase, None)
        return memory._replace(
            phase=group.status.phase,
            verdict=group.told or memory.verdict,
            validity=group.told_valid or memory.validity,
        )

    def _is_ours(self, members: Collection[Member]) -> bool:
        return any(self._serves(member.scheduler_name) for member in members)

    def _learn(self, resource: CustomResource, dropped: frozenset[str]) -> None:
        """Note which fields the definition lacks: writing them again would change nothing."""
        if dropped:
            self._lacking[resource] = self._lacking.get(resource, frozenset()) | dropped
            _logger.info(
                "The definition of a resource lacks fields of the status; they are not written",
                extra=fields(resource=resource.name, fields=",".join(sorted(dropped))),
            )

    def _tell(
        self, held: HeldObject, memory: _Memory, judgement: Judgement, *, has_written: bool = False
    ) -> None:
        """Remember what is said now, and submit Events of what is new in it."""
        lacks_conditions = CONDITIONS in self._lacking.get(held.key.resource, frozenset())
        is_first_look = held.key not in self._memories
        # Without conditions nothing tells after a restart what was said before it.
        if has_written or (lacks_conditions and not is_first_look):
            for text in transitions(memory.verdict, memory.phase, judgement, memory.validity):
                self._submit_event(held.key, held.uid, text)
        memory = memory._replace(
            phase=str(judgement.status.phase),
            verdict=judgement.verdict or memory.verdict,
            validity=judgement.validity or memory.validity,
        )
        if has_written:
            now_seconds = time.monotonic()
            count = memory.rewrites(judgement, now_seconds)
            memory = memory._replace(written=judgement, written_at=now_seconds, rewrite_count=count)
        self._memories[held.key] = memory

    def _dispute_seconds(
        self, key: ObjectKey, memory: _Memory, judgement: Judgement
    ) -> float | None:
        """Give how long yet to leave alone what somebody else overwrites again and again.

        Another controller of the same resource, scheduler-plugins' own above all, has other
        phases; without this the two would write for ever.
        """
        now_seconds = time.monotonic()
        count = memory.rewrites(judgement, now_seconds) - UNDISPUTED_WRITE_COUNT
        if count <= 0:
            return None
        pause_seconds = min(2.0**count, LONGEST_DISPUTE_SECONDS)
        left_seconds = memory.written_at + pause_seconds - now_seconds
        if left_seconds <= 0:
            return None
        _logger.warning(
            "Somebody else overwrites the status of a pod group; is another controller of "
            "PodGroups running?",
            extra=fields(group=key, resource=key.resource.name, again_in_seconds=left_seconds),
        )
        return left_seconds
