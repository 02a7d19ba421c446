"""Runs the feeds of users' plugins: IO of their own, whose findings become events."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final, NamedTuple

from kubeio.backoff import Backoff, Jitter
from kubeio.logs import fields
from scheduler_svc.core.custom_plugins.adapt import defines
from scheduler_svc.core.custom_plugins.adapters import Adapter
from scheduler_svc.core.custom_plugins.base import FeedApi
from scheduler_svc.core.events import Event, FeedUpdated
from scheduler_svc.core.framework.profile import Profile

FIRST_DELAY_SECONDS: Final = 1.0
MAX_DELAY_SECONDS: Final = 60.0

_logger = logging.getLogger(__name__)


class Feed(NamedTuple):
    """The feed of one profile's plugin."""

    scheduler_name: str
    adapter: Adapter


def feeds_of(profiles: Sequence[Profile]) -> list[Feed]:
    """Give the plugins that have feeds."""
    return [
        Feed(profile.scheduler_name, plugin)
        for profile in profiles
        for plugin in profile.plugins
        if isinstance(plugin, Adapter) and defines(type(plugin.plugin), "feed")
    ]


async def run_feeds(feeds: Sequence[Feed], api: FeedApi, put: Callable[[Event], None]) -> None:
    """Run all feeds until cancelled."""
    async with asyncio.TaskGroup() as group:
        for feed in feeds:
            group.create_task(_run(feed, api, put), name=f"feed of {feed.adapter.name}")


async def _run(feed: Feed, api: FeedApi, put: Callable[[Event], None]) -> None:
    backoff = Backoff(
        Jitter(len(feed.adapter.name)),
        first_seconds=FIRST_DELAY_SECONDS,
        limit_seconds=MAX_DELAY_SECONDS,
    )
    name = feed.adapter.name
    while True:
        try:
            values: AsyncIterator[Any] = feed.adapter.plugin.feed(api)
            async for value in values:
                backoff.reset()
                put(FeedUpdated(feed.scheduler_name, name, value))
            problem = "it ended"
        except Exception as error:  # noqa: BLE001 - a feed may raise anything
            problem = f"{type(error).__name__}: {error}"
        delay = backoff.next_delay()
        _logger.warning(
            "Feed of a plugin stopped, and is run again",
            extra=fields(plugin=name, problem=problem, after_seconds=round(delay, 1)),
        )
        await asyncio.sleep(delay)
