"""The condition patcher against a real API server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from deploy.controlplane import ControlPlane
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import PatchPodCondition, PodReference
from scheduler_svc.shell.writes.binding_activity import BindingActivity
from scheduler_svc.shell.writes.condition_patcher import ConditionPatcher
from tests.faultproxy import LoseAnswer, Match, Respond, wait_until
from tests.integration.write_bench import WriteBench, write_bench

pytestmark = pytest.mark.integration

PATCH = Match(method="PATCH", path=r"/status$")
NO_CPU = "0/1 nodes are available: 1 Insufficient cpu."


class Clock:
    """A wall clock that stands until it is set; 2026-11-29T12:00:00Z at first."""

    def __init__(self) -> None:
        self.wall_seconds = 1_795_953_600.0

    def __call__(self) -> Now:
        return Now(0.0, self.wall_seconds)


@asynccontextmanager
async def patcher_of(bench: WriteBench, clock: Clock) -> AsyncIterator[ConditionPatcher]:
    async with ConditionPatcher(bench.pool, activity=BindingActivity(), clock=clock) as patcher:
        yield patcher


@pytest.fixture
async def bench(control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[WriteBench]:
    async with write_bench(control_plane, tmp_path) as made:
        yield made


def unschedulable(pod: PodReference, message: str = NO_CPU) -> PatchPodCondition:
    return PatchPodCondition(pod, "Unschedulable", message)


async def test_sets_the_condition(bench: WriteBench) -> None:
    pod = await bench.create_pod()
    clock = Clock()
    async with patcher_of(bench, clock) as patcher:
        patcher.submit(unschedulable(pod))
        await patcher.drain(10)
        condition = await bench.condition(pod)
        assert condition == {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": NO_CPU,
            "lastProbeTime": None,
            "lastTransitionTime": "2026-11-29T12:00:00Z",
        }
        assert patcher.statistics().written_count == 1


async def test_another_message_is_no_transition(bench: WriteBench) -> None:
    pod = await bench.create_pod()
    clock = Clock()
    async with patcher_of(bench, clock) as patcher:
        patcher.submit(unschedulable(pod))
        await patcher.drain(10)
        clock.wall_seconds += 60
        patcher.submit(unschedulable(pod, "another"))
        await patcher.drain(10)
    condition = await bench.condition(pod)
    assert condition["message"] == "another"
    assert condition["lastTransitionTime"] == "2026-11-29T12:00:00Z"


@pytest.mark.parametrize("status", [409, 429, 500, 503])
async def test_passing_troubles(bench: WriteBench, status: int) -> None:
    pod = await bench.create_pod()
    bench.proxy.add(Respond(match=PATCH, times=2, status=status, body=b"later"))
    async with patcher_of(bench, Clock()) as patcher:
        patcher.submit(unschedulable(pod))
        await patcher.drain(10)
        assert patcher.statistics().dropped_counts == {}
    assert (await bench.condition(pod))["message"] == NO_CPU
    assert bench.count(PATCH) == 3


async def test_lost_answer(bench: WriteBench) -> None:
    pod = await bench.create_pod()
    bench.proxy.add(LoseAnswer(match=PATCH, times=1))
    async with patcher_of(bench, Clock()) as patcher:
        patcher.submit(unschedulable(pod))
        await patcher.drain(10)
        assert patcher.statistics().written_count == 1
    assert (await bench.condition(pod))["message"] == NO_CPU


async def test_pod_gone(bench: WriteBench) -> None:
    pod = await bench.create_pod()
    await bench.delete_pod(pod)
    async with patcher_of(bench, Clock()) as patcher:
        patcher.submit(unschedulable(pod))
        await patcher.drain(10)
        assert patcher.statistics().dropped_counts == {"pod gone": 1}
    assert bench.count(PATCH) == 1


async def test_another_pod_has_its_name(bench: WriteBench) -> None:
    old = await bench.create_pod()
    await bench.delete_pod(old)
    new = await bench.create_pod(metadata={"name": old.name})
    async with patcher_of(bench, Clock()) as patcher:
        patcher.submit(unschedulable(old))
        await patcher.drain(10)
        assert patcher.statistics().dropped_counts == {"pod gone": 1}
    assert await bench.condition(new) == {}
    assert bench.count(PATCH) == 1


async def test_refusal_for_good(bench: WriteBench, caplog: pytest.LogCaptureFixture) -> None:
    pod = await bench.create_pod()
    bench.proxy.add(Respond(match=PATCH, status=403, body=b"no right to"))
    async with patcher_of(bench, Clock()) as patcher:
        patcher.submit(unschedulable(pod))
        await patcher.drain(10)
        assert patcher.statistics().dropped_counts == {"rejected": 1}
    assert bench.count(PATCH) == 1
    assert [record.getMessage() for record in caplog.records] == ["Dropped pod conditions"]


async def test_withdrawn_while_it_is_tried_again(bench: WriteBench) -> None:
    pod = await bench.create_pod()
    bench.proxy.add(Respond(match=PATCH, status=503, headers={"Retry-After": "60"}, body=b"no"))
    async with patcher_of(bench, Clock()) as patcher:
        patcher.submit(unschedulable(pod))
        await wait_until(lambda: bench.count(PATCH), what="it is sent")
        patched = patcher.withdraw(pod.uid)
        assert patched is not None
        await patched
        assert patcher.statistics().dropped_counts == {"withdrawn": 1}
        assert patcher.withdraw(pod.uid) is None
    assert bench.count(PATCH) == 1
