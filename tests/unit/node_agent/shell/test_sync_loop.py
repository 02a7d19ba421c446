"""The loop takes lists in order, keeps deadlines, and lets others run."""

import asyncio

import pytest

from node_agent.core.agent import NodeAgent
from node_agent.core.clock import Now
from node_agent.core.effects import Effect
from node_agent.core.events import Event, PodsListed
from node_agent.core.operations import Source
from node_agent.core.pod_workers import UNSEEN_SECONDS
from node_agent.shell.journal import Journal
from node_agent.shell.sync_loop import SLICE_SECONDS, SyncLoop
from node_agent.shell.update_channel import UpdateChannel
from tests.faultproxy import wait_until
from tests.unit.node_agent.core.pods import at, make_pod
from tests.unit.node_agent.shell.lists import stop


class Clock:
    """Both clocks, as a test sets them; each reading costs what the test says."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.cost_seconds = 0.0

    def __call__(self) -> Now:
        self.seconds += self.cost_seconds
        return at(self.seconds)


class Stage:
    def __init__(self) -> None:
        self.clock = Clock()
        self.agent = NodeAgent([Source.FILE])
        self.channel = UpdateChannel()
        self.loop = SyncLoop(self.agent, self.channel, Journal(), read_now=self.clock)

    async def tell(self, *names: str) -> None:
        """Send a list of static Pods that end at once when they are asked to."""
        spec = {"terminationGracePeriodSeconds": 0}
        pods = tuple(make_pod(name, spec=spec) for name in names)
        await self.channel.put(PodsListed(Source.FILE, pods, self.clock()))

    def names(self) -> list[str]:
        return [pod.metadata.name for pod in self.agent.known.pods()]


@pytest.fixture
async def stage() -> Stage:
    return Stage()


async def test_lists_are_handled_in_order(stage: Stage) -> None:
    await stage.tell("a")
    await stage.tell("a", "b")
    await stage.tell("b")
    assert stage.loop.work() is False
    assert stage.names() == ["b"]
    assert stage.loop.story == "file: 1 Pods; file: 2 Pods; file: 1 Pods"
    assert stage.loop.last_updates == {Source.FILE: at(0)}


async def test_after_a_slice_others_may_run(stage: Stage) -> None:
    for _ in range(5):
        await stage.tell("a")
    stage.clock.cost_seconds = SLICE_SECONDS
    assert stage.loop.work() is True
    assert len(stage.channel) == 4


async def test_deadlines_are_kept(stage: Stage) -> None:
    await stage.tell("a")
    await stage.tell()
    stage.loop.work()
    assert set(stage.agent.workers.workers) == {"uid-a"}
    stage.clock.seconds = UNSEEN_SECONDS
    stage.loop.work()
    assert dict(stage.agent.workers.workers) == {}


async def test_it_sleeps_until_a_list_or_a_deadline(stage: Stage) -> None:
    task = asyncio.create_task(stage.loop.run())
    await stage.tell("a")
    await wait_until(lambda: stage.names() == ["a"], what="the list is handled")
    stage.clock.cost_seconds = UNSEEN_SECONDS / 4  # each look at the clock takes it on
    await stage.tell()
    await wait_until(lambda: not stage.agent.workers.workers, what="the deadline is kept")
    await stop(task)


async def test_what_the_core_raises_ends_it(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def handle(event: Event, now: Now) -> list[Effect]:
        raise LookupError("a bug")

    monkeypatch.setattr(stage.agent, "handle", handle)
    await stage.tell("a")
    with pytest.raises(LookupError, match="a bug"):
        await asyncio.wait_for(stage.loop.run(), 10)
    assert stage.loop.story == "file: 1 Pods"
