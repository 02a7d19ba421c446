"""The binder's bookkeeping; what the API server's answers mean is shown by integration tests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from kubeio.errors import ConnectionFailedError, ConnectionLostError
from kubeio.response import Response
from scheduler_svc.core.effects import BindPod, PodReference
from scheduler_svc.core.events import BindFailed, BindFailure, BindSucceeded
from scheduler_svc.shell.writes import binder as binder_module
from scheduler_svc.shell.writes.binder import Binder, BindGuards
from scheduler_svc.shell.writes.binding_activity import BindingActivity
from scheduler_svc.shell.writes.binding_outcome import Outcome
from scheduler_svc.shell.writes.concurrency import AdaptiveLimit
from tests.faultproxy import wait_until
from tests.unit.scheduler_svc.shell.effects import bind_pod
from tests.unit.scheduler_svc.shell.scripted_api import (
    CREATED,
    ScriptedApi,
    ScriptedClient,
    ScriptedPool,
    status,
)

UNBOUND = Response(200, [], b'{"metadata":{"uid":"uid-1"},"spec":{}}')
BOUND = Response(200, [], b'{"metadata":{"uid":"uid-1"},"spec":{"nodeName":"n1"}}')
LOST = ConnectionLostError("the connection ended")


def numbered(number: int) -> BindPod:
    return bind_pod(pod=PodReference("default", f"web-{number}", f"uid-{number}"))


@dataclass
class Bench:
    """A binder before scripted answers, and what it reports."""

    posts: ScriptedApi = field(default_factory=ScriptedApi)
    reads: ScriptedApi = field(default_factory=lambda: ScriptedApi(otherwise=UNBOUND))
    limit: AdaptiveLimit = field(default_factory=AdaptiveLimit)
    activity: BindingActivity = field(default_factory=BindingActivity)
    outcomes: list[Outcome] = field(default_factory=list)
    leads: bool = True
    withdraw: Callable[[str], Awaitable[None] | None] = lambda _: None

    @asynccontextmanager
    async def binder(self, *, timeout_seconds: float = 5.0) -> AsyncIterator[Binder]:
        async with Binder(
            ScriptedPool(self.posts),
            ScriptedClient(self.reads),
            guards=BindGuards(lambda: self.leads, lambda _: True, self.withdraw),
            report=self.outcomes.append,
            activity=self.activity,
            limit=self.limit,
            bind_timeout_seconds=timeout_seconds,
        ) as binder:
            yield binder

    async def wait_outcomes(self, count: int) -> None:
        await wait_until(lambda: len(self.outcomes) >= count, what=f"{count} outcomes")
        assert len(self.outcomes) == count


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binder_module, "RETRY_FIRST_SECONDS", 0.001)


async def test_as_many_at_once_as_the_limit_allows() -> None:
    bench = Bench(limit=AdaptiveLimit(4, highest=4))
    async with bench.binder() as binder:
        for number in range(40):
            binder.submit(numbered(number))
        assert bench.activity.count == 40
        assert binder.statistics().queued_count == 40
        await bench.wait_outcomes(40)
        statistics = binder.statistics()
    assert bench.posts.most_under_way == 4
    assert bench.activity.count == 0
    paths = [request.path for request in bench.posts.requests]
    assert paths == [f"/api/v1/namespaces/default/pods/web-{n}/binding" for n in range(40)]
    assert (statistics.queued_count, statistics.in_flight_count) == (0, 0)
    assert (statistics.succeeded_count, statistics.failed_counts) == (40, {})


async def test_outcomes_are_counted() -> None:
    bench = Bench(ScriptedApi(status(404, "gone"), status(403, "no"), status(500, "oh")))
    async with bench.binder() as binder:
        for number in (2, 3, 1):
            binder.submit(numbered(number))
        await bench.wait_outcomes(3)
        statistics = binder.statistics()
    assert statistics.failed_counts == {"gone": 1, "refused": 1}
    assert (statistics.succeeded_count, statistics.retried_count, statistics.looked_count) == (
        (1, 1, 1)
    )


async def test_the_condition_is_withdrawn_first() -> None:
    landed = asyncio.Event()
    withdrawn: list[str] = []

    def withdraw(uid: str) -> Awaitable[None]:
        withdrawn.append(uid)
        return wait_landed()

    async def wait_landed() -> None:
        await landed.wait()

    bench = Bench(withdraw=withdraw)
    async with bench.binder() as binder:
        binder.submit(bind_pod())
        for _ in range(10):
            await asyncio.sleep(0)
        assert withdrawn == ["uid-1"]
        assert bench.posts.requests == []
        landed.set()
        await bench.wait_outcomes(1)
    assert bench.outcomes == [BindSucceeded("uid-1")]


async def test_an_outcome_that_cannot_be_read_is_not_claimed_to_be_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(binder_module, "LOOK_BUDGET_SECONDS", 0.02)
    bench = Bench(ScriptedApi(LOST), ScriptedApi(otherwise=status(503, "away")))
    async with bench.binder() as binder:
        binder.submit(bind_pod())
        await bench.wait_outcomes(1)
    (failed,) = bench.outcomes
    assert isinstance(failed, BindFailed)
    assert failed.failure is BindFailure.REFUSED
    assert "whether it was bound all the same cannot be read" in failed.message
    assert bench.posts.methods == ["POST"]
    assert len(bench.reads.requests) > 1


async def test_a_look_that_is_forbidden_is_not_repeated() -> None:
    bench = Bench(ScriptedApi(LOST), ScriptedApi(otherwise=status(403, "no right to read")))
    async with bench.binder() as binder:
        binder.submit(bind_pod())
        await bench.wait_outcomes(1)
    (failed,) = bench.outcomes
    assert isinstance(failed, BindFailed)
    assert failed.failure is BindFailure.REFUSED
    assert len(bench.reads.requests) == 1


async def test_a_pod_that_vanished_meanwhile() -> None:
    bench = Bench(ScriptedApi(LOST), ScriptedApi(status(404, "not found")))
    async with bench.binder() as binder:
        binder.submit(bind_pod())
        await bench.wait_outcomes(1)
    assert bench.outcomes == [BindFailed("uid-1", BindFailure.GONE, "not found")]


async def test_a_conflict_of_no_known_cause_is_tried_once_more() -> None:
    conflict = status(409, "etcdserver: request timed out")
    bench = Bench(ScriptedApi(conflict, CREATED))
    async with bench.binder() as binder:
        binder.submit(bind_pod())
        await bench.wait_outcomes(1)
    assert bench.outcomes == [BindSucceeded("uid-1")]
    bench = Bench(ScriptedApi(conflict, conflict))
    async with bench.binder() as binder:
        binder.submit(bind_pod())
        await bench.wait_outcomes(1)
    text = "etcdserver: request timed out"
    assert bench.outcomes == [BindFailed("uid-1", BindFailure.REFUSED, text)]


async def test_no_connection_is_tried_again_until_the_time_is_up() -> None:
    bench = Bench(ScriptedApi(otherwise=ConnectionFailedError("refused")))
    async with bench.binder(timeout_seconds=0.03) as binder:
        binder.submit(bind_pod())
        await bench.wait_outcomes(1)
    assert bench.outcomes == [BindFailed("uid-1", BindFailure.REFUSED, "refused")]
    assert len(bench.posts.requests) > 1
    assert bench.reads.requests == []


async def test_losing_the_lease_stops_what_waits() -> None:
    bench = Bench(ScriptedApi(otherwise=ConnectionFailedError("refused")))
    async with bench.binder() as binder:
        binder.submit(bind_pod())
        await wait_until(lambda: bench.posts.requests, what="it is tried")
        bench.leads = False
        await bench.wait_outcomes(1)
    assert isinstance(bench.outcomes[0], BindFailed)
    assert bench.outcomes[0].failure is BindFailure.NOT_LEADER


async def test_draining_wakes_what_waits_for_a_retry() -> None:
    bench = Bench(ScriptedApi(otherwise=status(429, "busy", {"Retry-After": "100"})))
    async with bench.binder(timeout_seconds=100) as binder:
        binder.submit(bind_pod())
        await wait_until(lambda: bench.posts.requests, what="it is refused")
        await binder.drain(5)
    text = "the scheduler is stopping"
    assert bench.outcomes == [BindFailed("uid-1", BindFailure.NOT_LEADER, text)]


async def never() -> Response:
    await asyncio.Event().wait()
    return CREATED


async def test_leaving_reports_what_was_under_way_and_what_was_not() -> None:
    bench = Bench(ScriptedApi(otherwise=never), limit=AdaptiveLimit(1))
    async with bench.binder() as binder:
        binder.submit(numbered(1))
        binder.submit(numbered(2))
        await wait_until(lambda: bench.posts.requests, what="the first is sent")
    assert {outcome.uid for outcome in bench.outcomes} == {"uid-1", "uid-2"}
    assert len(bench.outcomes) == 2
    assert bench.activity.count == 0
    failures = {o.failure for o in bench.outcomes if isinstance(o, BindFailed)}
    assert failures == {BindFailure.NOT_LEADER}


async def test_a_fault_of_ours_surfaces_and_loses_no_pod() -> None:
    async def fail() -> Response:
        raise ValueError("a fault of ours")

    bench = Bench(ScriptedApi(fail), limit=AdaptiveLimit(1))

    async def own() -> None:
        async with bench.binder() as binder:
            binder.submit(numbered(1))
            binder.submit(numbered(2))
            await asyncio.Event().wait()

    with pytest.raises(ExceptionGroup):
        await own()
    assert sorted(outcome.uid for outcome in bench.outcomes) == ["uid-1", "uid-2"]


async def test_overload_lowers_the_limit() -> None:
    bench = Bench(ScriptedApi(status(429, "busy"), CREATED))
    async with bench.binder() as binder:
        binder.submit(bind_pod())
        await bench.wait_outcomes(1)
        assert binder.statistics().concurrency_limit == 21
