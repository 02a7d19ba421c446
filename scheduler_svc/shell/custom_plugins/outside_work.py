"""Awaits the `pre_bind` of users' plugins, and what undoes it."""

import asyncio
import weakref
from typing import Any

from scheduler_svc.core.custom_plugins.adapters import CustomPreBind, CustomUndo
from scheduler_svc.core.custom_plugins.guard import failure_text
from scheduler_svc.core.effects import RunCleanup, RunPreBind


class OutsideWork:
    """Does one thing at a time for a Pod and plugin: an undo waits for what it undoes."""

    def __init__(self) -> None:
        self._locks: weakref.WeakValueDictionary[tuple[str, str], asyncio.Lock] = (
            weakref.WeakValueDictionary()
        )

    async def pre_bind(self, effect: RunPreBind) -> str:
        """Do the work (`PreBindHandler`): give what went wrong, "" for success."""
        work: CustomPreBind = effect.payload
        limit_seconds = work.plugin.pre_bind_timeout_seconds
        async with self._lock(effect):
            try:
                async with asyncio.timeout(limit_seconds):
                    await work.plugin.pre_bind(work.pod, effect.node_name)
            except TimeoutError:
                return f"no answer within {limit_seconds:g} s"
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                return failure_text(effect.plugin, "pre_bind", error)
        return ""

    async def undo(self, effect: RunCleanup) -> str:
        """Undo work that was begun: give what went wrong, "" for success."""
        work: CustomUndo = effect.payload
        async with self._lock(effect):
            try:
                async with asyncio.timeout(work.plugin.pre_bind_timeout_seconds):
                    await work.plugin.undo_pre_bind(work.pod, work.node_name)
            except TimeoutError:
                return f"no answer within {work.plugin.pre_bind_timeout_seconds:g} s"
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                return failure_text(effect.plugin, "undo_pre_bind", error)
        return ""

    def _lock(self, effect: RunPreBind | RunCleanup) -> asyncio.Lock:
        key: Any = (effect.plugin, effect.pod.uid)
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock
