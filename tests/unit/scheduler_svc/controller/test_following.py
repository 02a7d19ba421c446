"""Work for the newest value, ended and begun anew when it changes."""

import asyncio

import pytest

from scheduler_svc.controller.following import Following
from tests.faultproxy import wait_until


async def test_work_is_for_the_newest_value_and_none_means_no_work() -> None:
    begun: list[str] = []
    ended: list[str] = []

    async def work(value: str) -> None:
        begun.append(value)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(value)

    following: Following[str] = Following(work)
    task = asyncio.create_task(following.run())
    following.set("a")
    await wait_until(lambda: begun == ["a"], what="work for a")
    following.set("a")
    following.set("b")
    await wait_until(lambda: begun == ["a", "b"], what="work for b")
    following.begin_anew()
    await wait_until(lambda: begun == ["a", "b", "b"], what="work for b again")
    following.set(None)
    await wait_until(lambda: ended == ["a", "b", "b"], what="no work")
    following.set("c")
    await wait_until(lambda: begun == ["a", "b", "b", "c"], what="work for c")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert ended == ["a", "b", "b", "c"]


async def test_a_failure_of_the_work_is_its_own() -> None:
    async def work(_: str) -> None:
        raise ValueError("no")

    following: Following[str] = Following(work)
    following.set("a")
    with pytest.raises(ValueError, match="no"):
        await following.run()
