"""Feeds of users' plugins run beside the scheduler, and again when they stop."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from berthmaster.plugin import FeedApi, Node, NodePlugin, Pod, Reject, Wait
from scheduler_svc.core.custom_plugins.adapt import adapt
from scheduler_svc.core.custom_plugins.guard import PlainGuard
from scheduler_svc.core.events import Event, FeedUpdated, PermitDecided
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.shell.custom_plugins import feeds as feeds_module
from scheduler_svc.shell.custom_plugins.feeds import RunningFeeds, feeds_of
from tests.builders import make_profile

NO_API: Any = None


class Fed(NodePlugin[Any]):
    """Is told numbers; its feed ends, then fails, then goes on."""

    run_count = 0

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        return None

    async def feed(self, api: FeedApi) -> AsyncIterator[int]:
        self.run_count += 1
        yield self.run_count
        if self.run_count == 2:
            raise OSError("gone away")
        if self.run_count == 3:
            await asyncio.Event().wait()

    def on_feed(self, value: int) -> None:
        """Not asked here."""


class Unfed(NodePlugin[Any]):
    """Has no feed."""

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        return None


async def test_what_feeds_tell_become_events(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(feeds_module, "FIRST_DELAY_SECONDS", 0.01)
    adapters = [adapt(plugin, PlainGuard()) for plugin in (Fed(), Unfed())]
    profile = make_profile({"preFilter": adapters, "filter": adapters})
    events: asyncio.Queue[Event] = asyncio.Queue()
    found = feeds_of([profile])
    assert [feed.adapter.name for feed in found] == ["Fed"]
    feeds = RunningFeeds(NO_API, events.put_nowait)
    feeds.follow([profile])
    running = asyncio.create_task(feeds.run())
    async with asyncio.timeout(10):
        told = [await events.get() for _ in range(3)]
    running.cancel()
    await asyncio.wait([running])
    name = profile.scheduler_name
    assert told == [FeedUpdated(name, "Fed", number) for number in (1, 2, 3)]
    problems = [getattr(r, "problem", r.__dict__) for r in caplog.records]
    assert len(problems) == 2


class Counting(NodePlugin[Any]):
    """Tells who runs."""

    def __init__(self, args: Any = None, *, who: str = "") -> None:
        super().__init__(args)
        self.who = who

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        return None

    async def feed(self, api: FeedApi) -> AsyncIterator[str]:
        yield self.who
        await asyncio.Event().wait()


async def test_feeds_follow_the_profiles_that_are_served() -> None:
    def profile(who: str) -> Profile:
        adapter = adapt(Counting(who=who), PlainGuard())
        return make_profile({"preFilter": [adapter], "filter": [adapter]})

    first, second = profile("first"), profile("second")
    told: asyncio.Queue[Event] = asyncio.Queue()
    feeds = RunningFeeds(NO_API, told.put_nowait)
    running = asyncio.create_task(feeds.run())
    async with asyncio.timeout(10):
        for profiles, value in (([first], "first"), ([first, second], "second")):
            feeds.follow(profiles)
            event = await told.get()
            assert isinstance(event, FeedUpdated)
            assert event.value == value
        # One that went and comes again starts anew; the other has gone on.
        feeds.follow([second])
        await asyncio.sleep(0)
        feeds.follow([second, first])
        event = await told.get()
        assert isinstance(event, FeedUpdated)
        assert event.value == "first"
    assert told.empty()
    running.cancel()
    await asyncio.wait([running])


class Faulty(Fed):
    """Ends at first otherwise than by an exception that one expects."""

    how = ""

    async def feed(self, api: FeedApi) -> AsyncIterator[int]:
        self.run_count += 1
        if self.run_count == 1 and self.how == "exit":
            raise SystemExit(3)
        if self.run_count == 1:
            cancelled = asyncio.get_running_loop().create_future()
            cancelled.cancel()
            await cancelled
        yield self.run_count
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("how", "said"), [("exit", "SystemExit: 3"), ("cancelled", "CancelledError")]
)
async def test_no_feed_ends_the_process(
    how: str, said: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(feeds_module, "FIRST_DELAY_SECONDS", 0.01)
    faulty = Faulty()
    faulty.how = how
    adapter, told = adapt(faulty, PlainGuard()), asyncio.Queue[Event]()
    profile = make_profile({"preFilter": [adapter], "filter": [adapter]})
    feeds = RunningFeeds(NO_API, told.put_nowait)
    feeds.follow([profile])
    running = asyncio.create_task(feeds.run())
    async with asyncio.timeout(10):
        assert await told.get() == FeedUpdated(profile.scheduler_name, "Faulty", 2)
    assert [record.fields["problem"] for record in caplog.records] == [said]  # type: ignore[attr-defined]
    running.cancel()
    await asyncio.wait([running])


class Deciding(NodePlugin[Any]):
    """Holds Pods back."""

    def permit(self, pod: Pod, node_name: str) -> Wait:
        return Wait(60)


async def test_decisions_on_waiting_pods_become_events_from_any_thread() -> None:
    plugin = Deciding()
    events: asyncio.Queue[Event] = asyncio.Queue()
    feeds = RunningFeeds(NO_API, events.put_nowait)
    feeds.follow([make_profile({"permit": [adapt(plugin, PlainGuard())]})])
    plugin.allow("here")
    async with asyncio.timeout(10):
        assert await events.get() == PermitDecided("here", "Deciding")
        await asyncio.to_thread(plugin.reject, "elsewhere", "quota is used up")
        assert await events.get() == PermitDecided("elsewhere", "Deciding", "quota is used up")


def test_a_decision_after_the_end_meets_nobody() -> None:
    plugin = Deciding()
    told: list[Event] = []

    async def serve() -> None:
        feeds = RunningFeeds(NO_API, told.append)
        feeds.follow([make_profile({"permit": [adapt(plugin, PlainGuard())]})])

    asyncio.run(serve())
    plugin.allow("late")
    assert told == []
