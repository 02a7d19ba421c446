"""Carries out `RunPreBind`: the payload's type decides which handler does the work.

::

    submit ─▶ what is under way for the Pod ─▶ queue of the type of work ─▶ handler ─▶ outcome

Of each type some Pods' work is done at once, the rest queues: a type that takes long keeps
no other waiting. For one Pod one thing is done at a time, in the order submitted, so that
an undo meets what it undoes and nothing later. Each effect has exactly one outcome,
`PreBindFinished`, also when the process ends or may no longer be leading: work that was not
begun by then, or that is withdrawn, is never begun. `RunCleanup` is carried out likewise,
but nobody waits for it: what goes wrong is logged.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self

from kubeio.logs import fields
from scheduler_svc.core.effects import RunCleanup, RunPreBind, WithdrawPreBind
from scheduler_svc.core.events import PreBindFinished
from scheduler_svc.shell.writes.workers import Workers

PreBindHandler = Callable[[Any], Awaitable[str]]
"""Carries out one effect; gives what went wrong, "" for success. Must end on its own."""

CONCURRENCY: Final = 16
_logger = logging.getLogger(__name__)
DRY_RUN: Final = "nothing is written in a dry run"
_STOPPING: Final = "this replica is stopping"
_NOT_LEADING: Final = "another replica may be leading"
_WITHDRAWN: Final = "withdrawn before it had begun"

Work = RunPreBind | RunCleanup


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
    concurrency
        How many Pods' work of one type is done at once; `limits` are types with other limits.
    """

    def __init__(
        self,
        handlers: Mapping[type[Any], PreBindHandler],
        *,
        report: Callable[[PreBindFinished], None],
        may_write: Callable[[], bool],
        concurrency: int = CONCURRENCY,
        limits: Mapping[type[Any], int] = MappingProxyType({}),
        dry_run: bool = False,
    ) -> None:
        self._report = report
        self._may_write = may_write
        self._is_dry_run = dry_run
        self._is_stopping = False
        self._lanes = {
            kind: _Lane(partial(self._carry_out, handler), limits.get(kind, concurrency))
            for kind, handler in handlers.items()
        }
        # By uid of each Pod for which something is queued or done: what comes after that.
        self._next: dict[str, deque[Work]] = {}
        self._stack = AsyncExitStack()

    def __len__(self) -> int:
        """Count what is queued or being done."""
        return len(self._next) + sum(map(len, self._next.values()))

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for lane in self._lanes.values():
                await stack.enter_async_context(lane.workers)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_stopping = True
        try:
            await self._stack.__aexit__(kind, error, trace)
        finally:
            self._give_up_queues()

    def submit(self, effect: Work | WithdrawPreBind) -> None:
        """Begin, queue if as many as the limit allows are under way, or withdraw."""
        if isinstance(effect, WithdrawPreBind):
            self._withdraw(effect)
        elif self._is_dry_run:
            self._finish(effect, DRY_RUN)
        elif self._is_stopping:
            self._finish(effect, _STOPPING)
        elif type(effect.payload) not in self._lanes:
            kind = type(effect.payload).__name__
            self._finish(effect, f"this scheduler has nobody to carry out a {kind}")
        elif effect.pod.uid in self._next:
            self._next[effect.pod.uid].append(effect)
        else:
            self._next[effect.pod.uid] = deque()
            self._lane(effect).add(effect)

    def _lane(self, effect: Work) -> "_Lane":
        return self._lanes[type(effect.payload)]

    def _withdraw(self, withdrawal: WithdrawPreBind) -> None:
        """Give up a Pod's work that has not begun. O(what is queued)."""
        uid, plugin = withdrawal.pod.uid, withdrawal.plugin

        def is_meant(effect: Work) -> bool:
            return (
                isinstance(effect, RunPreBind) and effect.pod.uid == uid and effect.plugin == plugin
            )

        following = self._next.get(uid, deque[Work]())
        for effect in filter(is_meant, tuple(following)):
            following.remove(effect)
            self._finish(effect, _WITHDRAWN)
        for lane in self._lanes.values():
            for effect in filter(is_meant, tuple(lane.queue)):
                lane.queue.remove(effect)
                self._go_on(uid)
                self._finish(effect, _WITHDRAWN)

    async def drain(self, timeout_seconds: float) -> None:
        """Begin nothing more; wait for what is under way, for so long."""
        self._is_stopping = True
        self._give_up_queues()
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._wait_idle()
        except TimeoutError:
            for lane in self._lanes.values():
                lane.workers.cancel()
            await self._wait_idle()

    async def _wait_idle(self) -> None:
        for lane in self._lanes.values():
            await lane.workers.wait_idle()

    def _give_up_queues(self) -> None:
        for queue in self._next.values():
            while queue:
                self._finish(queue.popleft(), _STOPPING)
        for lane in self._lanes.values():
            while lane.queue:
                effect = lane.queue.popleft()
                self._go_on(effect.pod.uid)
                self._finish(effect, _STOPPING)

    async def _carry_out(self, handler: PreBindHandler, effect: Work) -> None:
        error = f"{_STOPPING}, and the work was cut short"
        try:
            error = await handler(effect) if self._may_write() else _NOT_LEADING
        finally:  # also when cancelled: every effect has its event
            self._go_on(effect.pod.uid)
            self._finish(effect, error)

    def _go_on(self, uid: str) -> None:
        """Begin what comes next for a Pod."""
        if self._next[uid]:
            following = self._next[uid].popleft()
            self._lane(following).add(following)
        else:
            del self._next[uid]

    def _finish(self, effect: Work, error: str) -> None:
        if isinstance(effect, RunCleanup):
            if error:
                text = "could not undo a plugin's work"
                more = fields(pod=effect.pod.key, plugin=effect.plugin, error=error)
                _logger.warning(text, extra=more)
            return
        self._report(PreBindFinished(effect.pod.uid, effect.plugin, error))


class _Lane:
    """Work of one type (`WorkSource`)."""

    def __init__(self, work: Callable[[Work], Awaitable[None]], limit: int) -> None:
        self.queue: deque[Work] = deque()
        self.workers = Workers(self, work, limit=lambda: limit)

    def add(self, effect: Work) -> None:
        self.queue.append(effect)
        self.workers.wake()

    def has_work(self) -> bool:
        return bool(self.queue)

    def take(self) -> Work:
        return self.queue.popleft()
