"""Keys wait for quiet, are worked on one at a time, and again after a failure."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from kubeio.errors import ConnectionLostError, KubeError
from scheduler_svc.controller.delaying_queue import DelayingQueue
from tests.faultproxy import wait_until

QUIET_SECONDS = 0.02


class Bench:
    """A queue, what it has worked on, and what it was told to do then."""

    def __init__(self, *, longest_seconds: float = 0.5) -> None:
        self.done: list[str] = []
        self.errors: list[KubeError] = []
        self.sinces: list[float] = []
        self.behaviour: Callable[[str], Awaitable[float | None]] | None = None
        self.queue: DelayingQueue[str] = DelayingQueue(
            self._work,
            on_error=lambda _, error: self.errors.append(error),
            seed=1,
            quiet_seconds=QUIET_SECONDS,
            longest_seconds=longest_seconds,
            concurrency=2,
        )

    async def _work(self, key: str, since: float) -> float | None:
        self.done.append(key)
        self.sinces.append(since)
        return None if self.behaviour is None else await self.behaviour(key)

    async def wait_done(self, count: int) -> None:
        await wait_until(lambda: len(self.done) >= count, what=f"{count} keys are worked on")


@asynccontextmanager
async def running(bench: Bench, *, is_open: bool = True) -> AsyncIterator[None]:
    if is_open:
        bench.queue.open()
    task = asyncio.create_task(bench.queue.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_burst_is_one_piece_of_work() -> None:
    bench = Bench(longest_seconds=60)
    async with running(bench):
        for _ in range(50):
            bench.queue.put("a")
            bench.queue.put("b")
            await asyncio.sleep(0)
        await bench.wait_done(2)
        await wait_until(lambda: len(bench.queue) == 0, what="nothing waits")
    assert sorted(bench.done) == ["a", "b"]


async def test_a_stream_of_changes_does_not_put_it_off_for_ever() -> None:
    bench = Bench(longest_seconds=0.1)
    async with running(bench):
        async with asyncio.timeout(20):
            while not bench.done:
                bench.queue.put("a")
                await asyncio.sleep(QUIET_SECONDS / 10)
        first = bench.sinces[0]
    assert asyncio.get_running_loop().time() - first >= 0.1 - QUIET_SECONDS


async def test_nothing_is_done_before_it_is_opened_nor_after_it_is_closed() -> None:
    bench = Bench()
    async with running(bench, is_open=False):
        bench.queue.put("a")
        await asyncio.sleep(3 * QUIET_SECONDS)
        assert bench.done == []
        bench.queue.open()
        await bench.wait_done(1)
        bench.queue.close()
        await bench.queue.wait_idle()
        bench.queue.put("b")
        await asyncio.sleep(3 * QUIET_SECONDS)
        assert bench.done == ["a"]
        assert len(bench.queue) == 1


async def test_a_key_is_not_worked_on_twice_at_the_same_time() -> None:
    bench = Bench()
    may_end, busy = asyncio.Event(), []

    async def behave(key: str) -> None:
        busy.append(key)
        assert busy.count(key) == 1
        await may_end.wait()
        busy.remove(key)

    bench.behaviour = behave
    async with running(bench):
        bench.queue.put("a")
        await bench.wait_done(1)
        bench.queue.put("a")
        bench.queue.put("b")
        await bench.wait_done(2)
        await asyncio.sleep(3 * QUIET_SECONDS)
        assert bench.done == ["a", "b"]
        may_end.set()
        await bench.wait_done(3)
    assert bench.done == ["a", "b", "a"]


async def test_what_failed_is_done_again_and_still_counts_from_its_change() -> None:
    bench = Bench()

    async def behave(_: str) -> None:
        if len(bench.done) < 3:
            raise ConnectionLostError("gone")

    bench.behaviour = behave
    async with running(bench):
        bench.queue.put("a")
        await bench.wait_done(3)
    assert len(bench.errors) == 2
    assert len(set(bench.sinces)) == 1


async def test_work_may_ask_to_be_done_again_later() -> None:
    bench = Bench()

    async def behave(_: str) -> float | None:
        return 0.0 if len(bench.done) < 3 else None

    bench.behaviour = behave
    async with running(bench):
        bench.queue.put("a")
        await bench.wait_done(3)
        await wait_until(lambda: len(bench.queue) == 0, what="nothing waits")
    assert bench.done == ["a"] * 3
