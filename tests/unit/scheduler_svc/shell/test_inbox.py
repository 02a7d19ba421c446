import asyncio

import pytest

from scheduler_svc.core.events import NodeDeleted
from scheduler_svc.shell.inbox import Inbox


async def test_gives_events_in_order() -> None:
    inbox = Inbox()
    first, second = NodeDeleted("a"), NodeDeleted("b")
    inbox.put(first)
    inbox.put(second)
    assert len(inbox) == 2
    assert [inbox.take(), inbox.take()] == [first, second]
    assert len(inbox) == 0


async def test_event_wakes_the_reader() -> None:
    inbox = Inbox()
    waiting = asyncio.create_task(inbox.wait_ring(None))
    await asyncio.sleep(0)
    assert not waiting.done()
    inbox.put(NodeDeleted("a"))
    await asyncio.wait_for(waiting, 10)


async def test_ring_before_the_wait_is_not_missed_and_counts_once() -> None:
    inbox = Inbox()
    inbox.ring()
    inbox.ring()
    await asyncio.wait_for(inbox.wait_ring(None), 10)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(inbox.wait_ring(None), 0.01)


async def test_wait_ends_at_its_limit() -> None:
    await asyncio.wait_for(Inbox().wait_ring(0.001), 10)


async def test_story_tells_the_last_events_and_cuts_long_ones() -> None:
    inbox = Inbox()
    for number in range(40):
        inbox.put(NodeDeleted(f"node-{number}"))
    inbox.put(NodeDeleted("x" * 1000))
    while inbox:
        inbox.take()
    story = inbox.story.split("; ")
    assert len(story) == 30
    assert story[0] == "NodeDeleted(name='node-11')"
    assert len(story[-1]) == 300
