"""Evicts the victims of preemptions: says why in their status, then deletes them.

::

    submit ─▶ queue ─▶ all victims but the last at once ─▶ the last ─▶ EvictionFinished
                              └─ one cannot be deleted: no more are, error

Each effect has exactly one outcome, also when the process ends or may no longer be leading:
then nothing more is deleted. A victim whose status cannot be patched is deleted all the
same; one that is gone already counts as evicted. What fails for now is tried again for a
while; a refusal is not.

Source: pkg/scheduler/framework/preemption/executor.go (`prepareCandidateAsync`), v1.36.3.
Difference: upstream does not delete a victim whose status it cannot patch.
"""

import asyncio
import logging
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self
from zlib import crc32

import msgspec

from kubeio.backoff import Backoff, Jitter
from kubeio.client import STRATEGIC_MERGE_PATCH
from kubeio.logs import V2, fields
from kubeio.writes import JSON, WritePool
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import EvictPods, PodReference, RecordEvent, Victim
from scheduler_svc.core.events import EvictionFinished
from scheduler_svc.shell.clock import read_now
from scheduler_svc.shell.writes.binding_request import pod_path
from scheduler_svc.shell.writes.eviction_request import (
    OTHER_POD,
    encode_deletion,
    encode_disruption,
)
from scheduler_svc.shell.writes.work_queue import WorkQueue
from scheduler_svc.shell.writes.write_outcome import WriteOutcome, WriteVerdict, settle

PREEMPTION_CONCURRENCY: Final = 16
REQUEST_CONCURRENCY: Final = 32
PATCH_TRY_COUNT: Final = 2
DELETE_TRY_COUNT: Final = 5
TIMEOUT_SECONDS: Final = 10.0
RETRY_FIRST_SECONDS: Final = 0.2
_STOPPING: Final = "this replica is stopping"
_NOT_LEADING: Final = "another replica may be leading"

_logger = logging.getLogger(__name__)


class EvictorStatistics(msgspec.Struct, frozen=True):
    """Counts of Pods since the start."""

    evicted_count: int
    gone_count: int
    failed_count: int


