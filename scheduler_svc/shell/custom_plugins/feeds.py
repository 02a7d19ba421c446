"""Runs the feeds of users' plugins: IO of their own, whose findings become events."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple

from kubeio.backoff import Backoff, Jitter
from kubeio.logs import fields
from scheduler_svc.core.custom_plugins.adapt import defines
from scheduler_svc.core.custom_plugins.adapters import Adapter
from scheduler_svc.core.custom_plugins.base import FeedApi
from scheduler_svc.core.custom_plugins.guard import raised
from scheduler_svc.core.events import Event, FeedUpdated
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.shell.custom_plugins.awaiting import is_meant_for_task

FIRST_DELAY_SECONDS: Final = 1.0
MAX_DELAY_SECONDS: Final = 60.0

_logger = logging.getLogger(__name__)


class Feed(NamedTuple):
    """The feed of one profile's plugin."""

    scheduler_name: str
    adapter: Adapter


def feeds_of(profiles: Iterable[Profile]) -> list[Feed]:
    """Give the plugins that have feeds."""
    return [
        Feed(profile.scheduler_name, plugin)
        for profile in profiles
        for plugin in profile.plugins
        if isinstance(plugin, Adapter) and defines(type(plugin.plugin), "feed")
    ]


class RunningFeeds:
    """Runs the feeds of the profiles that are served, which may change meanwhile."""

    def __init__(self, api: FeedApi, put: Callable[[Event], None]) -> None:
        self._api = api
        self._put = put
        self._wanted: list[Feed] = []
        self._bell = asyncio.Event()

    def follow(self, profiles: Iterable[Profile]) -> None:
        """Run from now on the feeds of these profiles; those that run already go on.

        Their plugins may decide on Pods that they hold back.
        """
        served = list(profiles)
        self._wanted = feeds_of(served)
        self._bell.set()
        put = partial(_put_from_any_thread, asyncio.get_running_loop(), self._put)
        for adapter in {plugin for profile in served for plugin in profile.plugins}:
            if isinstance(adapter, Adapter):
                adapter.connect(put)

    async def run(self) -> None:
        """Run them until cancelled."""
        tasks: dict[Feed, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            while True:
                for feed in tasks.keys() - set(self._wanted):
                    tasks.pop(feed).cancel()
                for feed in self._wanted:
                    if feed not in tasks:
                        work = _run(feed, self._api, self._put)
                        name = f"feed of {feed.adapter.name}"
                        tasks[feed] = group.create_task(work, name=name)
                await self._bell.wait()
                self._bell.clear()


def _put_from_any_thread(
    loop: asyncio.AbstractEventLoop, put: Callable[[Event], None], event: Event
) -> None:
    # A thread of a plugin's may outlive the loop.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(put, event)


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
        except BaseException as error:
            if is_meant_for_task(error):
                raise
            problem = raised(error)
        delay = backoff.next_delay()
        _logger.warning(
            "Feed of a plugin stopped, and is run again",
            extra=fields(plugin=name, problem=problem, after_seconds=round(delay, 1)),
        )
        await asyncio.sleep(delay)
