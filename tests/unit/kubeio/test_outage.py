"""Once one is answered, all ask at once."""

import asyncio

import pytest

from kubeio.backoff import Jitter
from kubeio.outage import Outage

LONG_SECONDS = 3600.0


class NoSpread(Jitter):
    def __init__(self) -> None:
        super().__init__(0)

    def between(self, low: float, high: float) -> float:
        assert (low, high) == (0.0, 1.0)
        return low


async def is_called(pausing: "asyncio.Task[None]") -> bool:
    """Tell whether a pause ends in a few rounds of the loop."""
    for _ in range(10):
        await asyncio.sleep(0)
    is_over = pausing.done()
    pausing.cancel()
    return is_over


def pause(outage: Outage, reason: str, seconds: float = LONG_SECONDS) -> "asyncio.Task[None]":
    return asyncio.create_task(outage.pause(seconds, reason, NoSpread()))


@pytest.mark.parametrize("began_by", ["connect", "unauthorized"])
@pytest.mark.parametrize("reason", ["connect", "unauthorized", "lost"])
async def test_who_waits_is_called_by_the_first_answer(began_by: str, reason: str) -> None:
    outage = Outage()
    outage.is_news(began_by, 10.0)
    pausing = [pause(outage, reason) for _ in range(3)]
    await asyncio.sleep(0)
    assert outage.end(12.5) == 2.5
    assert [await is_called(each) for each in pausing] == [True, True, True]


@pytest.mark.parametrize("reason", ["throttled", "forbidden", "server_error"])
async def test_who_was_answered_no_is_not_called(reason: str) -> None:
    """The server may have said when to come back."""
    outage = Outage()
    outage.is_news("connect", 10.0)
    pausing = pause(outage, reason)
    await asyncio.sleep(0)
    outage.end(12.5)
    assert not await is_called(pausing)


async def test_who_is_not_called_goes_on_after_its_own_time() -> None:
    outage = Outage()
    outage.is_news("connect", 10.0)
    await pause(outage, "connect", 0.001)


async def test_a_second_outage_is_waited_for_like_the_first() -> None:
    outage = Outage()
    outage.is_news("connect", 10.0)
    outage.end(11.0)
    outage.is_news("connect", 20.0)
    assert not await is_called(pause(outage, "connect"))
    pausing = pause(outage, "connect")
    await asyncio.sleep(0)
    assert outage.end(25.0) == 5.0
    assert await is_called(pausing)


async def test_a_broken_connection_alone_has_no_end_to_wait_for() -> None:
    outage = Outage()
    outage.is_news("lost", 10.0)
    assert not await is_called(pause(outage, "lost"))
    assert outage.end(11.0) is None
