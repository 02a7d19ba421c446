"""The loop with a real core and writers that only remember."""

import asyncio

import pytest

from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import BindPod, Effect
from scheduler_svc.core.errors import InvariantError
from scheduler_svc.core.events import BindSucceeded, Event, NodeUpserted, PodUpserted
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.shell.config import default_configuration, rename_for_live
from scheduler_svc.shell.executor import EffectWriters, Executor
from scheduler_svc.shell.inbox import Inbox
from scheduler_svc.shell.loop import SLICE_SECONDS, SchedulingLoop
from scheduler_svc.shell.metrics.attempt_metrics import AttemptMetrics
from scheduler_svc.shell.metrics.plugin_metrics import PluginMetrics
from scheduler_svc.shell.profiles import make_profiles
from tests.builders import at, make_node_info, make_pod_info
from tests.faultproxy import wait_until

ACTION_SECONDS = 0.001


class Clock:
    """A clock that goes on by a millisecond each time it is read, as if work took it."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> Now:
        self.seconds += ACTION_SECONDS
        return at(self.seconds)


class Binder:
    def __init__(self) -> None:
        self.effects: list[BindPod] = []

    def submit(self, effect: BindPod, /) -> None:
        self.effects.append(effect)


class Discarder:
    def submit(self, effect: Effect, /) -> None:
        del effect


class Rig:
    def __init__(self) -> None:
        profiles = make_profiles(rename_for_live(default_configuration(), "berthmaster"))
        self.scheduler = Scheduler(profiles.profiles)
        self.inbox = Inbox()
        self.binder = Binder()
        self.clock = Clock()
        self.may_attempt = True
        executor = Executor(
            EffectWriters(
                binder=self.binder,
                patcher=Discarder(),
                recorder=Discarder(),
                pre_bind=Discarder(),
                evictor=Discarder(),
                extenders=Discarder(),
            ),
            attempt_metrics=AttemptMetrics(("berthmaster",)),
            plugin_metrics=PluginMetrics(),
        )
        self.loop = SchedulingLoop(
            self.scheduler,
            self.inbox,
            executor,
            may_attempt=lambda: self.may_attempt,
            read_now=self.clock,
        )

    def put_node(self, cpu: str = "64") -> None:
        self.inbox.put(NodeUpserted(make_node_info("n1", cpu=cpu, pods=1000)))

    def put_pods(self, count: int) -> None:
        for number in range(count):
            pod = make_pod_info(f"p{number}", requests={"cpu": "100m"})
            self.inbox.put(PodUpserted(pod))

    def work_until_idle(self) -> int:
        rounds = 1
        while self.loop.work():
            rounds += 1
        return rounds


def test_events_are_handled_and_pods_placed_in_order() -> None:
    rig = Rig()
    rig.put_node()
    rig.put_pods(3)
    rig.work_until_idle()
    assert [effect.pod.name for effect in rig.binder.effects] == ["p0", "p1", "p2"]
    rig.scheduler.validate()


def test_standby_keeps_its_view_and_places_nothing_until_it_leads() -> None:
    rig = Rig()
    rig.may_attempt = False
    rig.put_node()
    rig.put_pods(2)
    rig.work_until_idle()
    assert rig.binder.effects == []
    assert rig.scheduler.statistics().node_count == 1
    rig.may_attempt = True
    rig.work_until_idle()
    assert len(rig.binder.effects) == 2


def test_one_round_takes_no_longer_than_two_slices() -> None:
    rig = Rig()
    rig.put_node()
    rig.put_pods(200)
    while rig.inbox or not rig.binder.effects:
        before = rig.clock.seconds
        assert rig.loop.work()
        assert rig.clock.seconds - before < 2 * SLICE_SECONDS + 3 * ACTION_SECONDS
    assert rig.work_until_idle() > 10
    assert len(rig.binder.effects) == 200


def test_no_pod_is_placed_before_all_that_is_known_is_taken_in() -> None:
    """Else the first Pods after a long list would be placed by half of it."""
    rig = Rig()
    rig.put_pods(1)
    for number in range(30):
        rig.inbox.put(NodeUpserted(make_node_info(f"small-{number}", cpu="1m")))
    rig.put_node()
    rig.work_until_idle()
    [effect] = rig.binder.effects
    assert effect.node_name == "n1"
    assert effect.attempt == 1


def test_outcome_frees_what_waits_for_it() -> None:
    rig = Rig()
    rig.put_node()
    rig.put_pods(1)
    rig.work_until_idle()
    assert rig.scheduler.statistics().binding_count == 1
    rig.inbox.put(BindSucceeded("uid-p0"))
    rig.work_until_idle()
    assert rig.scheduler.statistics().binding_count == 0


def test_backoff_that_ends_is_acted_on_though_nothing_happens() -> None:
    rig = Rig()
    rig.put_node(cpu="50m")
    rig.put_pods(1)
    rig.work_until_idle()
    rig.put_node(cpu="2")
    rig.work_until_idle()
    if not rig.binder.effects:
        deadline = rig.scheduler.next_deadline()
        assert deadline is not None
        rig.clock.seconds = deadline
        rig.work_until_idle()
    assert [effect.pod.name for effect in rig.binder.effects] == ["p0"]


def test_events_are_taken_in_for_their_effects_before_the_end() -> None:
    rig = Rig()
    rig.may_attempt = False
    rig.put_node()
    rig.put_pods(100)
    rig.loop.take_all_events()
    assert len(rig.inbox) == 0
    assert rig.scheduler.statistics().queue.active_count == 100


async def test_task_sleeps_and_wakes_by_events() -> None:
    rig = Rig()
    rig.put_node()
    running = asyncio.create_task(rig.loop.run())
    for _ in range(10):
        await asyncio.sleep(0)
    read_when_idle = rig.clock.seconds
    for _ in range(100):
        await asyncio.sleep(0)
    assert rig.clock.seconds == read_when_idle
    rig.put_pods(1)
    await wait_until(lambda: rig.binder.effects, what="the Pod is placed")
    running.cancel()
    await asyncio.wait([running])


async def test_task_gives_way_between_rounds() -> None:
    """Another task runs many times while a burst is worked off."""
    rig = Rig()
    rig.put_node()
    rig.put_pods(300)
    placed_at_turns = []

    async def take_turns() -> None:
        while True:
            placed_at_turns.append(len(rig.binder.effects))
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(work) for work in (rig.loop.run(), take_turns())]
    await wait_until(lambda: len(rig.binder.effects) == 300, what="all are placed")
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert len(set(placed_at_turns)) > 30


async def test_broken_state_ends_the_task_with_its_story(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()

    def handle(event: Event, now: Now) -> list[Effect]:
        raise InvariantError("Pod a/b is in two places")

    monkeypatch.setattr(rig.scheduler, "handle", handle)
    rig.put_node()
    with pytest.raises(InvariantError, match="two places"):
        await asyncio.wait_for(rig.loop.run(), 10)
    assert "NodeUpserted" in rig.inbox.story
