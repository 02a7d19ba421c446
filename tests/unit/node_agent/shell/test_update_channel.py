"""Lists pass in order, the source waits while the channel is full, and all of it is measured."""

import asyncio

from node_agent.core.events import PodsListed
from node_agent.core.operations import Source
from node_agent.shell.update_channel import CAPACITY, UpdateChannel
from tests.unit.node_agent.core.pods import at
from tests.unit.scheduler_svc.shell.registry import Samples


def event(number: int) -> PodsListed:
    """Give a list that can be told from others."""
    return PodsListed(Source.API, (), at(number))


class Clock:
    """Monotonic seconds that a test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def test_order_is_kept() -> None:
    channel = UpdateChannel()
    assert channel.take() is None
    for number in range(3):
        await channel.put(event(number))
    assert len(channel) == 3
    assert [channel.take() for _ in range(3)] == [event(number) for number in range(3)]
    assert await channel.wait_and_take(0.01) is None


async def test_it_takes_as_many_as_the_kubelets() -> None:
    assert CAPACITY == 50


async def test_a_source_that_is_ahead_waits_and_nothing_is_lost() -> None:
    channel = UpdateChannel(capacity=2)

    async def send() -> None:
        for number in range(10):
            await channel.put(event(number))

    sending = asyncio.create_task(send())
    taken: list[PodsListed] = []
    while len(taken) < 10:
        assert len(channel) <= 2
        one = await channel.wait_and_take(None)
        assert one is not None
        taken.append(one)
    await sending
    assert taken == [event(number) for number in range(10)]
    assert channel.max_depth == 2


async def test_depth_and_wait_are_measured() -> None:
    clock = Clock()
    channel = UpdateChannel(clock=clock)
    sample = Samples(channel.collect)
    await channel.put(event(0))
    await channel.put(event(1))
    assert sample("berthmaster_agent_channel_depth") == 2
    clock.seconds = 0.25
    channel.take()
    clock.seconds = 1.0
    await channel.wait_and_take(None)
    assert sample("berthmaster_agent_channel_depth") == 0
    assert sample("berthmaster_agent_channel_max_depth") == 2
    assert sample("berthmaster_agent_channel_wait_seconds_count") == 2
    assert sample("berthmaster_agent_channel_wait_seconds_sum") == 1.25
