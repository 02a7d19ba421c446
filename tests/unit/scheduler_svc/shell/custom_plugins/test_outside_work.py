"""PreBind work of users' plugins, and what undoes it."""

import asyncio
from typing import Any, Final

import pytest

from berthmaster.testing import pod
from scheduler_svc.core.custom_plugins.adapters import CustomPreBind, CustomUndo
from scheduler_svc.core.custom_plugins.base import NodePlugin
from scheduler_svc.core.custom_plugins.views import Pod
from scheduler_svc.core.effects import PodReference, RunCleanup, RunPreBind
from scheduler_svc.shell.custom_plugins.outside_work import OutsideWork

LIMIT_SECONDS: Final = 0.05
POD = PodReference("default", "p", "uid")


class Outside(NodePlugin[Any]):
    """Does work as told, and keeps a diary."""

    def __init__(self, work: str = "", undo: str = "") -> None:
        super().__init__()
        self.work, self.undo = work, undo
        self.diary: list[str] = []
        self.has_begun = asyncio.Event()

    async def act(self, what: str) -> None:
        if what == "hang":
            await asyncio.Event().wait()
        if what == "fail":
            raise RuntimeError("outside is closed")
        if what == "exit":
            raise SystemExit(3)
        if what == "own time-out":
            raise TimeoutError("the service")
        if what == "await what was cancelled":
            cancelled = asyncio.get_running_loop().create_future()
            cancelled.cancel()
            await cancelled

    async def pre_bind(self, pod: Pod, node_name: str) -> None:
        self.diary.append(f"bind {pod.name} to {node_name}")
        self.has_begun.set()
        await self.act(self.work)
        self.diary.append("done")

    async def undo_pre_bind(self, pod: Pod, node_name: str) -> None:
        self.diary.append(f"undo {pod.name} on {node_name}")
        await self.act(self.undo)


def work(plugin: Outside) -> RunPreBind:
    return RunPreBind(POD, "Outside", "a", CustomPreBind(plugin, Pod(pod("p")), LIMIT_SECONDS))


def undo(plugin: Outside) -> RunCleanup:
    return RunCleanup(POD, "Outside", CustomUndo(plugin, Pod(pod("p")), "a", LIMIT_SECONDS))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("", ""),
        ("fail", 'plugin "Outside" failed in pre_bind: RuntimeError: outside is closed'),
        ("hang", "no answer within 0.05 s"),
        ("exit", 'plugin "Outside" failed in pre_bind: SystemExit: 3'),
        ("own time-out", 'plugin "Outside" failed in pre_bind: TimeoutError: the service'),
        ("await what was cancelled", 'plugin "Outside" failed in pre_bind: CancelledError'),
    ],
)
async def test_work(how: str, said: str) -> None:
    plugin = Outside(how)
    assert await OutsideWork().pre_bind(work(plugin)) == said
    assert plugin.diary[0] == "bind p to a"


async def test_work_is_undone() -> None:
    plugin = Outside()
    assert await OutsideWork().undo(undo(plugin)) == ""
    assert plugin.diary == ["undo p on a"]


async def test_an_undo_waits_for_what_it_undoes() -> None:
    plugin, outside = Outside("hang"), OutsideWork()
    working = asyncio.create_task(outside.pre_bind(work(plugin)))
    await plugin.has_begun.wait()
    undoing = asyncio.create_task(outside.undo(undo(plugin)))
    assert await working == "no answer within 0.05 s"
    assert await undoing == ""
    assert plugin.diary == ["bind p to a", "undo p on a"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("fail", 'plugin "Outside" failed in undo_pre_bind: RuntimeError: outside is closed'),
        ("hang", "no answer within 0.05 s"),
        ("exit", 'plugin "Outside" failed in undo_pre_bind: SystemExit: 3'),
        ("await what was cancelled", 'plugin "Outside" failed in undo_pre_bind: CancelledError'),
    ],
)
async def test_an_undo_may_fail(how: str, said: str) -> None:
    assert await OutsideWork().undo(undo(Outside(undo=how))) == said


async def test_work_that_is_cancelled_ends() -> None:
    plugin = Outside("hang")
    effect = RunPreBind(POD, "Outside", "a", CustomPreBind(plugin, Pod(pod("p")), 600.0))
    working = asyncio.create_task(OutsideWork().pre_bind(effect))
    await plugin.has_begun.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working


async def test_what_is_no_work_is_a_failure() -> None:
    class Plain(Outside):
        def pre_bind(self, pod: Pod, node_name: str) -> Any:
            return 5

    said = await OutsideWork().pre_bind(work(Plain()))
    assert said.startswith('plugin "Outside" failed in pre_bind: TypeError: ')
