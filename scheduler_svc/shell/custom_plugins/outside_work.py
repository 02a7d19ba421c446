"""Awaits the `pre_bind` of users' plugins, and what undoes it."""

import asyncio
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

from scheduler_svc.core.custom_plugins.adapters import CustomPreBind, CustomUndo
from scheduler_svc.core.custom_plugins.guard import failure_text
from scheduler_svc.core.effects import RunCleanup, RunPreBind
from scheduler_svc.shell.custom_plugins.awaiting import is_meant_for_task


class OutsideWork:
    """Does one thing at a time for a Pod and plugin: an undo waits for what it undoes."""

    def __init__(self) -> None:
        self._locks: weakref.WeakValueDictionary[tuple[str, str], asyncio.Lock] = (
            weakref.WeakValueDictionary()
        )

    async def pre_bind(self, effect: RunPreBind) -> str:
        """Do the work (`PreBindHandler`): give what went wrong, "" for success."""
        work: CustomPreBind = effect.payload
        async with self._lock(effect):
            return await _outcome(
                effect.plugin,
                "pre_bind",
                lambda: work.plugin.pre_bind(work.pod, effect.node_name),
                work.limit_seconds,
            )

    async def undo(self, effect: RunCleanup) -> str:
        """Undo work that was begun: give what went wrong, "" for success."""
        work: CustomUndo = effect.payload
        async with self._lock(effect):
            return await _outcome(
                effect.plugin,
                "undo_pre_bind",
                lambda: work.plugin.undo_pre_bind(work.pod, work.node_name),
                work.limit_seconds,
            )

    def _lock(self, effect: RunPreBind | RunCleanup) -> asyncio.Lock:
        key: Any = (effect.plugin, effect.pod.uid)
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock


async def _outcome(
    plugin: str, point: str, method: Callable[[], Awaitable[None]], limit_seconds: float
) -> str:
    timeout = asyncio.timeout(limit_seconds)
    try:
        async with timeout:
            await method()
    except BaseException as error:
        if is_meant_for_task(error):
            raise
        if isinstance(error, TimeoutError) and timeout.expired():
            return f"no answer within {limit_seconds:g} s"
        return failure_text(plugin, point, error)
    return ""
