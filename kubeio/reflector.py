"""Keeps a consumer's view of one resource equal to the API server's: list, then watch.

    list ──► watch ──► (ended, dropped, silent, 429, 5xx, no JSON) ──► wait ──► watch
    │ ▲        │
    │ └────────┴── 410, or the resourceVersion is refused, or the server has an older one
    └─ 404: the API server has no such group or resource ──► `Listed`, wait long ──► list

The consumer is told of changes in order, `Upserted` and `Deleted`, with a `Listed`
mark after each list. The reflector knows uid and resourceVersion of everything that
it has told of (`kubeio.known`), so a list after a gap becomes a difference: what is
gone is `Deleted`, what is unchanged is not told again, and an object made anew under
an old name is `Deleted`, then `Upserted`. Nothing is lost in a gap, however long. The log
tells of the first list at ``-v 2``, of each that a gap has made necessary always.

Lists come in pages and bursts of events in slices of a few milliseconds, so neither
memory nor the event loop is held by a large cluster. Every ending leads to a wait,
except the one that we asked for (``timeoutSeconds``) after a watch that worked.

What the API server does not serve counts as empty and is looked for again; but not the
core group, nor what was served before: there a 404 is somebody else's, and a failure.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from kubeio.backoff import Backoff, Jitter
from kubeio.changes import Listed, ReflectorEvent, ReflectorStatistics
from kubeio.decoding import BOOKMARK, OBJECT_EVENTS, ListPage, ObjectDecoder, Query
from kubeio.endings import EndingLog, reason_of
from kubeio.errors import (
    ConnectionFailedError,
    ConnectionLostError,
    ForbiddenError,
    GoneError,
    InvalidError,
    KubeError,
    NotFoundError,
    RequestTimeoutError,
    ServerError,
    UnauthorizedError,
    WatchSilentError,
)
from kubeio.known import KnownObjects
from kubeio.logs import V2, fields
from kubeio.outage import Outage
from kubeio.source import DEFAULT_TIMING, ReflectorClient, Timing

T = TypeVar("T")

SLICE_SECONDS: Final = 0.005
WORKING_WATCH_SECONDS: Final = 10.0
"""A watch that lived this long has worked, even if nothing happened."""
SHORTEST_WATCH_SECONDS: Final = 1.0
"""After a shorter one we wait, whatever it told."""
EXPIRED_LISTS_BEFORE_UNPAGED: Final = 2
"""So often a list's pages may expire under us before it is asked for in one piece."""
FRUITLESS_SECONDS_BEFORE_LIST: Final = 150.0
"""If watches have given no line for this long and end by 5xx or silence, we list again:
after the second silent one, since the first may have lacked no more than a bookmark."""
_WITHOUT_A_WORD: Final = (ConnectionFailedError, ConnectionLostError, WatchSilentError)

_logger = logging.getLogger(__name__)


