"""PreBind work of users' plugins, and what undoes it."""

import asyncio
import logging
from typing import Any, ClassVar

import pytest

from berthmaster.testing import pod
from scheduler_svc.core.custom_plugins.adapters import CustomPreBind
from scheduler_svc.core.custom_plugins.base import NodePlugin
from scheduler_svc.core.custom_plugins.views import Pod
from scheduler_svc.core.effects import PodReference, RunPreBind
from scheduler_svc.shell.custom_plugins.outside_work import run_custom_pre_bind


class Outside(NodePlugin[Any]):
    """Does work as told, and keeps a diary."""

    pre_bind_timeout_seconds: ClassVar[float] = 0.05

    def __init__(self, work: str, undo: str = "") -> None:
        super().__init__()
        self.work, self.undo = work, undo
        self.diary: list[str] = []

    async def act(self, what: str) -> None:
        if what == "hang":
            await asyncio.Event().wait()
        if what == "fail":
            raise RuntimeError("outside is closed")

    async def pre_bind(self, pod: Pod, node_name: str) -> None:
        self.diary.append(f"bind {pod.name} to {node_name}")
        await self.act(self.work)

    async def undo_pre_bind(self, pod: Pod, node_name: str) -> None:
        self.diary.append(f"undo {pod.name}")
        await self.act(self.undo)


def effect(plugin: Outside, *, has_undo: bool = True) -> RunPreBind:
    payload = CustomPreBind(plugin, Pod(pod("p")), has_undo)
    return RunPreBind(PodReference("default", "p", "uid"), "Outside", "a", payload)


async def test_work_that_succeeds() -> None:
    plugin = Outside("")
    assert await run_custom_pre_bind(effect(plugin)) == ""
    assert plugin.diary == ["bind p to a"]


@pytest.mark.parametrize(
    ("work", "said"),
    [
        ("fail", 'plugin "Outside" failed in pre_bind: RuntimeError: outside is closed'),
        ("hang", "no answer within 0.05 s"),
    ],
)
async def test_work_that_fails_is_undone(work: str, said: str) -> None:
    plugin = Outside(work)
    assert await run_custom_pre_bind(effect(plugin)) == said
    assert plugin.diary == ["bind p to a", "undo p"]


async def test_not_everything_can_be_undone() -> None:
    plugin = Outside("fail")
    await run_custom_pre_bind(effect(plugin, has_undo=False))
    assert plugin.diary == ["bind p to a"]


@pytest.mark.parametrize("undo", ["fail", "hang"])
async def test_an_undo_that_fails_is_logged(undo: str, caplog: pytest.LogCaptureFixture) -> None:
    assert await run_custom_pre_bind(effect(Outside("fail", undo)))
    messages = [r.message for r in caplog.records if r.levelno == logging.WARNING]
    assert messages == ["Plugin failed to undo its work"]
