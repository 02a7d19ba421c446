"""Every item is carried out, or given up once the queue stops; never both, never neither."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from scheduler_svc.shell.writes.work_queue import WorkQueue


class Writer:
    """Notes what became of each item; items go on when they are let."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.done: list[str] = []
        self.given_up: list[str] = []
        self.may_end = asyncio.Event()
        self.two_begun = asyncio.Event()
        self.four_done = asyncio.Event()
        self.queue = WorkQueue(self._carry_out, give_up=self.given_up.append, limit=lambda: 2)

    async def _carry_out(self, item: str) -> None:
        self.begun.append(item)
        if len(self.begun) == 2:
            self.two_begun.set()
        await self.may_end.wait()
        self.done.append(item)
        if len(self.done) == 4:
            self.four_done.set()

    async def begin(self, *items: str) -> None:
        for item in items:
            self.queue.submit(item)
        async with asyncio.timeout(5):
            await self.two_begun.wait()


async def test_items_are_taken_in_order_so_many_at_once() -> None:
    writer = Writer()
    async with writer.queue as queue:
        await writer.begin("a", "b", "c", "d")
        assert writer.begun == ["a", "b"]
        assert (len(queue), queue.queued_count) == (4, 2)
        queue.submit("e")
        writer.may_end.set()
        await queue.drain(60)
    assert sorted(writer.done) == writer.begun == ["a", "b"]
    assert writer.given_up == ["c", "d", "e"]


async def test_all_items_get_their_turn() -> None:
    writer = Writer()
    writer.may_end.set()
    async with writer.queue, asyncio.timeout(5):
        await writer.begin("a", "b")
        await writer.begin("c", "d")
        await writer.four_done.wait()
    assert writer.begun == ["a", "b", "c", "d"]
    assert writer.given_up == []


async def test_draining_waits_for_what_has_begun_and_gives_up_the_rest() -> None:
    writer = Writer()
    async with writer.queue as queue:
        await writer.begin("a", "b", "c")
        draining = asyncio.create_task(queue.drain(60))
        await asyncio.sleep(0)
        assert writer.given_up == ["c"]
        assert queue.stopping.is_set()
        queue.submit("late")
        assert writer.given_up == ["c", "late"]
        assert not draining.done()
        writer.may_end.set()
        await draining
        assert writer.done == ["a", "b"]


async def test_what_takes_too_long_is_cut_short() -> None:
    writer = Writer()
    async with writer.queue as queue:
        await writer.begin("a", "b")
        await queue.drain(0)
        assert len(queue) == 0
    assert (writer.done, writer.given_up) == ([], [])


async def _leave(writer: Writer) -> None:
    async with writer.queue:
        await writer.begin("a", "b", "c")


async def _fail(writer: Writer) -> None:
    async with writer.queue:
        await writer.begin("a", "b", "c")
        raise LookupError("of the owner's own")


@pytest.mark.parametrize("end", [_leave, _fail])
async def test_leaving_gives_up_what_was_not_begun(
    end: Callable[[Writer], Awaitable[None]],
) -> None:
    writer = Writer()
    try:
        await end(writer)
    except LookupError:
        assert end is _fail
    assert writer.begun == ["a", "b"]
    assert (writer.done, writer.given_up) == ([], ["c"])