class Reflector(Generic[T]):
    """Lists and watches one resource for ever.

    Parameters
    ----------
    client
        Shared with other reflectors.
    query
        What to watch, and the type to decode it into.
    deliver
        Gets every event, in order, in the event loop; must not block or raise.
    timing
        Time-outs.
    seed
        Of the jitter: give each process its own.
    outage
        Shared with other reflectors: once one is answered, all ask at once; the log tells
        once what befalls them all.
    clock
        Monotonic seconds.
    """

    def __init__(
        self,
        client: ReflectorClient,
        query: Query[T],
        deliver: Callable[[ReflectorEvent[T]], None],
        *,
        timing: Timing = DEFAULT_TIMING,
        seed: int = 0,
        outage: Outage | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._query = query
        self._deliver = deliver
        self.timing = timing
        self._clock = clock
        self._outage = outage or Outage()
        self._jitter = Jitter(seed)
        self._backoff = Backoff(
            self._jitter,
            first_seconds=timing.first_retry_seconds,
            limit_seconds=timing.longest_retry_seconds,
        )
        self._name = str(query.resource)
        self._decoder = ObjectDecoder(query)
        self._resource_version = ""
        self._list_reason = "start"
        self._may_be_rewound = False
        self._is_refused = False
        self._ended_by = ""
        self._last_line_at = clock()
        self._endings = EndingLog(self._name, clock, self._outage)
        self.statistics = ReflectorStatistics()
        self._known = KnownObjects(self._name, deliver, self.statistics)

    def last_byte_age_seconds(self) -> float | None:
        """Seconds since the server last sent anything; None before the first byte."""
        last = self.statistics.last_byte_at
        return None if last is None else self._clock() - last

    def last_event_age_seconds(self) -> float | None:
        """Seconds since the last event of an object; None before the first."""
        last = self.statistics.last_event_at
        return None if last is None else self._clock() - last

    def problem(
        self, *, max_silence_seconds: float = 120.0, max_failing_seconds: float = 15.0
    ) -> str | None:
        """Say why the view may not be relied on, None if it may: for ``/readyz``.

        Silence may last longer where nothing has failed: bookmarks come once a minute. A
        right that is missing is told of at once.
        """
        because = f": {self.statistics.last_problem}" if self.statistics.last_problem else ""
        if not self.statistics.listed:
            return f"{self._name} not listed yet{because}"
        if self._is_refused:
            return f"{self._name} may not be watched{because}"
        age = self.last_byte_age_seconds() or 0.0
        if age > (max_failing_seconds if because else max_silence_seconds):
            return f"nothing heard of {self._name} for {age:.0f} s{because}"
        return None

    async def run(self) -> None:
        """List and watch until cancelled; what goes wrong is logged and tried again."""
        while True:
            delay = await self.run_once()
            if delay > 0:
                await self._outage.pause(delay, self._ended_by, self._jitter)

    async def run_once(self) -> float:
        """List if need be, then watch until that ends; give the seconds to wait then."""
        try:
            if self._may_be_rewound and self._resource_version:
                await self._check_for_rewinding()
            if not self._resource_version:
                await self._list()
        except KubeError as error:
            if isinstance(error, NotFoundError) and self._may_be_unserved():
                return self._note_unserved()
            return self._after(error, lasted=0.0, has_moved=False)
        started, version = self._clock(), self._resource_version
        try:
            await self._watch()
        except KubeError as caught:
            error_or_none: KubeError | None = caught
        else:
            error_or_none = None
        return self._after(
            error_or_none,
            lasted=self._clock() - started,
            has_moved=self._resource_version != version,
        )

    def _after(self, error: KubeError | None, *, lasted: float, has_moved: bool) -> float:
        """Decide what an ending means, and how long to wait.

        Parameters
        ----------
        lasted
            Seconds that the watch lived; 0 where a list failed.
        has_moved
            Whether the watch told anything new, be it a bookmark.
        """
        has_worked = has_moved or lasted >= WORKING_WATCH_SECONDS
        reason = "ended" if error is None else reason_of(error)
        self._ended_by = reason
        _count(self.statistics.endings, reason)
        if has_worked:
            self._backoff.reset()
        self._forget_version_without_future(error)
        if error is None:
            self.statistics.last_problem = ""
            self._endings.tell_end(lasted)
            is_due = has_worked and lasted >= SHORTEST_WATCH_SECONDS
            return 0.0 if is_due else self._backoff.next_delay()
        delay = self._backoff.next_delay(error.retry_after_seconds)
        if isinstance(error, WatchSilentError):  # whether anything fails, the next call tells
            self._endings.tell_silence(lasted)
            return delay
        self.statistics.last_problem = str(error)
        self._is_refused = isinstance(error, ForbiddenError | UnauthorizedError)
        self._endings.tell_failure(reason, str(error), retry_in_seconds=delay)
        return delay

    def _may_be_unserved(self) -> bool:
        was_served = self.statistics.listed and not self.statistics.is_unserved
        return bool(self._query.resource.group) and not was_served and not len(self._known)

    def _note_unserved(self) -> float:
        """Count as empty what the API server does not know; give the seconds to the next look."""
        _count(self.statistics.endings, "not_found")
        self.statistics.last_byte_at = self._clock()
        self.statistics.last_problem = ""
        self._endings.forget()
        self._list_reason, self._is_refused = "unserved", False
        self._backoff.reset()
        if not self.statistics.is_unserved:
            self.statistics.is_unserved = self.statistics.listed = True
            named = fields(resource=self._name)
            _logger.log(V2, "Not served by the API server, counts as empty", extra=named)
            self._deliver(Listed(""))
        return self._jitter.between(*self.timing.unserved_seconds)

    def _forget_version_without_future(self, error: KubeError | None) -> None:
        """Make the next round list, where watching from our version leads nowhere."""
        if not self._resource_version:
            return
        self._may_be_rewound |= isinstance(error, _WITHOUT_A_WORD)
        if isinstance(error, GoneError | InvalidError):
            self._list_reason = reason_of(error)
        elif (
            isinstance(error, ServerError | RequestTimeoutError)
            and self._clock() - self._last_line_at >= FRUITLESS_SECONDS_BEFORE_LIST
        ):
            self._list_reason = "fruitless"
        else:
            return
        self._resource_version = ""

    async def _check_for_rewinding(self) -> None:
        """List anew if the server, which was away or silent, has an older past than we.

        From a version that an emptied or restored etcd has yet to reach, a watch tells of
        what happens after that, and never that all we know of is gone. Until then it is silent.
        Where nothing is wrong, to ask makes the server's watch cache catch up: the next watch
        has bookmarks again (`kubeio.source.Timing`).
        """
        response = await self._client.call(
            "GET",
            self._query.resource.collection,
            params={**self._query.parameters(), "limit": "1"},
            timeout_seconds=self.timing.page_seconds,
        )
        self.statistics.last_byte_at = self._clock()
        version = self._decoder.page(response.body).metadata.resource_version
        self._may_be_rewound = False
        if _is_older(version, self._resource_version):
            self._list_reason = "rewound"
            self._resource_version = ""

    async def _list(self) -> None:
        """List everything, page by page, and tell the difference."""
        started = self._clock()
        _count(self.statistics.lists, self._list_reason)
        version = await self._list_pages_until_complete()
        self._known.end_list()
        self._resource_version = version
        self._last_line_at = self._clock()
        self.statistics.listed = True
        self.statistics.last_problem = ""
        self.statistics.is_unserved = self._is_refused = False
        _logger.log(
            V2 if self._list_reason == "start" else logging.INFO,
            "Listed a resource",
            extra=fields(
                resource=self._name,
                count=len(self._known),
                resource_version=version,
                seconds=round(self._clock() - started, 2),
            ),
        )
        self._deliver(Listed(version))

    async def _list_pages_until_complete(self) -> str:
        """List from the start whenever a continue token has outlived etcd's history.

        The pages so far are then of a state that nobody can complete. A list that is
        always slower than the history is long gets asked for in one piece.
        """
        for _ in range(EXPIRED_LISTS_BEFORE_UNPAGED):
            try:
                return await self._list_pages(self._query.page_size)
            except GoneError:
                _count(self.statistics.endings, "expired")
        return await self._list_pages(0)

    async def _list_pages(self, page_size: int) -> str:
        """Take in all pages; give the resourceVersion to watch from, the first page's.

        All pages of one list are of one state, which that version names.
        """
        self._known.begin_list()
        parameters = self._query.parameters()
        if page_size:
            parameters["limit"] = str(page_size)
        version = ""
        while True:
            response = await self._client.call(
                "GET",
                self._query.resource.collection,
                params=parameters,
                timeout_seconds=self.timing.page_seconds,
            )
            self.statistics.last_byte_at = self._clock()
            page = self._decoder.page(response.body)
            del response  # the page's items keep the bytes they need
            version = version or page.metadata.resource_version
            await self._take_page(page)
            if not page.metadata.continue_token:
                return version
            parameters["continue"] = page.metadata.continue_token

    async def _take_page(self, page: ListPage) -> None:
        # On a first list nothing is known and reading metadata first would be wasted.
        is_first = not self.statistics.listed
        slice_end = self._clock() + SLICE_SECONDS
        for item in page.items or ():
            if is_first or not self._known.is_listed_unchanged(self._decoder.metadata(item)):
                self._known.upsert(self._decoder.item(item))
            if self._clock() >= slice_end:
                await asyncio.sleep(0)
                slice_end = self._clock() + SLICE_SECONDS

    async def _watch(self) -> None:
        """Watch from the version we have until the server ends it or it fails."""
        parameters = {
            **self._query.parameters(),
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._resource_version,
            "timeoutSeconds": str(round(self._jitter.between(*self.timing.watch_seconds))),
        }
        async with self._client.stream(
            self._query.resource.collection,
            params=parameters,
            headers_timeout_seconds=self.timing.headers_seconds,
            idle_timeout_seconds=self._jitter.between(*self.timing.idle_seconds),
        ) as stream:
            self.statistics.last_byte_at = self._clock()
            self.statistics.last_problem = ""
            self._is_refused = False
            self._endings.tell_answer()
            while lines := await stream.read_lines():
                await self._take_lines(lines)

    async def _take_lines(self, lines: list[bytes]) -> None:
        now = self._clock()
        self._last_line_at = self.statistics.last_byte_at = now
        slice_end = now + SLICE_SECONDS
        for line in lines:
            if line:
                self._take_event(line)
            if self._clock() >= slice_end:
                await asyncio.sleep(0)
                slice_end = self._clock() + SLICE_SECONDS

    def _take_event(self, line: bytes) -> None:
        kind, decoded = self._decoder.event(line)
        if kind in OBJECT_EVENTS:
            self.statistics.event_count += 1
            self.statistics.last_event_at = self._clock()
            if kind == "DELETED":
                self._known.delete(decoded.metadata)
            else:
                self._known.upsert(decoded)
        elif kind != BOOKMARK:
            _logger.warning("Unknown watch event", extra=fields(resource=self._name, type=kind))
        if decoded.metadata.resource_version:
            self._resource_version = decoded.metadata.resource_version


def _count(counts: dict[str, int], reason: str) -> None:
    counts[reason] = counts.get(reason, 0) + 1


def _is_older(version: str, other: str) -> bool:
    """Whether a resourceVersion comes before another: one server's are ordered numbers."""
    return version.isdecimal() and other.isdecimal() and int(version) < int(other)
