"""Tasks that exist only while there is work."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

import pytest

from scheduler_svc.shell.writes.workers import Workers


class Numbers:
    """A queue of numbers, and what became of them."""

    def __init__(self) -> None:
        self.queue: deque[int] = deque()
        self.done: list[int] = []
        self.begun: list[int] = []
        self.gate = asyncio.Event()

    def has_work(self) -> bool:
        return bool(self.queue)

    def take(self) -> int:
        return self.queue.popleft()

    async def work(self, number: int) -> None:
        self.begun.append(number)
        await self.gate.wait()
        self.done.append(number)


def workers_of(numbers: Numbers, limit: Callable[[], int]) -> Workers[int]:
    work: Callable[[int], Awaitable[None]] = numbers.work
    return Workers(numbers, work, limit=limit)


async def spin() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_no_more_at_once_than_the_limit_and_in_order() -> None:
    numbers = Numbers()
    async with workers_of(numbers, lambda: 3) as workers:
        numbers.queue.extend(range(10))
        workers.wake()
        await spin()
        assert numbers.begun == [0, 1, 2]
        assert len(workers) == 3
        numbers.gate.set()
        await workers.wait_idle()
    assert numbers.begun == list(range(10))
    assert sorted(numbers.done) == list(range(10))


async def test_a_limit_that_rises_lets_more_begin() -> None:
    numbers = Numbers()
    limit = 1
    async with workers_of(numbers, lambda: limit) as workers:
        numbers.queue.extend(range(4))
        workers.wake()
        await spin()
        assert numbers.begun == [0]
        limit = 3
        workers.wake()
        await spin()
        assert numbers.begun == [0, 1, 2]
        numbers.gate.set()
        await workers.wait_idle()
    assert sorted(numbers.done) == [0, 1, 2, 3]


async def test_a_limit_that_falls_lets_fewer_go_on() -> None:
    numbers = Numbers()
    limit = 4
    async with workers_of(numbers, lambda: limit) as workers:
        numbers.queue.extend(range(4))
        workers.wake()
        await spin()
        limit = 1
        numbers.queue.extend([4, 5])
        numbers.gate.set()
        await spin()
        await workers.wait_idle()
    assert sorted(numbers.done) == [0, 1, 2, 3, 4, 5]


async def test_what_comes_while_the_last_one_ends_is_not_forgotten() -> None:
    numbers = Numbers()
    numbers.gate.set()
    async with workers_of(numbers, lambda: 1) as workers:
        for number in range(50):
            numbers.queue.append(number)
            workers.wake()
            await asyncio.sleep(0)
        await workers.wait_idle()
    assert numbers.done == list(range(50))


async def test_leaving_cancels_and_leaves_the_queue_alone() -> None:
    numbers = Numbers()
    async with workers_of(numbers, lambda: 1) as workers:
        numbers.queue.extend(range(3))
        workers.wake()
        await spin()
    assert numbers.done == []
    assert list(numbers.queue) == [1, 2]
    workers.wake()
    assert len(workers) == 0


async def test_a_task_that_never_ran_has_taken_nothing() -> None:
    numbers = Numbers()
    async with workers_of(numbers, lambda: 1) as workers:
        numbers.queue.append(1)
        workers.wake()
    assert list(numbers.queue) == [1]


async def test_an_exception_surfaces() -> None:
    numbers = Numbers()

    async def fail(_: int) -> None:
        raise ValueError("a fault of ours")

    async def own() -> None:
        async with Workers(numbers, fail, limit=lambda: 1) as workers:
            workers.wake()
            try:
                await asyncio.Event().wait()
            finally:
                workers.wake()
                assert len(workers) == 0

    numbers.queue.extend([1, 2])
    with pytest.raises(ExceptionGroup) as caught:
        await own()
    assert list(numbers.queue) == [2]
    assert [str(error) for error in caught.value.exceptions] == ["a fault of ours"]


async def test_the_owners_error_comes_out_as_it_is() -> None:
    numbers = Numbers()
    with pytest.raises(KeyError):
        async with workers_of(numbers, lambda: 1):
            raise KeyError("a")


async def test_cancelling_the_owner_ends_everything() -> None:
    numbers = Numbers()

    async def own() -> None:
        async with workers_of(numbers, lambda: 1) as workers:
            numbers.queue.append(1)
            workers.wake()
            await asyncio.Event().wait()

    task = asyncio.create_task(own())
    await spin()
    assert numbers.begun == [1]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
