"""Awaits the `pre_bind` of users' plugins, and what undoes it."""

import asyncio
import logging

from kubeio.logs import fields
from scheduler_svc.core.custom_plugins.adapters import CustomPreBind
from scheduler_svc.core.custom_plugins.guard import failure_text
from scheduler_svc.core.effects import RunPreBind

_logger = logging.getLogger(__name__)


async def run_custom_pre_bind(effect: RunPreBind) -> str:
    """Do the work (`PreBindHandler`): give what went wrong, "" for success.

    Work that fails, takes too long or is cancelled is undone here, since it may have been
    done in part.
    """
    work: CustomPreBind = effect.payload
    try:
        async with asyncio.timeout(work.plugin.pre_bind_timeout_seconds):
            await work.plugin.pre_bind(work.pod, effect.node_name)
    except TimeoutError:
        await undo_custom_pre_bind(work, effect.plugin, effect.node_name)
        return f"no answer within {work.plugin.pre_bind_timeout_seconds:g} s"
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        await undo_custom_pre_bind(work, effect.plugin, effect.node_name)
        return failure_text(effect.plugin, "pre_bind", error)
    return ""


async def undo_custom_pre_bind(work: CustomPreBind, plugin: str, node_name: str) -> None:
    """Undo what `pre_bind` did; a failure is logged, since nobody waits for it."""
    if not work.has_undo:
        return
    try:
        async with asyncio.timeout(work.plugin.pre_bind_timeout_seconds):
            await work.plugin.undo_pre_bind(work.pod, node_name)
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything, and TimeoutError
        _logger.warning(
            "Plugin failed to undo its work",
            extra=fields(plugin=plugin, pod=repr(work.pod), problem=repr(error)),
        )
