"""Events about our custom resources, written beside what is done, never before it.

As the scheduler's own: ``events.k8s.io/v1``, names chosen by us, so that an Event whose answer
was lost can be sent again. Each is written once; a transition that happens often is a new
Event each time, so they are bounded, and what is dropped is counted.
"""

import asyncio
import logging
from collections import Counter, deque
from typing import Any, Final, NamedTuple

import msgspec

from kubeio.backoff import Backoff, Jitter
from kubeio.client import KubeClient, Lane
from kubeio.errors import ApiError, ConflictError, KubeError, ServerError, TooManyRequestsError
from kubeio.resources import ResourcePath
from scheduler_svc.controller.custom_resources import ObjectKey
from scheduler_svc.controller.defaults import CONTROLLER_NAME
from scheduler_svc.core.clock import Now
from scheduler_svc.shell.clock import read_now
from scheduler_svc.shell.timestamps import format_micro_time
from scheduler_svc.shell.writes.complaints import Complaints
from scheduler_svc.shell.writes.event_request import EventNames, reporting_instance

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
EVENTS: Final = ResourcePath("events.k8s.io", "v1", "events")
NAMESPACE_OF_CLUSTER_SCOPED: Final = "default"
"""Where Events about objects without a namespace are: kubectl describe looks there."""
QUEUE_LIMIT: Final = 5_000
CONCURRENCY: Final = 4
TRY_COUNT: Final = 6
TIMEOUT_SECONDS: Final = 10.0
_NOTE_LIMIT_BYTES: Final = 1024
"""The API's."""

_logger = logging.getLogger(__name__)


class EventText(NamedTuple):
    """What an Event says."""

    type: str
    reason: str
    action: str
    note: str


class _Pending(NamedTuple):
    key: ObjectKey
    uid: str
    text: EventText
    name: str
    at_seconds: float


class EventWriter:
    """Writes Events in the order in which they are submitted, a few at a time."""

    def __init__(self, client: KubeClient, *, hostname: str, seed: int) -> None:
        self._client = client
        self._instance = reporting_instance(CONTROLLER_NAME, hostname)
        self._seed = seed
        self._names = EventNames()
        self._queue: deque[_Pending] = deque()
        self._bell = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._busy_count = 0
        self._dropped = Complaints(
            _logger, "Dropped events", expected=frozenset({"namespace gone"})
        )
        self.written_count = 0

    @property
    def queued_count(self) -> int:
        """Events that wait or are being written."""
        return len(self._queue) + self._busy_count

    @property
    def dropped_counts(self) -> Counter[str]:
        """What was not written, by reason."""
        return self._dropped.counts

    def submit(self, key: ObjectKey, uid: str, text: EventText) -> None:
        """Queue; never waits."""
        if len(self._queue) >= QUEUE_LIMIT:
            self._dropped.add("queue full")
            return
        now: Now = read_now()
        name = self._names.next_name(key.name, now.wall_seconds)
        self._queue.append(_Pending(key, uid, text, name, now.wall_seconds))
        self._idle.clear()
        self._bell.set()

    async def run(self) -> None:
        """Write until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(CONCURRENCY):
                    group.create_task(self._work())
        finally:
            self._dropped.close()

    async def drain(self, timeout_seconds: float) -> None:
        """Wait until all is written, for so long at most; drop the rest."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._idle.wait()
        except TimeoutError:
            for _ in range(len(self._queue)):
                self._dropped.add("stopped")
            self._queue.clear()

    async def _work(self) -> None:
        while True:
            while not self._queue:
                self._bell.clear()
                await self._bell.wait()
            pending = self._queue.popleft()
            self._busy_count += 1
            try:
                await self._write(pending)
            finally:
                self._busy_count -= 1
                if not self.queued_count:
                    self._idle.set()

    async def _write(self, pending: _Pending) -> None:
        body = msgspec.json.encode(self._document(pending))
        namespace = pending.key.namespace or NAMESPACE_OF_CLUSTER_SCOPED
        path = EVENTS.in_namespace(namespace).collection
        backoff = Backoff(Jitter(self._seed), first_seconds=0.2, limit_seconds=10.0)
        for number in range(1, TRY_COUNT + 1):
            try:
                await self._client.call(
                    "POST", path, body=body, timeout_seconds=TIMEOUT_SECONDS, lane=Lane.WRITES
                )
            except KubeError as error:
                if isinstance(error, ConflictError) and number > 1:
                    break  # an earlier try had been carried out
                is_final = isinstance(error, ApiError) and not isinstance(
                    error, ServerError | TooManyRequestsError
                )
                if is_final or number == TRY_COUNT:
                    self._dropped.add(_reason(error, is_final=is_final), str(error))
                    return
                await asyncio.sleep(backoff.next_delay(error.retry_after_seconds))
            else:
                break
        self.written_count += 1

    def _document(self, pending: _Pending) -> dict[str, Any]:
        key, text = pending.key, pending.text
        regarding = {
            "apiVersion": key.resource.api_version,
            "kind": key.resource.kind,
            "name": key.name,
            "uid": pending.uid,
        }
        if key.namespace:
            regarding["namespace"] = key.namespace
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": pending.name,
                "namespace": key.namespace or NAMESPACE_OF_CLUSTER_SCOPED,
            },
            "eventTime": format_micro_time(pending.at_seconds),
            "reportingController": CONTROLLER_NAME,
            "reportingInstance": self._instance,
            "action": text.action,
            "reason": text.reason,
            "type": text.type,
            "regarding": regarding,
            "note": _fitting(text.note),
        }


def _fitting(note: str) -> str:
    """Cut a note to what the API takes: bytes, not characters."""
    encoded = note.encode()
    if len(encoded) <= _NOTE_LIMIT_BYTES:
        return note
    return encoded[: _NOTE_LIMIT_BYTES - 3].decode(errors="ignore") + "…"


def _reason(error: KubeError, *, is_final: bool) -> str:
    if not is_final:
        return "failed"
    is_gone = isinstance(error, ApiError) and error.status == 404
    # A namespace that is being deleted refuses new objects with 403.
    is_ending = isinstance(error, ApiError) and "being terminated" in error.message
    return "namespace gone" if is_gone or is_ending else "rejected"
