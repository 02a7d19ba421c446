"""Carries out `RunPreBind`: the payload's type decides which handler does the work.

Some Pods' work is done at once, the rest queues. Each effect has exactly one outcome,
`PreBindFinished`, also when the process ends or may no longer be leading: work that was not
begun by then is never begun. `RunCleanup` is carried out likewise, but nobody waits for it:
what goes wrong is logged.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

from kubeio.logs import fields
from scheduler_svc.core.effects import RunCleanup, RunPreBind
from scheduler_svc.core.events import PreBindFinished
from scheduler_svc.shell.workers import Workers

PreBindHandler = Callable[[Any], Awaitable[str]]
"""Carries out one effect; gives what went wrong, "" for success. Must end on its own."""

CONCURRENCY: Final = 16
_logger = logging.getLogger(__name__)
DRY_RUN: Final = "nothing is written in a dry run"
_STOPPING: Final = "this replica is stopping"
_NOT_LEADING: Final = "another replica may be leading"


class PreBindDispatcher:
    """Runs handlers, so many at once; an async context manager that owns its tasks.

    Parameters
    ----------
    handlers
        By the type of the payload.
    report
        Takes the outcomes.
    may_write
        Whether this replica is surely the leader; asked before each handler is run.
    """

    def __init__(
        self,
        handlers: Mapping[type[Any], PreBindHandler],
        *,
        report: Callable[[PreBindFinished], None],
        may_write: Callable[[], bool],
        concurrency: int = CONCURRENCY,
        dry_run: bool = False,
    ) -> None:
        self._handlers = dict(handlers)
        self._report = report
        self._may_write = may_write
        self._is_dry_run = dry_run
        self._is_stopping = False
        self._queue: deque[RunPreBind | RunCleanup] = deque()
        self._workers = Workers(self, self._carry_out, limit=lambda: concurrency)

    def __len__(self) -> int:
        """Count the Pods whose work is queued or being done."""
        return len(self._queue) + len(self._workers)

    async def __aenter__(self) -> Self:
        await self._workers.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_stopping = True
        try:
            await self._workers.__aexit__(kind, error, trace)
        finally:
            self._give_up_queue()

    def submit(self, effect: RunPreBind | RunCleanup) -> None:
        """Begin, or queue if as many as the limit allows are under way."""
        if self._is_dry_run:
            self._finish(effect, DRY_RUN)
        elif self._is_stopping:
            self._finish(effect, _STOPPING)
        elif type(effect.payload) not in self._handlers:
            kind = type(effect.payload).__name__
            self._finish(effect, f"this scheduler has nobody to carry out a {kind}")
        else:
            self._queue.append(effect)
            self._workers.wake()

    async def drain(self, timeout_seconds: float) -> None:
        """Begin nothing more; wait for what is under way, for so long."""
        self._is_stopping = True
        self._give_up_queue()
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._workers.wait_idle()
        except TimeoutError:
            self._workers.cancel()
            await self._workers.wait_idle()

    def has_work(self) -> bool:
        """Tell whether a Pod waits for its turn (for `Workers`)."""
        return bool(self._queue)

    def take(self) -> RunPreBind | RunCleanup:
        """Give the Pod that has waited longest (for `Workers`)."""
        return self._queue.popleft()

    def _give_up_queue(self) -> None:
        while self._queue:
            self._finish(self._queue.popleft(), _STOPPING)

    async def _carry_out(self, effect: RunPreBind | RunCleanup) -> None:
        if not self._may_write():
            self._finish(effect, _NOT_LEADING)
            return
        error = f"{_STOPPING}, and the work was cut short"
        try:
            error = await self._handlers[type(effect.payload)](effect)
        finally:  # also when cancelled: every effect has its event
            self._finish(effect, error)

    def _finish(self, effect: RunPreBind | RunCleanup, error: str) -> None:
        if isinstance(effect, RunCleanup):
            if error:
                text = "could not undo a plugin's work"
                more = fields(pod=effect.pod.key, plugin=effect.plugin, error=error)
                _logger.warning(text, extra=more)
            return
        self._report(PreBindFinished(effect.pod.uid, effect.plugin, error))
