"""Tells in a Pod's status why it waits, and on which Node it may hope to run.

That is the PodScheduled=False condition and nominatedNodeName, in one patch where both change.

Off the binding path, with a queue of its own that keeps the newest of each for each Pod, and
one patch at a time while Bindings are in progress. At most one patch of a Pod is on its
way, so an older text never overwrites a newer one.

A Pod that is about to be bound must not get the condition any more, since it would
overwrite the PodScheduled=True that comes with the Binding: `withdraw` drops what waits,
and makes the binder wait for what is on its way.

What cannot be written is dropped after some tries; the next attempt of the Pod finds its
condition unchanged and asks again.

Source: pkg/scheduler/schedule_one.go (`updatePod`) and pkg/api/v1/pod/util.go
(`UpdatePodCondition`), v1.36.3.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Final, Self
from zlib import crc32

import msgspec

from kubeio.backoff import Backoff, Jitter
from kubeio.client import STRATEGIC_MERGE_PATCH
from kubeio.writes import WritePool
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import PatchNomination, PatchPodCondition, PodReference
from scheduler_svc.shell.clock import read_now
from scheduler_svc.shell.timestamps import format_time
from scheduler_svc.shell.writes.binding_activity import BindingActivity
from scheduler_svc.shell.writes.binding_request import pod_path
from scheduler_svc.shell.writes.complaints import Complaints
from scheduler_svc.shell.writes.workers import Workers
from scheduler_svc.shell.writes.write_outcome import WriteVerdict, settle

QUEUE_LIMIT: Final = 20_000
CONCURRENCY: Final = 4
TRY_COUNT: Final = 6
TIMEOUT_SECONDS: Final = 10.0
RETRY_FIRST_SECONDS: Final = 0.2
_REMEMBERED_UIDS: Final = 20_000
_OTHER_POD: Final = "metadata.uid: Invalid value"
"""What the API server (1.36.3) says to a patch with another uid than the Pod's."""

_logger = logging.getLogger(__name__)


class PatcherStatistics(msgspec.Struct, frozen=True):
    """Counts since the start, but for the first, which is of now.

    `dropped_counts` is by reason: ``queue full``, ``pod gone``, ``withdrawn``,
    ``rejected``, ``failed``, ``stopped``.
    """

    queued_count: int
    written_count: int
    dropped_counts: dict[str, int]


