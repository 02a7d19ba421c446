"""Writes the Events that users read to learn what happened to their Pods.

::

    submit ─▶ queue: folded, bounded ─▶ pace ─▶ series: new, or counted? ─▶ POST or PATCH

Events never hold up Bindings: they wait in a queue of their own, and while Bindings are in
progress only as many are written as it takes for none to be more than 30 s late
(`event_pacing`). Once it is quiet, the rest follows at full speed.

Nothing is written twice: a POST whose answer was lost is sent again under the same name,
and then "already exists" means that it had been written. What is dropped, for want of
room or since the server will not have it, is counted, and warned of once a minute.
Cost: under 100 µs of CPU an Event.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self
from zlib import crc32

import msgspec

from kubeio.backoff import Backoff, Jitter
from kubeio.client import STRATEGIC_MERGE_PATCH
from kubeio.writes import WritePool
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import RecordEvent
from scheduler_svc.shell.clock import read_now
from scheduler_svc.shell.writes.binding_activity import BindingActivity
from scheduler_svc.shell.writes.complaints import Complaints
from scheduler_svc.shell.writes.event_pacing import EventPace
from scheduler_svc.shell.writes.event_queue import Enqueued, EventQueue
from scheduler_svc.shell.writes.event_request import collection_path, encode_event, encode_series
from scheduler_svc.shell.writes.event_series import EventSeries, EventWrite
from scheduler_svc.shell.writes.workers import Workers
from scheduler_svc.shell.writes.write_outcome import WriteOutcome, WriteVerdict, settle

CONCURRENCY: Final = 16
TRY_COUNT: Final = 12
TIMEOUT_SECONDS: Final = 10.0
RETRY_FIRST_SECONDS: Final = 0.2
RETRY_LIMIT_SECONDS: Final = 10.0
SWEEP_SECONDS: Final = 60.0

_logger = logging.getLogger(__name__)


class RecorderStatistics(msgspec.Struct, frozen=True):
    """Counts since the start; the first two are of now.

    `written_counts` is by what was written: ``created``, ``series``. `folded_count` is of
    Events that were counted into another. `dropped_counts` is by reason: ``queue full``,
    ``namespace gone``, ``rejected``, ``failed``, ``stopped``.
    """

    queued_count: int
    oldest_seconds: float
    written_counts: dict[str, int]
    folded_count: int
    dropped_counts: dict[str, int]


class _Dropped(msgspec.Struct, frozen=True):
    reason: str
    text: str = ""


_CREATE_REASONS: Final = {
    WriteVerdict.NOT_FOUND: "namespace gone",
    WriteVerdict.CONFLICT: "rejected",
    WriteVerdict.REJECTED: "rejected",
    WriteVerdict.FAILED: "failed",
}


class EventRecorder:
    """Carries out `RecordEvent`; an async context manager that owns its tasks.

    Parameters
    ----------
    hostname
        For reportingInstance.
    activity
        Says whether Bindings are in progress.
    """

    def __init__(
        self,
        pool: WritePool,
        *,
        hostname: str,
        activity: BindingActivity,
        queue: EventQueue | None = None,
        dry_run: bool = False,
        clock: Callable[[], Now] = read_now,
    ) -> None:
        self._pool = pool
        self._hostname = hostname
        self._activity = activity
        self._is_dry_run = dry_run
        self._clock = clock
        self._queue = EventQueue() if queue is None else queue
        self._pace = EventPace()
        self._series = EventSeries()
        # Decided and not begun: what series have to say when they end or are refreshed.
        self._writes: deque[EventWrite] = deque()
        self._workers = Workers(self, self._carry_out, limit=lambda: CONCURRENCY)
        self._dropped = Complaints(
            _logger, "Dropped events", expected=frozenset({"namespace gone"})
        )
        self._written_counts: Counter[str] = Counter()
        self._folded_count = 0
        self._is_hurrying = False
        self._is_closed = False
        self._next_timer: asyncio.TimerHandle | None = None
        self._sweep_timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        await self._workers.__aenter__()
        self.sweep()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_closed = True
        for timer in (self._next_timer, self._sweep_timer):
            if timer is not None:
                timer.cancel()
        try:
            await self._workers.__aexit__(kind, error, trace)
        finally:
            self._drop_queue()
            self._dropped.close()

    def submit(self, effect: RecordEvent) -> None:
        """Queue; never waits."""
        if self._is_dry_run:
            return
        if self._is_closed:
            self._dropped.add("stopped")
            return
        match self._queue.put(effect, self._clock()):
            case Enqueued.ADDED:
                self._workers.wake()
            case Enqueued.FOLDED:
                self._folded_count += 1
            case Enqueued.REFUSED:
                self._dropped.add("queue full")

    async def drain(self, timeout_seconds: float) -> None:
        """Write what is queued at full speed, for so long, and end all series."""
        self._is_hurrying = True
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._finish_work()
                self._writes.extend(self._series.end_all(self._clock()))
                await self._finish_work()
        except TimeoutError:
            self._is_closed = True
            self._drop_queue()
            self._workers.cancel()
            await self._workers.wait_idle()

    @property
    def in_flight_count(self) -> int:
        """Events being written."""
        return len(self._workers)

    def statistics(self) -> RecorderStatistics:
        """Count."""
        return RecorderStatistics(
            queued_count=len(self._queue) + len(self._writes),
            oldest_seconds=self._queue.oldest_age_seconds(self._clock()),
            written_counts=dict(self._written_counts),
            folded_count=self._folded_count,
            dropped_counts=dict(self._dropped.counts),
        )

    def has_work(self) -> bool:
        """Tell whether something may be written now (for `Workers`)."""
        if self._writes:
            return True
        if not self._queue:
            return False
        delay_seconds = self._delay_seconds()
        if delay_seconds > 0 and self._next_timer is None:
            loop = asyncio.get_running_loop()
            self._next_timer = loop.call_later(delay_seconds, self._look_again)
        return delay_seconds == 0

    def take(self) -> list[EventWrite]:
        """Give what is to be written for what has waited longest (for `Workers`)."""
        if self._writes:
            return [self._writes.popleft()]
        now = self._clock()
        self._pace.sent(
            now.monotonic_seconds,
            backlog_count=len(self._queue),
            oldest_age_seconds=self._queue.oldest_age_seconds(now),
        )
        pending = self._queue.take()
        writes = self._series.observe(
            pending.effect, pending.count, first=pending.first, last=pending.last
        )
        if not any(write.is_new for write in writes):
            self._folded_count += 1
        return writes

    def _delay_seconds(self) -> float:
        quiet_in_seconds = self._activity.quiet_in_seconds()
        if self._is_hurrying or quiet_in_seconds == 0:
            return 0.0
        now = self._clock()
        delay_seconds = self._pace.delay_seconds(
            now.monotonic_seconds,
            backlog_count=len(self._queue),
            oldest_age_seconds=self._queue.oldest_age_seconds(now),
        )
        return min(delay_seconds, quiet_in_seconds)

    def _look_again(self) -> None:
        self._next_timer = None
        self._workers.wake()

    def sweep(self) -> None:
        """End or refresh the series for which it is time; called once a minute."""
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        loop = asyncio.get_running_loop()
        self._sweep_timer = loop.call_later(SWEEP_SECONDS, self.sweep)
        self._writes.extend(self._series.due(self._clock()))
        self._workers.wake()

    async def _finish_work(self) -> None:
        while self._queue or self._writes or len(self._workers):
            self._workers.wake()
            await self._workers.wait_idle()

    def _drop_queue(self) -> None:
        self._writes.clear()
        while self._queue:
            self._queue.take()
            self._dropped.add("stopped")

    async def _carry_out(self, writes: list[EventWrite]) -> None:
        for write in writes:
            dropped: _Dropped | None = _Dropped("stopped")
            try:
                dropped = await (self._create(write) if write.is_new else self._update(write))
            finally:  # also when cancelled
                if dropped is not None:
                    self._dropped.add(dropped.reason, dropped.text)

    async def _create(self, write: EventWrite) -> _Dropped | None:
        outcome, try_count = await _persist(self._post, write, {WriteVerdict.FAILED})
        match outcome.verdict:
            case WriteVerdict.CONFLICT if try_count > 1:
                pass  # an earlier try had been carried out
            case WriteVerdict.WRITTEN:
                pass
            case verdict:
                return _Dropped(_CREATE_REASONS[verdict], outcome.message)
        self._written_counts["created"] += 1
        return None

    async def _update(self, write: EventWrite) -> _Dropped | None:
        again = {WriteVerdict.FAILED, WriteVerdict.CONFLICT}
        outcome, _ = await _persist(self._patch, write, again)
        match outcome.verdict:
            case WriteVerdict.WRITTEN:
                self._written_counts["series"] += 1
                return None
            case WriteVerdict.NOT_FOUND:
                # The API server forgets Events, after an hour by default.
                return await self._create(write)
            case WriteVerdict.REJECTED:
                return _Dropped("rejected", outcome.message)
            case _:
                return _Dropped("failed", outcome.message)

    async def _post(self, write: EventWrite) -> WriteOutcome:
        body = encode_event(
            write.effect,
            name=write.name,
            hostname=self._hostname,
            event_time_seconds=write.event_time_seconds,
            count=write.count,
            last_observed_seconds=write.last_observed_seconds,
        )
        return await settle(
            self._pool.post(
                collection_path(write.effect.pod),
                body,
                resource="events",
                timeout_seconds=TIMEOUT_SECONDS,
            )
        )

    async def _patch(self, write: EventWrite) -> WriteOutcome:
        return await settle(
            self._pool.patch(
                f"{collection_path(write.effect.pod)}/{write.name}",
                encode_series(write.count, write.last_observed_seconds),
                resource="events",
                content_type=STRATEGIC_MERGE_PATCH,
                timeout_seconds=TIMEOUT_SECONDS,
            )
        )


async def _persist(
    send: Callable[[EventWrite], Awaitable[WriteOutcome]],
    write: EventWrite,
    again: set[WriteVerdict],
) -> tuple[WriteOutcome, int]:
    """Send while the verdict is one of `again`; give the last outcome and the number of tries."""
    outcome = await send(write)
    try_count = 1
    if outcome.verdict in again:
        backoff = Backoff(
            Jitter(crc32(write.name.encode())),
            first_seconds=RETRY_FIRST_SECONDS,
            limit_seconds=RETRY_LIMIT_SECONDS,
        )
        while outcome.verdict in again and try_count < TRY_COUNT:
            await asyncio.sleep(backoff.next_delay(outcome.retry_after_seconds))
            outcome = await send(write)
            try_count += 1
    return outcome, try_count