class Evictor:
    """Carries out `EvictPods`; an async context manager that owns its tasks.

    Parameters
    ----------
    report
        Takes the outcomes.
    record
        Takes the Event of each victim that has been evicted.
    may_evict
        Whether this replica is surely the leader; asked before each write.
    """

    def __init__(
        self,
        pool: WritePool,
        *,
        report: Callable[[EvictionFinished], None],
        record: Callable[[RecordEvent], None],
        may_evict: Callable[[], bool],
        dry_run: bool = False,
        clock: Callable[[], Now] = read_now,
    ) -> None:
        self._pool = pool
        self._report = report
        self._record = record
        self._may_evict = may_evict
        self._is_dry_run = dry_run
        self._clock = clock
        self._requests = asyncio.Semaphore(REQUEST_CONCURRENCY)
        self._work = WorkQueue(
            self._carry_out,
            give_up=lambda effect: self._finish(effect, _STOPPING),
            limit=lambda: PREEMPTION_CONCURRENCY,
        )
        self._evicted_count = self._gone_count = self._failed_count = 0

    def __len__(self) -> int:
        """Count the preemptions that are queued or being carried out."""
        return len(self._work)

    async def __aenter__(self) -> Self:
        await self._work.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._work.__aexit__(kind, error, trace)

    def submit(self, effect: EvictPods) -> None:
        """Begin, or queue if as many as the limit allows are under way."""
        if self._is_dry_run:
            for victim in effect.victims:
                _log("Would have evicted pod", effect, victim.pod)
            self._finish(effect, "")
        else:
            self._work.submit(effect)

    async def drain(self, timeout_seconds: float) -> None:
        """Begin nothing more; wait for what is under way, for so long."""
        await self._work.drain(timeout_seconds)

    def statistics(self) -> EvictorStatistics:
        """Count."""
        return EvictorStatistics(self._evicted_count, self._gone_count, self._failed_count)

    def _finish(self, effect: EvictPods, error: str) -> None:
        self._report(EvictionFinished(effect.eviction_id, error))

    async def _carry_out(self, effect: EvictPods) -> None:
        error = f"{_STOPPING}, and the eviction was cut short"
        try:
            *others, last = effect.victims
            results = await asyncio.gather(*(self._evict(effect, victim) for victim in others))
            error = next(filter(None, results), "") or await self._evict(effect, last)
        finally:  # also when cancelled: every effect has its event
            self._finish(effect, error)

    async def _evict(self, effect: EvictPods, victim: Victim) -> str:
        """Evict one Pod; gives what went wrong, "" if it is on its way or gone."""
        async with self._requests:
            patched = await self._patch(effect, victim)
            if patched.verdict is not WriteVerdict.WRITTEN and not _is_gone(patched):
                _warn("Could not tell a pod why it is evicted", victim.pod, patched.message)
            deleted = await self._delete(victim.pod)
        if deleted.verdict is WriteVerdict.WRITTEN:
            self._evicted_count += 1
            _log("Evicted pod", effect, victim.pod)
            self._record(victim.event)
            return ""
        if _is_gone(deleted):
            self._gone_count += 1
            return ""
        self._failed_count += 1
        _warn("Could not evict pod", victim.pod, deleted.message)
        return f"evicting {victim.pod.key}: {deleted.message}"

    async def _patch(self, effect: EvictPods, victim: Victim) -> WriteOutcome:
        pod = victim.pod
        body = encode_disruption(victim, effect.message, self._clock().wall_seconds)
        return await self._try(
            pod, "PATCH", f"{pod_path(pod)}/status", body, try_count=PATCH_TRY_COUNT
        )

    async def _delete(self, pod: PodReference) -> WriteOutcome:
        body = encode_deletion(pod)
        return await self._try(pod, "DELETE", pod_path(pod), body, try_count=DELETE_TRY_COUNT)

    async def _try(
        self, pod: PodReference, method: str, path: str, body: bytes, *, try_count: int
    ) -> WriteOutcome:
        """Write until it is written, or hopeless, or has been tried so often."""
        backoff = Backoff(Jitter(crc32(pod.uid.encode())), first_seconds=RETRY_FIRST_SECONDS)
        outcome = WriteOutcome(WriteVerdict.FAILED)
        for number in range(try_count):
            if number:
                await asyncio.sleep(backoff.next_delay(outcome.retry_after_seconds))
            if not self._may_evict():
                return WriteOutcome(WriteVerdict.REJECTED, _NOT_LEADING)
            outcome = await self._send(method, path, body)
            if outcome.verdict in _FINAL or _is_gone(outcome):
                break
        return outcome

    async def _send(self, method: str, path: str, body: bytes) -> WriteOutcome:
        patches = method == "PATCH"
        return await settle(
            self._pool.request(
                method,
                path,
                body,
                resource="pods/status" if patches else "pods",
                content_type=STRATEGIC_MERGE_PATCH if patches else JSON,
                timeout_seconds=TIMEOUT_SECONDS,
                may_send=self._may_evict,
            )
        )


_FINAL: Final = frozenset({WriteVerdict.WRITTEN, WriteVerdict.NOT_FOUND, WriteVerdict.REJECTED})


def _is_gone(outcome: WriteOutcome) -> bool:
    """Tell whether the Pod is there no more; another one may have its name."""
    if outcome.verdict is WriteVerdict.NOT_FOUND:
        return True
    return any(text in outcome.message for text in OTHER_POD)


def _log(text: str, effect: EvictPods, victim: PodReference) -> None:
    extra = fields(pod=victim.key, uid=victim.uid, preemptor=effect.pod.key)
    _logger.log(V2, text, extra=extra)


def _warn(text: str, pod: PodReference, reason: str) -> None:
    _logger.warning(text, extra=fields(pod=pod.key, uid=pod.uid, reason=reason))