class _Condition(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    type: str
    status: str
    reason: str
    message: str
    last_transition_time: str = ""
    observed_generation: int = 0


class _Patch(msgspec.Struct, frozen=True):
    """What to write: a condition, a nomination, None for what is not new."""

    pod: PodReference
    condition: PatchPodCondition | None = None
    nominated_node_name: str | None = None

    def over(self, older: "_Patch | None") -> "_Patch":
        """Give the patch that writes both, and where they are at odds this one."""
        if older is None:
            return self
        nominated = self.nominated_node_name
        return _Patch(
            self.pod,
            self.condition or older.condition,
            older.nominated_node_name if nominated is None else nominated,
        )


class _Dropped(msgspec.Struct, frozen=True):
    reason: str
    text: str = ""


class _Flight:
    """A patch on its way, and a newer one that waits for it."""

    def __init__(self) -> None:
        self.withdrawn = asyncio.Event()
        self.landed = asyncio.Event()
        self.next: _Patch | None = None


class ConditionPatcher:
    """Carries out `PatchPodCondition` and `PatchNomination`.

    An async context manager that owns its tasks.
    """

    def __init__(
        self,
        pool: WritePool,
        *,
        activity: BindingActivity,
        queue_limit: int = QUEUE_LIMIT,
        dry_run: bool = False,
        clock: Callable[[], Now] = read_now,
    ) -> None:
        self._pool = pool
        self._activity = activity
        self._queue_limit = queue_limit
        self._is_dry_run = dry_run
        self._clock = clock
        self._queue: OrderedDict[str, _Patch] = OrderedDict()
        self._flights: dict[str, _Flight] = {}
        # Pods whose condition is False by our own doing: its transition is in the past.
        self._unscheduled: OrderedDict[str, None] = OrderedDict()
        self._workers = Workers(self, self._carry_out, limit=self._concurrency)
        self._dropped = Complaints(
            _logger, "Dropped pod conditions", expected=frozenset({"pod gone", "withdrawn"})
        )
        self._is_closed = False
        self._written_count = 0

    async def __aenter__(self) -> Self:
        await self._workers.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_closed = True
        try:
            await self._workers.__aexit__(kind, error, trace)
        finally:
            self._drop_queue()
            self._dropped.close()

    def submit(self, effect: PatchPodCondition | PatchNomination) -> None:
        """Queue, in place of an older one of the same Pod."""
        if not self._is_dry_run:
            self._add(_patch_of(effect))

    def _add(self, patch: _Patch) -> None:
        uid = patch.pod.uid
        if self._is_closed:
            self._dropped.add("stopped")
        elif (flight := self._flights.get(uid)) is not None:
            flight.next = patch.over(flight.next)
        elif uid not in self._queue and len(self._queue) >= self._queue_limit:
            self._dropped.add("queue full")
        else:
            self._queue[uid] = patch.over(self._queue.get(uid))
            self._workers.wake()

    def withdraw(self, uid: str) -> Awaitable[None] | None:
        """Drop what waits for a Pod, and forget the Pod.

        Returns
        -------
        Awaitable or None
            What to wait for, if a patch is on its way.
        """
        self._unscheduled.pop(uid, None)
        if self._queue.pop(uid, None) is not None:
            self._dropped.add("withdrawn")
        flight = self._flights.get(uid)
        if flight is None:
            return None
        flight.withdrawn.set()
        flight.next = None
        return _landed(flight)

    async def drain(self, timeout_seconds: float) -> None:
        """Write what is queued, for so long; drop the rest."""
        try:
            async with asyncio.timeout(timeout_seconds):
                while self._queue or self._flights:
                    self._workers.wake()
                    await self._workers.wait_idle()
        except TimeoutError:
            self._is_closed = True
            self._drop_queue()
            self._workers.cancel()
            await self._workers.wait_idle()

    def statistics(self) -> PatcherStatistics:
        """Count."""
        return PatcherStatistics(
            queued_count=len(self._queue),
            written_count=self._written_count,
            dropped_counts=dict(self._dropped.counts),
        )

    def has_work(self) -> bool:
        """Tell whether a patch waits for its turn (for `Workers`)."""
        return bool(self._queue)

    def take(self) -> _Patch:
        """Give the patch that has waited longest (for `Workers`)."""
        uid, patch = self._queue.popitem(last=False)
        self._flights[uid] = _Flight()
        return patch

    def _concurrency(self) -> int:
        return CONCURRENCY if self._activity.quiet_in_seconds() == 0 else 1

    def _drop_queue(self) -> None:
        while self._queue:
            self._queue.popitem()
            self._dropped.add("stopped")

    async def _carry_out(self, patch: _Patch) -> None:
        uid = patch.pod.uid
        flight = self._flights[uid]
        dropped: _Dropped | None = _Dropped("stopped")
        try:
            dropped = await self._write(patch, flight)
        finally:  # also when cancelled
            del self._flights[uid]
            flight.landed.set()
            if dropped is not None:
                self._dropped.add(dropped.reason, dropped.text)
            if flight.next is not None:
                # With what could not be written and is still true.
                is_lost = dropped is not None and dropped.reason == "failed"
                self._add(flight.next.over(patch if is_lost else None))

    async def _write(self, patch: _Patch, flight: _Flight) -> _Dropped | None:
        """Patch until it is written, or hopeless."""
        backoff: Backoff | None = None
        text = ""
        for _ in range(TRY_COUNT):
            if flight.withdrawn.is_set():
                return _Dropped("withdrawn")
            outcome = await settle(
                self._pool.patch(
                    f"{pod_path(patch.pod)}/status",
                    self._encode(patch),
                    resource="pods/status",
                    content_type=STRATEGIC_MERGE_PATCH,
                    timeout_seconds=TIMEOUT_SECONDS,
                )
            )
            text = outcome.message
            match outcome.verdict:
                case WriteVerdict.WRITTEN:
                    self._note_written(patch, flight)
                    return None
                case WriteVerdict.NOT_FOUND:
                    return _Dropped("pod gone")
                case WriteVerdict.REJECTED if _OTHER_POD in text:
                    return _Dropped("pod gone")
                case WriteVerdict.REJECTED:
                    return _Dropped("rejected", text)
            backoff = backoff or _backoff_of(patch)
            await _pause(flight, backoff.next_delay(outcome.retry_after_seconds))
        return _Dropped("failed", text)

    def _note_written(self, patch: _Patch, flight: _Flight) -> None:
        self._written_count += 1
        if flight.withdrawn.is_set() or patch.condition is None:
            return
        self._unscheduled[patch.pod.uid] = None
        if len(self._unscheduled) > _REMEMBERED_UIDS:
            self._unscheduled.popitem(last=False)

    def _encode(self, patch: _Patch) -> bytes:
        status: dict[str, Any] = {}
        if patch.condition is not None:
            told = patch.condition
            condition = _Condition("PodScheduled", "False", told.reason, told.message)
            condition.observed_generation = told.generation
            if told.is_transition and patch.pod.uid not in self._unscheduled:
                condition.last_transition_time = format_time(self._clock().wall_seconds)
            status["conditions"] = [condition]
        if patch.nominated_node_name is not None:
            # A field that is null is one that is taken away.
            status["nominatedNodeName"] = patch.nominated_node_name or None
        return msgspec.json.encode({"metadata": {"uid": patch.pod.uid}, "status": status})


def _patch_of(effect: PatchPodCondition | PatchNomination) -> _Patch:
    if isinstance(effect, PatchNomination):
        return _Patch(effect.pod, nominated_node_name=effect.nominated_node_name)
    return _Patch(effect.pod, effect, effect.nominated_node_name)


async def _landed(flight: _Flight) -> None:
    await flight.landed.wait()


async def _pause(flight: _Flight, seconds: float) -> None:
    """Wait, but no longer than until the patch is withdrawn."""
    try:
        async with asyncio.timeout(seconds):
            await flight.withdrawn.wait()
    except TimeoutError:
        return


def _backoff_of(patch: _Patch) -> Backoff:
    seed = crc32(patch.pod.uid.encode())
    return Backoff(Jitter(seed), first_seconds=RETRY_FIRST_SECONDS)
